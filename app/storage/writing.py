"""Writes numbered events, the rows they change and the search texts in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Insert,
    Table,
    Update,
    bindparam,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.events import EVENT, Event, StepDecided, StoredEvent
from app.domain.memory import SearchEntry
from app.domain.screens import ArtifactRef, UiTree
from app.domain.tasks import StepState
from app.domain.values import Value
from app.errors import Conflict, NotFound
from app.storage import tables
from app.storage.changes import TASK_COLUMNS, Changes
from app.storage.db import Database
from app.storage.events import apply, step_number_of
from app.storage.search_text import pieces, search_text
from app.storage.types import clean_text, encode

ENTRY_ID_SHIFT = 32  # a search entry's id: its task's number above, a running number below
_INDEX_ENTRY = text("INSERT INTO search_fts (rowid, search_text) VALUES (:id, :search_text)")
_KEPT_ON_UPDATE = {"task_id", "key", "number", "place"}
_LOCKED_TASK = (
    select(tables.task.c.number, *TASK_COLUMNS)
    .where(tables.task.c.task_id == bindparam("of"))
    .with_for_update()
)
_UPDATE_STEP = update(tables.step).where(
    tables.step.c.step_id == bindparam("of_step"),
    tables.step.c.task_id == bindparam("of"),
    tables.step.c.step_number == bindparam("of_number"),
    tables.step.c.state == StepState.DECIDED.value,
)
_UPDATE_QUESTION = update(tables.question).where(
    tables.question.c.question_id == bindparam("of_question"),
    tables.question.c.task_id == bindparam("of"),
    tables.question.c.answered_at.is_(None),
)
_MOVES = {
    table: update(table).where(
        table.c.task_id == bindparam("of"),
        number == bindparam("of_number"),
        state.in_(bindparam("of_states", expanding=True)),
        table.c.version <= bindparam("of_newest"),
    )
    for table, number, state in (
        (tables.step_summary, tables.step_summary.c.step_number, tables.step_summary.c.status),
        (tables.chunk, tables.chunk.c.start_step, tables.chunk.c.state),
    )
}
_UPDATE_TASK = update(tables.task).where(tables.task.c.number == bindparam("of"))


def append(
    db: Database,
    connection: Connection,
    task_id: str,
    events: Sequence[Event],
    at: datetime,
    *,
    index: Sequence[SearchEntry] = (),
    linked: frozenset[str] = frozenset(),
) -> list[StoredEvent]:
    """Stores the events under the next numbers; the task's row is locked throughout.

    `linked` names artifacts that are known to be linked to the task already.
    """
    row = connection.execute(_LOCKED_TASK, {"of": task_id}).one_or_none()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    number, *columns = row
    changes = Changes.to(task_id, dict(zip((c.name for c in TASK_COLUMNS), columns, strict=True)))
    stored = []
    for event in events:
        changes.task.last_seq += 1
        seq = changes.task.last_seq
        kept, written = _storable(event)
        apply(changes, kept, seq, at)
        changes.insert(
            tables.event,
            seq=seq,
            at=at,
            type=kept.type,
            step_number=step_number_of(kept),
            event=written,
        )
        stored.append(StoredEvent(seq=seq, task_id=task_id, at=at, event=kept))
    changes.task.updated_at = at
    _add_links(changes, artifact_refs(events), at, linked)
    _add_search_entries(changes, number, index)
    _write(db, connection, changes, number)
    return stored


def artifact_refs(value: object) -> Iterator[ArtifactRef]:
    """Every artifact that a value names, at any depth."""
    match value:
        case ArtifactRef():
            yield value
        case UiTree():
            # Thousands of elements, and none of them names an artifact.
            return
        case Value():
            for part in value.__dict__.values():
                if isinstance(part, Value | tuple):
                    yield from artifact_refs(part)
        case tuple() | list():
            for part in value:
                yield from artifact_refs(part)


def _storable(event: Event) -> tuple[Event, str]:
    """The event as it will be read again, and its bytes."""
    if isinstance(event, StepDecided) and event.messages:
        event = event.model_copy(update={"messages": ()})
    written, cleaned = encode(event)
    return (EVENT.validate_json(written) if cleaned else event), written


def _add_links(
    changes: Changes, refs: Iterable[ArtifactRef], at: datetime, linked: frozenset[str]
) -> None:
    new = {ref.sha256: ref for ref in refs if ref.sha256 not in linked}
    # Sorted: two tasks that link the same artifacts must not wait for each other.
    for sha256, ref in sorted(new.items()):
        changes.upserts[tables.artifact].append(
            {"sha256": sha256, "media_type": ref.media_type, "size": ref.size, "created_at": at}
        )
        changes.upsert(tables.task_artifact, sha256=sha256)


def _add_search_entries(changes: Changes, number: int, index: Sequence[SearchEntry]) -> None:
    for entry in index:
        for piece in pieces(clean_text(entry.text)):
            changes.task.search_entries += 1
            changes.insert(
                tables.search_entry,
                id=(number << ENTRY_ID_SHIFT) + changes.task.search_entries,
                step_number=entry.step_number,
                kind=entry.kind.value,
                text=piece,
                search_text=search_text(piece),
            )


def _write(db: Database, connection: Connection, changes: Changes, number: int) -> None:
    for table, rows in changes.inserts.items():
        connection.execute(_insert(table), rows)
    for table, rows in changes.upserts.items():
        connection.execute(_upsert(db, table, tuple(rows[0])), rows)
    if db.is_sqlite and (entries := changes.inserts.get(tables.search_entry)):
        connection.execute(_INDEX_ENTRY, entries)
    for step in changes.finished_steps:
        _update_one(connection, _UPDATE_STEP, _step_key(changes, step))
    for answer in changes.answers:
        _update_one(connection, _UPDATE_QUESTION, _question_key(changes, answer))
    for move in changes.moves:
        values = {**move.values, **move.keys, "of": changes.task_id}
        _update_one(connection, _MOVES[move.table], values)
    columns = changes.changed_columns()
    connection.execute(_updated(_UPDATE_TASK, tuple(columns)), {**columns, "of": number})


# Statements are kept: to spell out and to look up the same few anew takes longer than to run them.


@cache
def _insert(table: Table) -> Insert:
    return insert(table)


@cache
def _updated(statement: Update, columns: tuple[str, ...]) -> Update:
    return statement.values({name: bindparam(name) for name in columns})


def _upsert(db: Database, table: Table, columns: tuple[str, ...]) -> Any:
    return (_sqlite_upsert if db.is_sqlite else _postgresql_upsert)(table, columns)


@cache
def _sqlite_upsert(table: Table, columns: tuple[str, ...]) -> Any:
    return _on_conflict(sqlite.insert(table), table, columns)


@cache
def _postgresql_upsert(table: Table, columns: tuple[str, ...]) -> Any:
    return _on_conflict(postgresql.insert(table), table, columns)


def _on_conflict(statement: Any, table: Table, columns: tuple[str, ...]) -> Any:
    names = [name for name in columns if name not in _KEPT_ON_UPDATE]
    if table in (tables.artifact, tables.task_artifact):
        return statement.on_conflict_do_nothing()
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: statement.excluded[name] for name in names},
    )


def _step_key(changes: Changes, step: Mapping[str, Any]) -> dict[str, Any]:
    values = {k: v for k, v in step.items() if k not in ("step_id", "step_number")}
    keys = {"of_step": step["step_id"], "of_number": step["step_number"], "of": changes.task_id}
    return {**values, **keys}


def _question_key(changes: Changes, answer: Mapping[str, Any]) -> dict[str, Any]:
    values = {k: v for k, v in answer.items() if k != "question_id"}
    return {**values, "of_question": answer["question_id"], "of": changes.task_id}


def _update_one(connection: Connection, statement: Any, values: dict[str, Any]) -> None:
    columns = tuple(name for name in values if not name.startswith("of"))
    result = connection.execute(_updated(statement, columns), values)
    if result.rowcount != 1:
        raise Conflict(_refused(values))


def _refused(values: Mapping[str, Any]) -> str:
    if "of_states" in values:
        return "That version comes too late, or its state does not allow this."
    what = "step" if "of_step" in values else "question"
    return f"That {what} is unknown, or no longer open."
