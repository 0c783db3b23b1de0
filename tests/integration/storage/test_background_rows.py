"""Summaries and chunks in the store: moves that the table allows, versions that only append."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.domain.events import (
    ChunkChanged,
    ChunkClosed,
    StepDecided,
    SummaryChanged,
    TextRead,
)
from app.domain.screens import ArtifactRef, Bounds, PictureText, Size, TextLine
from app.domain.summaries import (
    SUMMARY_TRANSITIONS,
    Boundary,
    Capsule,
    ChunkState,
    HistoryChunk,
    Interval,
    Refusal,
    StepSummary,
    SummaryEvidenceMetadata,
    SummaryStatus,
)
from app.domain.tasks import TaskState
from app.errors import Conflict, NotFound
from app.memory.summaries import pending
from app.storage.unwritten import tasks_with_unwritten
from app.tasks.picture_texts import text_of_step
from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import called, change, decided, entries, finished

READY, STALE = SummaryStatus.VISUAL_READY, SummaryStatus.STALE


def version(step: StepDecided, number: int) -> StepSummary:
    evidence = SummaryEvidenceMetadata(
        step_id=step.step_id, model="m", prompt_version=1, summary_version=number
    )
    return StepSummary(
        step_id=step.step_id,
        step_number=step.step_number,
        version=number,
        text=f"I looked, version {number}.",
        evidence=evidence,
    )


def moved(step: StepDecided, status: SummaryStatus, number: int = 0, **more: Any) -> SummaryChanged:
    return SummaryChanged(
        step_id=step.step_id,
        step_number=step.step_number,
        status=status,
        summary=version(step, number) if number else None,
        **more,
    )


def chunk(state: ChunkState = ChunkState.PENDING, number: int = 0) -> HistoryChunk:
    made = Capsule(doing="x", intervals=(Interval(start_step=1, end_step=2, text="looked"),))
    return HistoryChunk(
        chunk_id="c1",
        session_id="t",
        start_step=1,
        end_step=2,
        start_step_id="a",
        end_step_id="b",
        source_step_ids=("a", "b"),
        boundary=Boundary.STEPS,
        state=state,
        version=number,
        capsule=made if state is ChunkState.READY else None,
        digest=f"digest {number}",
    )


async def with_step(store: Store) -> tuple[str, StepDecided]:
    task = await store.running()
    step = decided(1)
    await store.recorder(task.task_id).record(
        step, finished(step), pending(step.step_id, step.step_number)
    )
    return task.task_id, step


@pytest.mark.parametrize("target", SummaryStatus)
@pytest.mark.parametrize("start", SummaryStatus)
async def test_only_the_tables_moves_are_written(
    store: Store, start: SummaryStatus, target: SummaryStatus
) -> None:
    ways = {
        SummaryStatus.PENDING: (),
        READY: (READY,),
        SummaryStatus.VISUAL_FAILED: (SummaryStatus.VISUAL_FAILED,),
        STALE: (READY, STALE),
    }
    task_id, step = await with_step(store)
    recorder = store.recorder(task_id)
    for status in ways[start]:
        await recorder.record(moved(step, status, 1 if status is READY else 0))
    attempt = moved(step, target, 2 if target is READY else 0)
    if target in SUMMARY_TRANSITIONS[start]:
        await recorder.record(attempt)
        assert (await store.queries.memory.summary(task_id, 1)).status is target
        return
    before = await store.queries.memory.summary(task_id, 1)
    with pytest.raises(Conflict):
        await recorder.record(attempt)
    assert await store.queries.memory.summary(task_id, 1) == before


async def test_versions_append_and_an_older_one_that_comes_late_loses(store: Store) -> None:
    task_id, step = await with_step(store)
    recorder = store.recorder(task_id)
    await recorder.record(moved(step, READY, 2))
    for late in (1, 2):
        with pytest.raises(Conflict):
            await recorder.record(moved(step, STALE), moved(step, READY, late))
    await recorder.record(
        moved(step, STALE),
        moved(step, READY, 5),
        index=entries(1, "I looked, version 5."),
    )
    view = await store.queries.memory.summary(task_id, 1)
    assert [s.version for s in view.versions] == [2, 5] and view.status is READY
    assert view.newest == version(step, 5)
    assert (await store.queries.memory.summaries(task_id))[0].versions == (version(step, 5),)
    assert await store.queries.memory.counts(task_id) == {READY: 1}
    history = await recorder.history()
    assert history.summaries == {1: version(step, 5)} and history.summary_states == {1: READY}


async def test_of_many_writers_at_once_each_version_is_written_once(store: Store) -> None:
    task_id, step = await with_step(store)
    recorders = [store.recorder(task_id) for _ in range(8)]
    numbers = [1, 2, 3, 4, 4, 3, 2, 1]

    async def write(recorder: Any, number: int) -> bool:
        try:
            await recorder.record(moved(step, READY, number))
        except Conflict:
            return False
        return True

    won = await asyncio.gather(*map(write, recorders, numbers))
    assert sum(won) == 1, "the second finds it ready already"
    view = await store.queries.memory.summary(task_id, 1)
    assert len(view.versions) == 1


async def test_a_summary_that_nobody_expects_is_refused(store: Store) -> None:
    task = await store.running()
    step = decided(1)
    recorder = store.recorder(task.task_id)
    await recorder.record(step, finished(step))
    with pytest.raises(Conflict):
        await recorder.record(moved(step, READY, 1))
    with pytest.raises(NotFound):
        await store.queries.memory.summary(task.task_id, 1)
    assert (await recorder.history()).summary_states == {}


async def test_chunks_take_newer_capsules_only(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    memory = store.queries.memory
    await recorder.record(ChunkClosed(chunk=chunk()))
    await recorder.record(ChunkChanged(chunk=chunk(ChunkState.FAILED), reason="refused"))
    assert (await memory.chunks(task.task_id))[0].state is ChunkState.FAILED
    await recorder.record(ChunkChanged(chunk=chunk(ChunkState.READY, 1)))
    for late in (chunk(ChunkState.READY, 1), chunk(ChunkState.FAILED), chunk(ChunkState.FAILED, 1)):
        with pytest.raises(Conflict):
            await recorder.record(ChunkChanged(chunk=late))
    await recorder.record(ChunkChanged(chunk=chunk(ChunkState.READY, 3)))
    view = await memory.chunk(task.task_id, 1)
    assert view.chunk == chunk(ChunkState.READY, 3)
    assert [c.version for c in view.versions] == [1, 3]
    assert (await recorder.history()).chunks == (view.chunk,)
    with pytest.raises(Conflict):
        await recorder.record(ChunkClosed(chunk=chunk()))
    with pytest.raises(NotFound):
        await memory.chunk(task.task_id, 2)


async def test_what_the_background_used_is_told_apart(store: Store) -> None:
    task_id, _ = await with_step(store)
    recorder = store.recorder(task_id)
    await recorder.record(called(1), called(1, role="summarizer"), called(1, role="summarizer"))
    history = await recorder.history()
    (spent,) = history.background.values()
    assert spent.usage.total == 2 * 9_150 and spent.cost_usd == pytest.approx(0.5)
    own = history.own_spent()
    assert own.usage.total == 9_150 and own.cost_usd == pytest.approx(0.25)


async def test_pending_rows_of_ended_tasks_are_found(store: Store) -> None:
    task_id, step = await with_step(store)
    assert await tasks_with_unwritten(store.db) == ()
    await store.recorder(task_id).record(change(TaskState.RUNNING, TaskState.FAILED))
    assert await tasks_with_unwritten(store.db) == (task_id,)
    refused = (Refusal(rule="list", detail="- x"),)
    await store.recorder(task_id).record(
        moved(step, SummaryStatus.VISUAL_FAILED, refusals=refused, reason="refused")
    )
    assert await tasks_with_unwritten(store.db) == ()


async def test_what_was_rejected_or_never_answered_is_found(store: Store) -> None:
    rejected_id, rejected = await with_step(store)
    await store.recorder(rejected_id).record(
        change(TaskState.RUNNING, TaskState.COMPLETED), moved(rejected, READY, 1)
    )
    away_id, away = await with_step(store)
    await store.recorder(away_id).record(
        change(TaskState.RUNNING, TaskState.COMPLETED),
        moved(away, SummaryStatus.VISUAL_FAILED, attempts=1, reason="503"),
    )
    assert await tasks_with_unwritten(store.db) == (away_id,)
    await store.recorder(rejected_id).record(moved(rejected, STALE, reason="rejected by Anna"))
    assert await tasks_with_unwritten(store.db) == (away_id, rejected_id)


async def test_failed_chunks_of_ended_tasks_are_found_until_given_up(store: Store) -> None:
    task_id = (await store.running()).task_id
    recorder = store.recorder(task_id)
    await recorder.record(ChunkClosed(chunk=chunk()))
    await recorder.record(ChunkChanged(chunk=chunk(ChunkState.FAILED)))
    assert await tasks_with_unwritten(store.db) == (), "it still runs"
    await recorder.record(change(TaskState.RUNNING, TaskState.COMPLETED))
    assert await tasks_with_unwritten(store.db) == (task_id,)
    seen: list[HistoryChunk] = []

    def given_up(found: HistoryChunk) -> bool:
        seen.append(found)
        return True

    assert await tasks_with_unwritten(store.db, given_up) == ()
    assert [c.chunk_id for c in seen] == ["c1"]


def picture_text(*lines: str) -> PictureText:
    size = Size(width=100, height=200)
    read = [
        TextLine(text=line, bounds=Bounds(left=0, top=20 * n, right=50, bottom=20 * n + 10))
        for n, line in enumerate(lines)
    ]
    return PictureText(lines=tuple(read), size=size)


async def test_the_words_of_a_steps_pictures_are_found_by_the_pictures(store: Store) -> None:
    task_id, step = await with_step(store)
    before, after, other = [await store.artifacts.put(d, "image/png") for d in (b"a", b"b", b"c")]
    gone = ArtifactRef(sha256="f" * 64, media_type="application/json", size=1)
    told = {1: (before, "Total 4,711"), 2: (after, "Thank you"), 3: (other, "Elsewhere")}
    for number, (picture, line) in told.items():
        data = picture_text(line).model_dump_json().encode()
        ref = await store.artifacts.put(data, "application/json")
        await store.recorder(task_id).record(
            TextRead(step_number=number, screenshot=picture, text_ref=ref, lines=1)
        )
    shown = step.observation.model_copy(update={"screenshot": before})
    later = step.observation.model_copy(update={"screenshot": after})
    (found,) = (await store.recorder(task_id).history()).steps
    seen = found.model_copy(update={"observation": shown, "after": later})
    text = await text_of_step(store.db, store.artifacts, task_id, seen)
    assert text == "Total 4,711\nThank you"
    blind = found.model_copy(update={"observation": shown.model_copy(update={"screenshot": None})})
    assert await text_of_step(store.db, store.artifacts, task_id, blind) == ""
    await store.recorder(task_id).record(
        TextRead(step_number=1, screenshot=before, text_ref=gone, lines=1)
    )
    assert await text_of_step(store.db, store.artifacts, task_id, seen) == "Thank you"
