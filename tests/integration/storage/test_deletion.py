"""Artifacts, disk use, and what deleting a task takes with it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from app.domain.memory import RecallQuery
from app.domain.tasks import Task, TaskState
from app.errors import Conflict, NotFound
from app.storage import tables
from app.storage.artifacts import FORGOTTEN_AFTER
from app.storage.deletion import delete_task, sweep
from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import (
    called,
    change,
    decided,
    entries,
    finished,
    messages,
    observation,
)


async def _finished_task(store: Store, device: str, *pictures: bytes) -> Task:
    task = await store.running(device)
    recorder = store.recorder(task.task_id)
    for number, picture in enumerate(pictures, start=1):
        ref = await store.artifacts.put(picture, "image/png")
        step = decided(number, observation=observation(number, screenshot=ref))
        await recorder.record(called(number), step, index=entries(number, f"kept by {device}"))
        await recorder.record(finished(step))
    await recorder.record(change(TaskState.RUNNING, TaskState.COMPLETED))
    return task


def _files(tmp_path: Path) -> set[bytes]:
    files = [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
    return {path.read_bytes() for path in files}


async def test_deleting_takes_what_nobody_else_needs(store: Store, tmp_path: Path) -> None:
    one = await _finished_task(store, "a", b"shared", b"mine")
    two = await _finished_task(store, "b", b"shared", b"yours")
    await delete_task(store.db, store.artifacts, one.task_id)
    assert {b"shared", b"yours"} <= _files(tmp_path)
    assert b"mine" not in _files(tmp_path)
    async with store.db.read() as connection:
        for table in tables.metadata.sorted_tables:
            if "task_id" in table.c:
                owners = set(await connection.scalars(select(table.c.task_id)))
                assert owners <= {two.task_id}, table.name
    assert (await store.search(two.task_id).search(RecallQuery(query="kept"))).results
    with pytest.raises(NotFound):
        await delete_task(store.db, store.artifacts, one.task_id)
    await delete_task(store.db, store.artifacts, two.task_id)
    assert _files(tmp_path) == set()


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_the_index_forgets_a_deleted_task(store: Store) -> None:
    task = await _finished_task(store, "a", b"x")
    await delete_task(store.db, store.artifacts, task.task_id)
    found = text("SELECT count(*) FROM search_fts WHERE search_fts MATCH 'kept'")
    async with store.db.read() as connection:
        assert await connection.scalar(found) == 0
    check = text("INSERT INTO search_fts (search_fts, rank) VALUES ('integrity-check', 1)")
    await store.db.write(lambda connection: connection.execute(check) and None)


async def test_a_task_that_holds_a_device_is_not_deleted(store: Store) -> None:
    task = await store.running()
    with pytest.raises(Conflict):
        await delete_task(store.db, store.artifacts, task.task_id)
    assert await store.tasks.get(task.task_id) == task


async def test_what_is_on_its_way_into_a_task_is_not_taken(store: Store, tmp_path: Path) -> None:
    one = await _finished_task(store, "a", b"shared")
    other = await store.running("b")
    ref = await store.artifacts.put(b"shared", "image/png")
    await delete_task(store.db, store.artifacts, one.task_id)
    step = decided(1, observation=observation(1, screenshot=ref))
    await store.recorder(other.task_id).record(step)
    assert await store.artifacts.get(ref) == b"shared"
    assert await store.queries.steps.artifact(ref.sha256, task_id=other.task_id) == ref


async def test_sweeping_takes_old_leftovers_only(store: Store, tmp_path: Path) -> None:
    task = await _finished_task(store, "a", b"kept")
    (tmp_path / "artifacts" / "unfinished").mkdir(exist_ok=True)
    half = tmp_path / "artifacts" / "unfinished" / "half"
    half.write_bytes(b"half")
    new = tmp_path / "artifacts" / "ab" / "cd" / ("abcd" + "0" * 60)
    old = tmp_path / "artifacts" / "ab" / "cd" / ("abcd" + "1" * 60)
    for path in (new, old):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
    long_ago = time.time() - 2 * FORGOTTEN_AFTER
    for path in (half, old):
        os.utime(path, (long_ago, long_ago))
    await sweep(store.db, store.artifacts)
    assert (half.exists(), old.exists(), new.exists()) == (False, False, True)
    assert b"kept" in _files(tmp_path)
    assert (await store.queries.figures.task_disk_use(task.task_id)).artifacts >= 1


async def test_the_same_picture_is_kept_once(store: Store, tmp_path: Path) -> None:
    big = os.urandom(300_000)
    task = await _finished_task(store, "a", *[big] * 20)
    use = await store.queries.figures.disk_use()
    mine = await store.queries.figures.task_disk_use(task.task_id)
    assert 300_000 <= use.bytes < 320_000
    assert (mine.bytes, mine.artifacts) == (use.bytes, use.artifacts)
    assert use.tasks == (mine,)
    assert sum(map(len, _files(tmp_path))) == use.bytes


async def test_only_a_tasks_artifacts_can_be_asked_for(store: Store) -> None:
    loose = await store.artifacts.put(b"loose", "text/plain")
    task, other = await store.running("a"), await store.running("b")
    picture = await store.artifacts.put(b"picture", "image/png")
    await store.recorder(task.task_id).record(decided(1, messages=messages(1, picture)))
    artifact = store.queries.steps.artifact
    assert await artifact(picture.sha256) == picture
    for wanted, owner in ((loose, ""), (picture, other.task_id)):
        with pytest.raises(NotFound):
            await artifact(wanted.sha256, task_id=owner)
    with pytest.raises(NotFound):
        await artifact("../../etc/passwd")


async def test_health_counts_the_newest_calls(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(*(called(1, seconds=float(i), call_id=str(i)) for i in range(1, 21)))
    await recorder.record(called(1, outcome="model_timeout", fallback="lite", first_of_turn=False))
    health = await store.queries.figures.health()
    assert (health.first_calls, health.first_call_p50, health.first_call_p95) == (20, 9_000, 9_000)
    assert (health.failed_calls, health.fallbacks, health.waits) == (1, 1, 0)
    assert health.latency_p95 == 19.0
    assert round(health.cached_share, 3) == 0.667
    assert health.by_state == {TaskState.RUNNING: 1}
    async with store.db.read() as connection:
        count = await connection.scalar(select(func.count()).select_from(tables.model_call))
    assert count == 21
