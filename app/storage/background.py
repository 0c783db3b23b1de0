"""What the events of background writing do to the rows: states that move, versions that append."""

from __future__ import annotations

from datetime import datetime

from app.domain.events import ChunkChanged, ChunkClosed, SummaryChanged
from app.domain.summaries import (
    SUMMARY_TRANSITIONS,
    ChunkState,
    HistoryChunk,
    StepSummary,
    SummaryStatus,
)
from app.domain.values import Value
from app.storage import tables
from app.storage.changes import Changes, Columns, Move
from app.storage.types import to_document

BEFORE = {
    status: tuple(s.value for s, after in SUMMARY_TRANSITIONS.items() if status in after)
    for status in SummaryStatus
}
"""States from which each one may be reached."""


def apply_summary(changes: Changes, event: SummaryChanged, at: datetime) -> None:
    """A pending summary is a new row; any other state moves it, where the table allows it."""
    columns: Columns = {
        "status": event.status.value,
        "attempts": event.attempts,
        "refusals": _documents(event.refusals),
        "reason": event.reason,
        "changed_at": at,
    }
    if event.status is SummaryStatus.PENDING:
        changes.insert(
            tables.step_summary,
            step_number=event.step_number,
            step_id=event.step_id,
            version=0,
            **columns,
        )
        return
    newest = 2**31 - 1
    summary = event.summary
    if summary is not None:
        columns["version"] = summary.version
        newest = summary.version - 1
        _append(changes, summary, at)
    keys: Columns = {
        "of_number": event.step_number,
        "of_states": BEFORE[event.status],
        "of_newest": newest,
    }
    changes.moves.append(Move(tables.step_summary, keys, columns))


def apply_chunk(changes: Changes, event: ChunkClosed | ChunkChanged, at: datetime) -> None:
    """A closed chunk is a new row; a capsule is a version of it and becomes its newest one."""
    chunk = event.chunk
    document = to_document(chunk)
    if isinstance(event, ChunkClosed):
        changes.insert(
            tables.chunk,
            start_step=chunk.start_step,
            end_step=chunk.end_step,
            chunk_id=chunk.chunk_id,
            state=chunk.state.value,
            version=chunk.version,
            changed_at=at,
            chunk=document,
        )
        return
    ready = chunk.state is ChunkState.READY
    if ready:
        changes.insert(
            tables.chunk_version,
            start_step=chunk.start_step,
            version=chunk.version,
            at=at,
            chunk=document,
        )
    states = [s.value for s in ChunkState if ready or s is not ChunkState.READY]
    keys: Columns = {
        "of_number": chunk.start_step,
        "of_states": states,
        "of_newest": _newest_before(chunk, ready=ready),
    }
    columns: Columns = {
        "state": chunk.state.value,
        "version": chunk.version,
        "changed_at": at,
        "chunk": document,
    }
    changes.moves.append(Move(tables.chunk, keys, columns))


def _newest_before(chunk: HistoryChunk, *, ready: bool) -> int:
    return chunk.version - 1 if ready else chunk.version


def _append(changes: Changes, summary: StepSummary, at: datetime) -> None:
    changes.insert(
        tables.summary_version,
        step_number=summary.step_number,
        version=summary.version,
        at=at,
        summary=to_document(summary),
    )


def _documents(values: tuple[Value, ...]) -> str:
    return to_document([v.model_dump(mode="json") for v in values])
