"""What people asked of a task that was never answered: its process died before it could."""

from __future__ import annotations

from sqlalchemy import select

from app.domain.events import ControlApplied, ControlRequested
from app.storage import tables
from app.storage.db import Database
from app.storage.rows import to_event

_TYPES = ("control_requested", "control_applied")


async def load_pending(db: Database, task_id: str) -> tuple[ControlRequested, ...]:
    """Requests without an outcome, in the order they were made."""
    row = tables.event.c
    query = select(tables.event).where(row.task_id == task_id, row.type.in_(_TYPES))
    async with db.read() as connection:
        rows = (await connection.execute(query.order_by(row.seq))).all()
    events = [to_event(r).event for r in rows]
    applied = {e.receipt_id for e in events if isinstance(e, ControlApplied)}
    asked = (e for e in events if isinstance(e, ControlRequested))
    return tuple(e for e in asked if e.receipt_id not in applied)
