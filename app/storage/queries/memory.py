"""Questions about what was written in the background: summaries, chunks, their versions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Select, func, select

from app.domain.summaries import (
    ChunkState,
    HistoryChunk,
    Refusal,
    StepSummary,
    SummaryStatus,
)
from app.errors import NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.queries.views import ChunkView, SummaryView
from app.storage.rows import AnyRow

LAST = 2**31 - 1
_REFUSALS: TypeAdapter[tuple[Refusal, ...]] = TypeAdapter(tuple[Refusal, ...])
_state = tables.step_summary.c
_text = tables.summary_version.c
_chunk = tables.chunk.c
_capsule = tables.chunk_version.c


class MemoryQueries:
    """Summaries and chunks of one task. What does not exist raises NotFound."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def summaries(
        self,
        task_id: str,
        *,
        first: int = 1,
        last: int = LAST,
        steps: Collection[int] | None = None,
        limit: int | None = None,
    ) -> tuple[SummaryView, ...]:
        """Of a range of steps, or of some steps of it, in order, each with its newest version."""
        wanted = [_state.task_id == task_id, _state.step_number.between(first, last)]
        if steps is not None:
            wanted.append(_state.step_number.in_(steps))
        query = _newest_texts().where(*wanted).order_by(_state.step_number).limit(limit)
        async with self._db.read() as connection:
            rows = (await connection.execute(query)).all()
        return tuple(_view(row, _texts([row.summary])) for row in rows)

    async def summary(self, task_id: str, step_number: int) -> SummaryView:
        """One step's summary with all its versions, oldest first."""
        here = (_state.task_id == task_id, _state.step_number == step_number)
        texts = (
            select(_text.summary)
            .where(_text.task_id == task_id, _text.step_number == step_number)
            .order_by(_text.version)
        )
        async with self._db.read() as connection:
            row = (await connection.execute(select(tables.step_summary).where(*here))).one_or_none()
            if row is None:
                raise NotFound(f"Step {step_number} of the task {task_id} has no summary.")
            versions = (await connection.execute(texts)).scalars().all()
        return _view(row, _texts(versions))

    async def counts(self, task_id: str) -> dict[SummaryStatus, int]:
        """Steps by the state of their summary."""
        query = (
            select(_state.status, func.count())
            .where(_state.task_id == task_id)
            .group_by(_state.status)
        )
        async with self._db.read() as connection:
            rows = (await connection.execute(query)).all()
        return {SummaryStatus(status): count for status, count in rows}

    async def chunks(
        self, task_id: str, *, first: int = 1, last: int = LAST
    ) -> tuple[HistoryChunk, ...]:
        """Those that end within a range of steps, in order, each in its newest version."""
        query = (
            select(_chunk.chunk)
            .where(_chunk.task_id == task_id, _chunk.end_step.between(first, last))
            .order_by(_chunk.start_step)
        )
        async with self._db.read() as connection:
            found = (await connection.execute(query)).scalars().all()
        return tuple(map(HistoryChunk.model_validate_json, found))

    async def chunk_of(self, task_id: str, step_number: int) -> ChunkView | None:
        """The chunk that a step belongs to; None while it belongs to none."""
        query = select(_chunk.start_step).where(
            _chunk.task_id == task_id,
            _chunk.start_step <= step_number,
            _chunk.end_step >= step_number,
        )
        async with self._db.read() as connection:
            start = await connection.scalar(query.limit(1))
        return None if start is None else await self.chunk(task_id, start)

    async def chunk_counts(self, task_id: str) -> dict[ChunkState, int]:
        """Chunks by the state of their capsule."""
        query = (
            select(_chunk.state, func.count())
            .where(_chunk.task_id == task_id)
            .group_by(_chunk.state)
        )
        async with self._db.read() as connection:
            rows = (await connection.execute(query)).all()
        return {ChunkState(state): count for state, count in rows}

    async def chunk(self, task_id: str, start_step: int) -> ChunkView:
        """One chunk with all versions of its capsule, oldest first."""
        one = select(_chunk.chunk).where(_chunk.task_id == task_id, _chunk.start_step == start_step)
        query = (
            select(_capsule.chunk)
            .where(_capsule.task_id == task_id, _capsule.start_step == start_step)
            .order_by(_capsule.version)
        )
        async with self._db.read() as connection:
            newest = await connection.scalar(one)
            if newest is None:
                raise NotFound(f"No chunk of the task {task_id} begins at step {start_step}.")
            versions = (await connection.execute(query)).scalars().all()
        return ChunkView(
            chunk=HistoryChunk.model_validate_json(newest),
            versions=tuple(map(HistoryChunk.model_validate_json, versions)),
        )


def _newest_texts() -> Select[Any]:
    """State rows with the text of their newest version, where there is one."""
    newest = (
        (_text.task_id == _state.task_id)
        & (_text.step_number == _state.step_number)
        & (_text.version == _state.version)
    )
    return select(*_state, _text.summary).outerjoin_from(
        tables.step_summary, tables.summary_version, newest
    )


def _view(row: AnyRow, versions: tuple[StepSummary, ...]) -> SummaryView:
    return SummaryView(
        step_number=row.step_number,
        step_id=row.step_id,
        status=SummaryStatus(row.status),
        attempts=row.attempts,
        refusals=_REFUSALS.validate_json(row.refusals),
        reason=row.reason,
        changed_at=row.changed_at,
        versions=versions,
    )


def _texts(documents: Any) -> tuple[StepSummary, ...]:
    return tuple(StepSummary.model_validate_json(d) for d in documents if d is not None)
