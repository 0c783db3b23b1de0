"""Stores a whole recorded run as a task of its own: in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.domain.events import Event, StoredEvent
from app.domain.memory import SearchEntry
from app.domain.tasks import TaskSpec
from app.storage import tables
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.repositories import new_task
from app.storage.writing import append, artifact_refs


class Batch(NamedTuple):
    """What happened at one moment of the run."""

    at: datetime
    events: tuple[Event, ...]
    texts: tuple[SearchEntry, ...] = ()


async def store_run(
    db: Database,
    artifacts: FileArtifacts,
    bus: Callable[[StoredEvent], None],
    task_id: str,
    spec: TaskSpec,
    batches: Sequence[Batch],
) -> None:
    """Writes the task and its batches in order; nobody ever sees a part of it."""
    named = {ref.sha256 for batch in batches for ref in artifact_refs(batch.events)}

    def write(connection: Connection) -> list[StoredEvent]:
        connection.execute(new_task(task_id, spec, batches[0].at))
        stored: list[StoredEvent] = []
        for batch in batches:
            stored += append(db, connection, task_id, batch.events, batch.at, index=batch.texts)
        return stored

    def announce(stored: list[StoredEvent]) -> None:
        artifacts.linked(named)
        for event in stored:
            bus(event)

    await db.write(write, announce)


async def unused(db: Database, devices: Sequence[str]) -> list[str]:
    """Of these devices those that are known, and that no task was ever given."""
    given, device = select(tables.task.c.device), tables.device.c.name
    query = select(device).where(device.in_(devices), device.not_in(given))
    async with db.read() as connection:
        return list(await connection.scalars(query))
