"""Runs migrations, on a connection that Artemis hands in or on one from the command line."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.types import TypeDecorator

from alembic import context
from app.storage.db import Database
from app.storage.tables import metadata

# Objects that no table class describes; they are made by hand in migrations.
INDEXES_BY_HAND = {"ix_search_entry_search_vector"}
COLUMNS_BY_HAND = {("search_entry", "search_vector")}
FTS = "search_fts"


def include_object(
    thing: Any, name: str | None, kind: str, reflected: bool, compare_to: Any
) -> bool:
    """Keeps autogenerate from dropping the full-text index and its shadow tables."""
    if not reflected:
        return True
    if kind == "table":
        return not (name or "").startswith(FTS)
    if kind == "column":
        return (thing.table.name, name) not in COLUMNS_BY_HAND
    return kind != "index" or name not in INDEXES_BY_HAND


def render_item(kind: str, thing: Any, _context: Any) -> str | bool:
    """Column types of ours are written as what the database sees, so that revisions stand alone."""
    if kind == "type" and isinstance(thing, TypeDecorator):
        return f"sa.{thing.impl_instance!r}"
    return False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_object=include_object,
        render_item=render_item,
        # SQLite can roll back DDL, Alembic only does not expect it to.
        transactional_ddl=True,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_from_command_line() -> None:
    url = os.environ.get("ARTEMIS_DATABASE_URL") or context.config.get_main_option("sqlalchemy.url")
    database = Database(url or "", foreign_keys=False)
    try:
        await database.write(run)
    finally:
        await database.close()


handed_in = context.config.attributes.get("connection")
if handed_in is None:
    asyncio.run(run_from_command_line())
else:
    run(handed_in)
