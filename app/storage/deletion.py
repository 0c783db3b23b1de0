"""Removes a task with everything that is only its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, exists, select, text

from app.domain.tasks import TaskState
from app.errors import Conflict, NotFound
from app.storage import tables
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database

_BATCH = 500  # names in one statement
# The index holds no text of its own: to forget an entry it must be told what it had indexed.
_UNINDEX = text(
    "INSERT INTO search_fts (search_fts, rowid, search_text)"
    " SELECT 'delete', id, search_text FROM search_entry WHERE task_id = :task_id"
)


async def delete_task(db: Database, artifacts: FileArtifacts, task_id: str) -> None:
    """Removes rows, search texts and the artifacts nobody else needs.

    Raises NotFound, or Conflict while the task holds a device.
    """
    names = await db.write(lambda connection: _delete_rows(db, connection, task_id))
    for batch in _batches(names):
        await _delete_unneeded(db, artifacts, batch)


def _delete_rows(db: Database, connection: Connection, task_id: str) -> Sequence[str]:
    """Deletes the task's rows; gives the artifacts it needed."""
    task, link = tables.task.c, tables.task_artifact.c
    state = connection.scalar(select(task.state).where(task.task_id == task_id).with_for_update())
    if state is None:
        raise NotFound(f"There is no task {task_id}.")
    if TaskState(state).active:
        raise Conflict(f"The task is {state}.", hint="Cancel it first.")
    names = connection.scalars(select(link.sha256).where(link.task_id == task_id)).all()
    if db.is_sqlite:
        connection.execute(_UNINDEX, {"task_id": task_id})
    connection.execute(delete(tables.task).where(task.task_id == task_id))
    return names


async def sweep(db: Database, artifacts: FileArtifacts) -> None:
    """Removes artifacts that no task needs: what a process left that died at the wrong time."""
    row, link = tables.artifact.c, tables.task_artifact.c
    needless = ~exists().where(link.sha256 == row.sha256)
    async with db.read() as connection:
        unneeded = (await connection.scalars(select(row.sha256).where(needless))).all()
        known = frozenset(await connection.scalars(select(row.sha256)))
    for batch in _batches([*unneeded, *await artifacts.forgotten(known)]):
        await _delete_unneeded(db, artifacts, batch)


async def _delete_unneeded(db: Database, artifacts: FileArtifacts, names: Sequence[str]) -> None:
    """Inside one write, so that no task can link what is being deleted."""
    row, link = tables.artifact.c, tables.task_artifact.c
    query = select(link.sha256).where(link.sha256.in_(names)).distinct()

    def write(connection: Connection) -> None:
        unneeded = set(names).difference(connection.scalars(query))
        connection.execute(delete(tables.artifact).where(row.sha256.in_(unneeded)))
        artifacts.remove(unneeded)

    await db.write(write)


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _BATCH):
        yield names[start : start + _BATCH]
