"""Creating, claiming and settling tasks; devices; lists."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.actions import Outcome, Verdict
from app.domain.config import DeviceConfig
from app.domain.events import TaskStateChanged
from app.domain.tasks import StepState, TaskState
from app.errors import Conflict, InvalidInput, NotFound
from tests.integration.storage.conftest import Open, Store
from tests.unit.storage.samples import change, decided, new_id, served, spec


async def test_the_same_key_gives_the_same_task(store: Store) -> None:
    first = await store.tasks.create("one", spec(), key="k")
    again = await store.tasks.create("two", spec(), key="k")
    assert (first.new, again.new) == (True, False)
    assert again.task == first.task
    with pytest.raises(Conflict):
        await store.tasks.create("three", spec("Something else"), key="k")
    assert (await store.queries.tasks.page()).total == 1


async def test_one_of_many_submissions_with_a_key_wins(store: Store, open_store: Open) -> None:
    stores = [store, await open_store()]
    made = await asyncio.gather(
        *(stores[i % 2].tasks.create(new_id(), spec(), key="k") for i in range(10))
    )
    assert len({submitted.task.task_id for submitted in made}) == 1
    assert sum(submitted.new for submitted in made) == 1


async def test_tasks_without_a_key_are_all_different(store: Store) -> None:
    for _ in range(3):
        assert (await store.tasks.create(new_id(), spec())).new
    assert len(await store.queries.tasks.queue()) == 3


async def test_a_task_is_claimed_once_and_a_device_used_once(
    store: Store, open_store: Open
) -> None:
    stores = [store, await open_store()]
    ids = [(await store.tasks.create(new_id(), spec(device=d))).task.task_id for d in "aabb"]
    assert await store.tasks.waiting_devices() == ("a", "b")
    claims = [stores[i % 2].tasks.claim("ab"[i % 2]) for i in range(8)]
    claims += [stores[i % 2].tasks.claim("ba"[i % 2]) for i in range(8)]
    got = [task.task_id for task in await asyncio.gather(*claims) if task is not None]
    assert sorted(got) == sorted([ids[0], ids[2]])
    assert await store.tasks.waiting_devices() == ()
    await store.recorder(ids[0]).record(change(TaskState.RUNNING, TaskState.COMPLETED))
    following = await store.tasks.claim("a")
    assert following is not None and following.task_id == ids[1]
    assert following.started_at is not None


@pytest.mark.parametrize("state", [TaskState.PAUSED, TaskState.WAITING])
async def test_a_paused_task_keeps_its_device(store: Store, state: TaskState) -> None:
    task = await store.running()
    await store.tasks.create(new_id(), spec())
    await store.recorder(task.task_id).record(change(TaskState.RUNNING, state))
    assert await store.tasks.claim("demo") is None
    (use,) = [u for u in await _with_device(store) if u.device.name == "demo"]
    assert use.task is not None
    assert (use.task.task_id, use.queued) == (task.task_id, 1)


async def _with_device(store: Store):
    await store.devices.put(DeviceConfig(name="demo"))
    return await store.queries.tasks.devices()


async def test_a_dead_process_is_settled_and_its_task_resumed_first(
    store: Store, open_store: Open
) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(decided(1))
    await store.tasks.create(new_id(), spec("Another"))
    waiting = await store.running("other")
    await store.recorder(waiting.task_id).record(change(TaskState.RUNNING, TaskState.WAITING))
    await store.db.close()

    restarted = await open_store()
    left = await restarted.tasks.mark_interrupted()
    assert [t.task_id for t in left] == [task.task_id, waiting.task_id]
    assert {t.state for t in left} == {TaskState.INTERRUPTED}
    step = (await restarted.queries.steps.one(task.task_id, 1)).step
    assert (step.state, step.verdict) == (StepState.INTERRUPTED, Verdict.UNCERTAIN)
    assert step.receipt is not None and step.receipt.outcome is Outcome.UNKNOWN
    events = restarted.viewer.of(task.task_id)
    assert [e.event.type for e in events] == ["step_finished", "task_state_changed"]
    assert isinstance(events[-1].event, TaskStateChanged)
    assert events[-1].event.previous is TaskState.RUNNING

    assert await restarted.tasks.mark_interrupted() == ()
    assert await restarted.tasks.claim("demo", resume=False, task_id=task.task_id) is None
    resumed = await restarted.tasks.claim("demo")
    assert resumed is not None and resumed.task_id == task.task_id


async def test_an_interrupted_task_can_be_left(store: Store) -> None:
    task = await store.running()
    await store.tasks.mark_interrupted()
    other = (await store.tasks.create(new_id(), spec("Another"))).task
    claimed = await store.tasks.claim("demo", resume=False)
    assert claimed is not None and claimed.task_id == other.task_id
    with pytest.raises(Conflict):
        await store.recorder(task.task_id).record(change(TaskState.INTERRUPTED, TaskState.RUNNING))


async def test_the_list_filters_and_continues(store: Store) -> None:
    made = [
        (await store.tasks.create(f"id-{i}", spec(f"Buy 100% milk {i}", "ab"[i % 2]))).task
        for i in range(7)
    ]
    tasks = store.queries.tasks
    page = await tasks.page(limit=3)
    assert [t.task_id for t in page.tasks] == ["id-6", "id-5", "id-4"]
    assert page.total == 7
    following = await tasks.page(limit=3, cursor=page.next)
    assert [t.task_id for t in following.tasks] == ["id-3", "id-2", "id-1"]
    last = await tasks.page(limit=3, cursor=following.next)
    assert (last.tasks, last.next) == ((made[0],), "")
    assert (await tasks.page(device="a")).total == 4
    assert (await tasks.page(text="100% MILK 3")).total == 1
    assert (await tasks.page(text="1___ milk")).total == 0
    assert (await tasks.page(text="id-2")).total == 1
    await store.tasks.claim("a")
    assert (await tasks.page(states=[TaskState.RUNNING])).tasks[0].task_id == "id-0"
    for nonsense in ("x", "-1", "9" * 30):
        with pytest.raises(InvalidInput):
            await tasks.page(cursor=nonsense)


async def test_unknown_tasks_are_not_found(store: Store) -> None:
    tasks = store.queries.tasks
    for question in (tasks.get, tasks.view, tasks.notes, tasks.plan, store.tasks.get):
        with pytest.raises(NotFound):
            await question("nobody")
    with pytest.raises(NotFound):
        await store.queries.steps.window("nobody")


async def test_a_thousand_steps_are_read_by_windows(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for start in range(1, 101, 50):
        await recorder.record(*(decided(n) for n in range(start, start + 50)))
    window = store.queries.steps.window
    newest = await window(task.task_id, limit=10)
    assert [s.step_number for s in newest.steps] == list(range(100, 90, -1))
    assert (newest.total, newest.older, newest.newer) == (100, True, False)
    older = await window(task.task_id, before=91, limit=10, newest_first=False)
    assert [s.step_number for s in older.steps] == list(range(81, 91))
    first = await window(task.task_id, after=0, limit=5, newest_first=False)
    assert [s.step_number for s in first.steps] == [1, 2, 3, 4, 5]
    assert (first.older, first.newer) == (False, True)
    assert (await window(task.task_id, after=100)).steps == ()
    assert newest.steps[0].messages == ()


async def test_events_resume_after_a_number(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in range(1, 6):
        await recorder.record(served(number, name=f"tool{number}"))
    tasks = store.queries.tasks
    events = await tasks.events(task.task_id, after=4, limit=2)
    assert [e.seq for e in events] == [5, 6]
    served_events = await tasks.events_of(task.task_id, "tool_served", limit=2)
    assert [e.event.name for e in served_events] == ["tool4", "tool5"]
    (third,) = await tasks.events_of(task.task_id, "tool_served", step_number=3)
    assert third.event.name == "tool3"


async def test_devices_come_from_settings_and_people(store: Store) -> None:
    configured = DeviceConfig(name="demo", reset_url="http://x/reset", reset_token="s3cret-token")
    await store.devices.upsert_configured([configured])
    await store.devices.put(DeviceConfig(name="mine", home="http://one"))
    await store.devices.put(DeviceConfig(name="mine", home="http://two"))
    assert (await store.devices.get("mine")).home == "http://two"
    assert (await store.devices.get("demo")).reset_token.get_secret_value() == ""
    with pytest.raises(InvalidInput):
        await store.devices.put(DeviceConfig(name="demo"))
    await store.devices.upsert_configured([])
    await store.devices.put(DeviceConfig(name="demo"))
    await store.devices.retire("mine")
    assert [d.name for d in await store.devices.list()] == ["demo"]
    assert [d.name for d in await store.devices.list(retired=True)] == ["demo", "mine"]
    assert (await store.devices.get("mine")).retired
    with pytest.raises(NotFound):
        await store.devices.retire("nobody")
