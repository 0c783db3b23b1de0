"""Writers at once and late, over one store: no illegal move, no version lost, none twice."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.events import ChunkChanged, ChunkClosed, Event, SummaryChanged
from app.domain.summaries import (
    SUMMARY_TRANSITIONS,
    Boundary,
    Capsule,
    ChunkState,
    HistoryChunk,
    StepSummary,
    SummaryEvidenceMetadata,
    SummaryStatus,
)
from app.errors import Conflict
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.queries import Queries
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from tests.unit.storage.samples import SteppingClock, Viewer, decided, finished, new_id, spec

VERSIONS = st.integers(1, 5)
STEP_ID = itertools.count(1)


class Try(NamedTuple):
    """What a writer tries: several statuses in one go are one transaction."""

    statuses: tuple[SummaryStatus, ...]
    version: int


WRITERS = st.lists(
    st.lists(
        st.builds(
            Try,
            st.lists(st.sampled_from(SummaryStatus), min_size=1, max_size=2).map(tuple),
            VERSIONS,
        ),
        max_size=5,
    ),
    min_size=1,
    max_size=4,
)
CHUNK_WRITERS = st.lists(
    st.lists(st.tuples(st.sampled_from(ChunkState), VERSIONS), max_size=5), min_size=1, max_size=4
)
ONCE = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("writers")
    asyncio.run(migrate(url(path)))
    yield path


def url(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder / 'artemis.db'}"


class Store:
    """One task with one finished step whose summary is pending."""

    def __init__(self, folder: Path) -> None:
        self.db = Database(url(folder))
        self.artifacts = FileArtifacts(folder / "artifacts")
        self.clock = SteppingClock()
        self.queries = Queries(self.db, self.artifacts)

    async def begin(self, *events: Event) -> str:
        tasks = TaskRepository(self.db, Viewer(), self.clock)
        task_id = (await tasks.create(new_id(), spec())).task.task_id
        await tasks.claim("demo", task_id=task_id)
        self.step = decided(1, step_id=f"s{next(STEP_ID)}")
        await self.recorder(task_id).record(self.step, finished(self.step), *events)
        return task_id

    def recorder(self, task_id: str) -> TaskRecorder:
        return TaskRecorder(self.db, self.artifacts, task_id, Viewer(), self.clock)


def summary(step_id: str, version: int) -> StepSummary:
    evidence = SummaryEvidenceMetadata(
        step_id=step_id, model="m", prompt_version=1, summary_version=version
    )
    return StepSummary(
        step_id=step_id, step_number=1, version=version, text=f"text {version}", evidence=evidence
    )


def changes(step_id: str, tried: Try) -> list[SummaryChanged]:
    return [
        SummaryChanged(
            step_id=step_id,
            step_number=1,
            status=status,
            summary=summary(step_id, tried.version)
            if status is SummaryStatus.VISUAL_READY
            else None,
        )
        for status in tried.statuses
    ]


def chunk(state: ChunkState, version: int) -> HistoryChunk:
    ready = state is ChunkState.READY
    return HistoryChunk(
        chunk_id="c",
        session_id="t",
        start_step=1,
        end_step=1,
        start_step_id="a",
        end_step_id="a",
        source_step_ids=("a",),
        boundary=Boundary.END,
        state=state,
        version=version if ready else 0,
        capsule=Capsule(doing=f"version {version}") if ready else None,
    )


async def all_at_once(store: Store, task_id: str, writers: list[list[list[Event]]]) -> int:
    """Every writer by its own recorder, one after the other within each; gives what was taken."""

    async def write(batches: list[list[Event]]) -> int:
        recorder, taken = store.recorder(task_id), 0
        for batch in batches:
            try:
                await recorder.record(*batch)
            except Conflict:
                continue
            taken += len(batch)
        return taken

    return sum(await asyncio.gather(*map(write, writers)))


@ONCE
@given(tries=WRITERS)
def test_summaries(folder: Path, tries: list[list[Try]]) -> None:
    asyncio.run(summaries(folder, tries))


async def summaries(folder: Path, tries: list[list[Try]]) -> None:
    store = Store(folder)
    try:
        task_id = await store.begin()
        step_id = store.step.step_id
        waiting = SummaryChanged(step_id=step_id, step_number=1, status=SummaryStatus.PENDING)
        await store.recorder(task_id).record(waiting)
        writers = [[list[Event](changes(step_id, t)) for t in writer] for writer in tries]
        taken = await all_at_once(store, task_id, writers)
        stored = await store.queries.tasks.events_of(task_id, "summary_changed")
        view = await store.queries.memory.summary(task_id, 1)
    finally:
        await store.db.close()
    events = [s.event for s in stored if isinstance(s.event, SummaryChanged)]
    assert len(events) == taken + 1, "what was taken is told, and nothing else"
    moves = [e.status for e in events]
    assert all(b in SUMMARY_TRANSITIONS[a] for a, b in itertools.pairwise(moves))
    versions = [e.summary.version for e in events if e.summary is not None]
    assert versions == sorted(set(versions)), "each version once, and no older one after a newer"
    assert [s.version for s in view.versions] == versions, "none is lost"
    assert view.status is moves[-1]
    assert (view.newest.version if view.newest else 0) == max(versions, default=0)


@ONCE
@given(tries=CHUNK_WRITERS)
def test_capsules(folder: Path, tries: list[list[tuple[ChunkState, int]]]) -> None:
    asyncio.run(capsules(folder, tries))


async def capsules(folder: Path, tries: list[list[tuple[ChunkState, int]]]) -> None:
    store = Store(folder)
    try:
        task_id = await store.begin(ChunkClosed(chunk=chunk(ChunkState.PENDING, 0)))
        writers = [
            [list[Event]([ChunkChanged(chunk=chunk(*told))]) for told in writer] for writer in tries
        ]
        taken = await all_at_once(store, task_id, writers)
        stored = await store.queries.tasks.events_of(task_id, "chunk_changed")
        view = await store.queries.memory.chunk(task_id, 1)
    finally:
        await store.db.close()
    events = [s.event for s in stored if isinstance(s.event, ChunkChanged)]
    assert len(events) == taken
    states = [e.chunk.state for e in events]
    if ChunkState.READY in states:
        first = states.index(ChunkState.READY)
        assert set(states[first:]) == {ChunkState.READY}, "what is ready stays ready"
    versions = [e.chunk.version for e in events if e.chunk.state is ChunkState.READY]
    assert versions == sorted(set(versions))
    assert [c.version for c in view.versions] == versions
    assert view.chunk == (events[-1].chunk if events else chunk(ChunkState.PENDING, 0))
