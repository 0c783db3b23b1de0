"""Finds the tasks whose background writing was cut off: pending rows are its queue."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from app.domain.summaries import ChunkState, HistoryChunk, SummaryStatus
from app.domain.tasks import TaskState
from app.storage import tables
from app.storage.db import Database

TASKS = 50
"""Newest tasks taken up at a start."""
CHUNKS = 500
"""Newest failed chunks looked at."""
_QUEUED = (SummaryStatus.PENDING.value, SummaryStatus.STALE.value)
_ENDED = tuple(state.value for state in TaskState if state.ended)


async def tasks_with_unwritten(
    db: Database, given_up: Callable[[HistoryChunk], bool] = lambda chunk: False
) -> tuple[str, ...]:
    """Ended tasks that lack a text, newest first: pending, rejected, or never answered.

    A chunk that failed counts while it is not given up.
    """
    task, summary, chunk = tables.task.c, tables.step_summary.c, tables.chunk.c
    unanswered = (summary.status == SummaryStatus.VISUAL_FAILED.value) & (summary.refusals == "[]")
    summaries = select(summary.task_id).where(summary.status.in_(_QUEUED) | unanswered)
    chunks = select(chunk.task_id).where(chunk.state == ChunkState.PENDING.value)
    ended = (
        select(task.task_id, task.number)
        .where(task.state.in_(_ENDED))
        .order_by(task.number.desc())
        .limit(TASKS)
    )
    failed = (
        select(chunk.task_id, chunk.chunk, task.number)
        .join(tables.task, task.task_id == chunk.task_id)
        .where(task.state.in_(_ENDED), chunk.state == ChunkState.FAILED.value)
        .order_by(task.number.desc())
        .limit(CHUNKS)
    )
    unwritten = ended.where(task.task_id.in_(summaries) | task.task_id.in_(chunks))
    async with db.read() as connection:
        numbers = {row.task_id: row.number for row in await connection.execute(unwritten)}
        for row in await connection.execute(failed):
            if not given_up(HistoryChunk.model_validate_json(row.chunk)):
                numbers[row.task_id] = row.number
    return tuple(sorted(numbers, key=lambda name: -numbers[name])[:TASKS])
