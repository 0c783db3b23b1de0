"""The schema from nothing, what it is compared with, and what a failure leaves."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from alembic import command
from app.errors import ArtemisError, ConfigurationError
from app.storage.db import Database
from app.storage.migrations import alembic_config, migrate
from app.storage.tables import metadata


async def _in(url: str, work):
    database = Database(url, foreign_keys=False)
    try:
        return await database.write(work)
    finally:
        await database.close()


async def test_from_nothing_to_the_newest_and_no_further(empty_url: str) -> None:
    assert await migrate(empty_url)
    assert not await migrate(empty_url)

    def check(connection: Connection) -> set[str]:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.check(config)
        return set(inspect(connection).get_table_names())

    assert set(metadata.tables) <= await _in(empty_url, check)


async def test_down_again_leaves_nothing(empty_url: str) -> None:
    await migrate(empty_url)

    def down(connection: Connection) -> set[str]:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        return set(inspect(connection).get_table_names())

    assert await _in(empty_url, down) == {"alembic_version"}
    assert await migrate(empty_url)


async def test_a_failing_migration_leaves_no_half(empty_url: str) -> None:
    def spoil(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE task_artifact (x INTEGER)"))

    await _in(empty_url, spoil)
    with pytest.raises(ArtemisError):
        await migrate(empty_url)
    left = await _in(empty_url, lambda connection: set(inspect(connection).get_table_names()))
    assert left <= {"task_artifact", "alembic_version"}

    await _in(empty_url, lambda connection: connection.execute(text("DROP TABLE task_artifact")))
    assert await migrate(empty_url)


async def test_a_newer_database_is_refused_with_a_hint(empty_url: str) -> None:
    await migrate(empty_url)
    newer = text("UPDATE alembic_version SET version_num = '9999'")
    await _in(empty_url, lambda connection: connection.execute(newer))
    with pytest.raises(ConfigurationError) as caught:
        await migrate(empty_url)
    assert caught.value.hint


def test_a_filled_file_is_copied_first(tmp_path: Path) -> None:
    path = tmp_path / "artemis.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO device VALUES ('d', 'chromium', '{}', 1, 0, '2026-01-01')")
        database.execute("DELETE FROM alembic_version")
        database.execute("INSERT INTO alembic_version VALUES ('0000')")
    with pytest.raises(ConfigurationError):
        asyncio.run(migrate(f"sqlite:///{path}"))
    newest = ScriptDirectory.from_config(alembic_config()).get_current_head()
    with closing(sqlite3.connect(tmp_path / f"artemis.db.before-{newest}")) as copy:
        assert copy.execute("SELECT name FROM device").fetchall() == [("d",)]


def test_an_empty_file_needs_no_copy(tmp_path: Path) -> None:
    asyncio.run(migrate(f"sqlite:///{tmp_path / 'artemis.db'}"))
    assert not list(tmp_path.glob("*.before-*"))


async def test_migrating_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    job = asyncio.create_task(migrate(f"sqlite:///{tmp_path / 'artemis.db'}"))
    longest = 0.0
    while not job.done():
        before = loop.time()
        await asyncio.sleep(0.001)
        longest = max(longest, loop.time() - before)
    assert await job
    assert longest < 0.5
