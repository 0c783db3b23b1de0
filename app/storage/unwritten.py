"""Finds the tasks whose background writing was cut off: pending rows are its queue."""

from __future__ import annotations

from sqlalchemy import select

from app.domain.summaries import ChunkState, SummaryStatus
from app.domain.tasks import TaskState
from app.storage import tables
from app.storage.db import Database

TASKS = 50
"""Newest tasks taken up at a start."""
_ENDED = tuple(state.value for state in TaskState if state.ended)


async def tasks_with_unwritten(db: Database) -> tuple[str, ...]:
    """Ended tasks with a pending summary or capsule, newest first."""
    task, summary, chunk = tables.task.c, tables.step_summary.c, tables.chunk.c
    summaries = select(summary.task_id).where(summary.status == SummaryStatus.PENDING.value)
    chunks = select(chunk.task_id).where(chunk.state == ChunkState.PENDING.value)
    query = (
        select(task.task_id)
        .where(task.state.in_(_ENDED), task.task_id.in_(summaries) | task.task_id.in_(chunks))
        .order_by(task.number.desc())
        .limit(TASKS)
    )
    async with db.read() as connection:
        return tuple((await connection.execute(query)).scalars().all())
