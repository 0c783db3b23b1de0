"""Events and rows: numbering, folding, refusing, announcing."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from app.domain.actions import Verdict
from app.domain.events import (
    ChecksChanged,
    Compacted,
    ControlRequested,
    InstructionInjected,
    NoteWritten,
    PlanRevised,
    PrefixStored,
    QuestionAnswered,
    QuestionAsked,
    Remembered,
    TaskCreated,
)
from app.domain.memory import ZoneTokens
from app.domain.messages import user
from app.domain.plans import Check, Milestone, Plan
from app.domain.screens import UiTree
from app.domain.tasks import Instruction, Note, Question, StepState, TaskState
from app.errors import Conflict, NotFound
from tests.integration.storage.conftest import Open, Store
from tests.unit.storage.samples import (
    called,
    change,
    decided,
    elements,
    entries,
    finished,
    messages,
    new_id,
    observation,
    served,
    spec,
    turn,
)


async def test_numbers_have_no_gap_under_concurrent_writers(store: Store, open_store: Open) -> None:
    task = await store.running()
    others = [store, await open_store()]
    recorders = [others[i % 2].recorder(task.task_id) for i in range(20)]
    await asyncio.gather(*(r.record(served(1), served(1)) for r in recorders))
    events = await store.queries.tasks.events(task.task_id)
    assert [event.seq for event in events] == list(range(1, 43))
    for one in others:
        numbers = [event.seq for event in one.viewer.of(task.task_id)]
        assert numbers == sorted(numbers)
    assert (await store.tasks.get(task.task_id)).last_seq == 42


async def test_what_is_announced_is_what_is_read_again(store: Store) -> None:
    task = await store.running()
    step = decided(1, messages=messages())
    recorder = store.recorder(task.task_id)
    await recorder.record(turn(1), served(1), called(1), step)
    await recorder.record(finished(step, after=observation(2)))
    stored = await store.queries.tasks.events(task.task_id)
    assert list(stored) == store.viewer.of(task.task_id)
    assert [e.event.type for e in stored] == [
        "task_created",
        "task_state_changed",
        "turn_started",
        "tool_served",
        "model_called",
        "step_decided",
        "step_finished",
    ]


async def test_a_step_is_written_when_decided_and_completed_when_finished(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    step = decided(1, messages=messages())
    await recorder.record(called(1), step)
    open_step = (await store.queries.steps.one(task.task_id, 1)).step
    assert (open_step.state, open_step.verdict) == (StepState.DECIDED, None)
    await recorder.record(finished(step, after=observation(2, shown=5)))
    view = await store.queries.steps.one(task.task_id, 1)
    assert (view.step.state, view.step.verdict) == (StepState.DONE, Verdict.EXECUTED)
    assert view.step.messages == messages()
    assert view.step.observation.tree.elements == elements(3)
    assert view.step.after is not None
    assert view.step.after.tree.elements == elements(5)
    assert [call.call.usage.prompt for call in view.calls] == [9_000]


async def test_events_carry_no_element_lists(store: Store) -> None:
    task = await store.running()
    await store.recorder(task.task_id).record(
        turn(1), decided(1, observation=observation(1, shown=500))
    )
    async with store.db.read() as connection:
        longest = await connection.scalar(text("SELECT max(length(event)) FROM event"))
    assert longest < 5_000
    view = await store.queries.tasks.view(task.task_id)
    assert view.observation is not None
    assert view.observation.tree_ref is not None
    content = await store.artifacts.get(view.observation.tree_ref)
    assert UiTree.model_validate_json(content).elements == elements(3)


@pytest.mark.parametrize(
    ("previous", "then"),
    [
        (TaskState.QUEUED, TaskState.RUNNING),
        (TaskState.RUNNING, TaskState.QUEUED),
        (TaskState.PAUSED, TaskState.RUNNING),
        (TaskState.RUNNING, TaskState.RUNNING),
    ],
)
async def test_an_illegal_move_changes_nothing(
    store: Store, previous: TaskState, then: TaskState
) -> None:
    task = await store.running()
    with pytest.raises(Conflict):
        await store.recorder(task.task_id).record(served(1), change(previous, then))
    assert await store.tasks.get(task.task_id) == task
    assert len(await store.queries.tasks.events(task.task_id)) == task.last_seq
    assert len(store.viewer.of(task.task_id)) == task.last_seq


@pytest.mark.parametrize("end", [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED])
async def test_an_end_is_the_end(store: Store, end: TaskState) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(
        change(TaskState.RUNNING, end, answer="12", answer_data={"total": 12}, cited_steps=(1, 3))
    )
    ended = await store.tasks.get(task.task_id)
    assert (ended.state, ended.answer, ended.answer_data) == (end, "12", {"total": 12})
    assert ended.cited_steps == (1, 3)
    assert ended.ended_at is not None
    for state in TaskState:
        with pytest.raises(Conflict):
            await recorder.record(change(end, state))


async def test_steps_follow_each_other_and_finish_once(store: Store) -> None:
    recorder = store.recorder((await store.running()).task_id)
    step = decided(1)
    await recorder.record(step)
    for wrong in (decided(1), decided(3)):
        with pytest.raises(Conflict):
            await recorder.record(wrong)
    with pytest.raises(Conflict):
        await recorder.record(finished(decided(1)))
    await recorder.record(finished(step))
    with pytest.raises(Conflict):
        await recorder.record(finished(step, verdict=Verdict.ERROR))


async def test_a_blocked_step_is_decided_and_finished_at_once(store: Store) -> None:
    task = await store.running()
    step = decided(1, action=None, action_text="tap [?]")
    blocked = finished(step, state=StepState.BLOCKED, verdict=Verdict.BLOCKED, receipt=None)
    await store.recorder(task.task_id).record(step, blocked)
    assert (await store.queries.steps.one(task.task_id, 1)).step.state is StepState.BLOCKED


async def test_usage_and_cost_add_up(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(called(1), called(1, cost_usd=None, first_of_turn=False))
    await recorder.record(called(1, role="planner", offline=True))
    task = await store.tasks.get(task.task_id)
    assert (task.usage.prompt, task.usage.cached, task.usage.total) == (27_000, 18_000, 27_450)
    assert (task.cost_usd, task.unpriced_calls, task.offline) == (0.5, 1, True)
    spend = {role.role: role for role in await store.queries.figures.spend(task.task_id)}
    assert (spend["operator"].calls, spend["operator"].unpriced_calls) == (2, 1)
    assert spend["planner"].uncached == 3_000


async def test_the_rows_behind_the_panels(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    plans = [Plan(revision=n, milestones=(Milestone(number=1, text=f"m{n}"),)) for n in (1, 2)]
    question = Question(question_id="q1", kind="question", text="Which one?", step_number=2)
    await recorder.record(
        PlanRevised(plan=plans[0], step_number=0),
        PlanRevised(plan=plans[1], step_number=2),
        ChecksChanged(checks=(Check(number=1, text="Paid"),), step_number=0),
        NoteWritten(note=Note(key="b", text="first", step_number=1)),
        NoteWritten(note=Note(key="a", text="second", step_number=1)),
        Remembered(values={"z": "1", "y": "2"}, step_number=1),
        InstructionInjected(instruction=Instruction(number=1, text="Hurry", step_number=2)),
        QuestionAsked(question=question),
    )
    await recorder.record(
        ChecksChanged(checks=(Check(number=1, text="Paid", closed_by_step=2),), step_number=2),
        NoteWritten(note=Note(key="b", text="first, longer", step_number=2)),
        Remembered(values={"z": "3"}, step_number=3),
    )
    tasks = store.queries.tasks
    assert await tasks.plan(task.task_id) == plans[1]
    assert [r.step_number for r in await tasks.plan_revisions(task.task_id)] == [0, 2]
    assert [c.closed_by_step for c in await tasks.checks(task.task_id)] == [2]
    assert [(n.key, n.text) for n in await tasks.notes(task.task_id)] == [
        ("b", "first, longer"),
        ("a", "second"),
    ]
    assert [(v.key, v.value, v.step_number) for v in await tasks.remembered(task.task_id)] == [
        ("z", "3", 3),
        ("y", "2", 1),
    ]
    assert [i.text for i in await tasks.instructions(task.task_id)] == ["Hurry"]
    assert await tasks.open_question(task.task_id) == question


async def test_a_question_is_answered_once(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    question = Question(question_id="q1", kind="approval", text="Pay?", step_number=2)
    answer = QuestionAnswered(
        question_id="q1", question="Pay?", answer="yes", approved=True, by="me", step_number=2
    )
    with pytest.raises(Conflict):
        await recorder.record(answer)
    await recorder.record(QuestionAsked(question=question))
    await recorder.record(answer)
    with pytest.raises(Conflict):
        await recorder.record(answer.model_copy(update={"approved": False}))
    (asked,) = await store.queries.tasks.questions(task.task_id)
    assert (asked.question, asked.approved, asked.answered_by) == (question, True, "me")
    where = Question(question_id="q2", kind="question", text="Where to?", step_number=3)
    told = QuestionAnswered(
        question_id="q2", question="Where to?", answer="Porto", by="me", step_number=3
    )
    await recorder.record(QuestionAsked(question=where))
    await recorder.record(told)
    # A decision is not an answer that the prompts go on saying, whatever was said with it.
    assert (await recorder.history()).answers == (("Where to?", "Porto", 3),)


async def test_controls_set_flags(store: Store) -> None:
    task = await store.running()
    for control, flags in (("pause", (0, 1)), ("resume", (0, 0)), ("cancel", (1, 0))):
        requested = ControlRequested(receipt_id=new_id(), control=control, by="me")
        after = await store.tasks.request(task.task_id, requested)
        assert (after.cancel_requested, after.pause_requested) == flags
    await store.recorder(task.task_id).record(change(TaskState.RUNNING, TaskState.CANCELLED))
    with pytest.raises(Conflict):
        await store.tasks.request(task.task_id, requested)
    assert not (await store.tasks.flags(task.task_id)).cancel_requested


async def test_history_is_the_same_after_a_restart(store: Store, open_store: Open) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    stable = await store.artifacts.put("System rules ☂".encode(), "text/plain")
    frozen = await store.artifacts.put(b"Goal: the total", "text/plain")
    await recorder.record(PrefixStored(stable_ref=stable))
    for number in range(1, 9):
        picture = await store.artifacts.put(b"picture %d" % number, "image/png")
        step = decided(number, messages=messages(number, picture), remembered={"k": str(number)})
        await recorder.record(turn(number), called(number), step)
        await recorder.record(finished(step, after=observation(number, shown=4)))
    await recorder.record(
        Compacted(
            step_number=8,
            before=ZoneTokens(active=12_000),
            after=ZoneTokens(frozen=900),
            frozen_ref=frozen,
            frozen_through=4,
        )
    )
    before = await recorder.history()
    await store.db.close()
    assert await (await open_store()).recorder(task.task_id).history() == before
    assert before.stable_prefix == "System rules ☂"
    assert (before.frozen, before.frozen_through) == ("Goal: the total", 4)
    assert [len(step.messages) for step in before.steps] == [0] * 4 + [3] * 4
    assert before.steps[-1].messages[0].parts[1].ref.size == len(b"picture 8")
    assert [len(step.observation.tree.elements) for step in before.steps] == [0] * 4 + [3] * 4


async def test_time_is_counted_while_running_only(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    store.clock.seconds += 100
    await recorder.record(change(TaskState.RUNNING, TaskState.PAUSED))
    store.clock.seconds += 1_000
    await recorder.record(change(TaskState.PAUSED, TaskState.RUNNING))
    store.clock.seconds += 10
    await recorder.record(served(1))
    assert 110 <= (await recorder.history()).seconds_spent <= 120
    view = await store.queries.tasks.view(task.task_id)
    assert view.seconds(store.clock.now()) >= 110


async def test_text_that_no_database_takes_is_mended(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    half, whole = "a\ud83d\0b", "\ud83c\udf78"
    note = Note(key="k", text="x", step_number=1).model_copy(update={"text": half + whole})
    step = decided(1, action_text="nul \0 here", messages=(user("ok"),))
    await recorder.record(
        served(1, args={"text": half, whole: [whole]}),
        NoteWritten(note=note),
        step,
        index=[entries(1, "findable")[0].model_copy(update={"text": f"findable {half}"})],
    )
    events = await store.queries.tasks.events(task.task_id)
    assert list(events) == store.viewer.of(task.task_id)
    args = events[2].event.args
    assert args.pop("text") == "a��b"
    # Pydantic replaces each half in a key; what counts is that it can be stored and sent.
    ((key, value),) = args.items()
    assert (key.encode().decode(), value) == (key, ["🍸"])
    assert (await store.queries.tasks.notes(task.task_id))[0].text == "a��b🍸"
    assert (await store.queries.steps.one(task.task_id, 1)).step.action_text == "nul � here"


async def test_a_cancelled_caller_leaves_whole_writes(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for _ in range(20):
        job = asyncio.create_task(recorder.record(served(1), served(2)))
        await asyncio.sleep(0.001)
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
    await recorder.record(served(3))
    events = await store.queries.tasks.events(task.task_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert list(events) == store.viewer.of(task.task_id)
    assert len(events) % 2 == 1


async def test_recording_for_no_task(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.recorder("nobody").record(TaskCreated(spec=spec()))
    with pytest.raises(NotFound):
        await store.recorder("nobody").history()
