"""Brings the database to the newest schema."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from alembic import command
from app.errors import ConfigurationError
from app.storage.db import Database, sqlite_file

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE.parent / "alembic", _PACKAGE / "_bundled" / "alembic")


async def migrate(url: str, *, backup: bool = True) -> bool:
    """Upgrades the schema, all or nothing; True when there was something to upgrade.

    A filled SQLite database is copied beside itself first.
    """
    return await asyncio.to_thread(lambda: asyncio.run(_migrate(url, backup)))


async def _migrate(url: str, backup: bool) -> bool:
    config = alembic_config()
    newest = ScriptDirectory.from_config(config).get_current_head()
    database = Database(url, foreign_keys=False)
    try:
        async with database.read() as connection:
            current = await connection.run_sync(_revision)
        if current == newest:
            return False
        path = sqlite_file(database.url)
        if backup and path is not None and current is not None:
            _copy(path, path.with_name(f"{path.name}.before-{newest}"))
        await database.write(lambda connection: _upgrade(connection, config))
    except CommandError as error:
        raise ConfigurationError(
            f"The database is not one this version of Artemis can use: {error}.",
            hint="Use the version that wrote it or a newer one.",
        ) from error
    finally:
        await database.close()
    return True


def alembic_config() -> Config:
    """Alembic's configuration without a file, from a checkout or an installed wheel."""
    config = Config()
    place = next(place for place in _PLACES if (place / "env.py").is_file())
    config.set_main_option("script_location", str(place).replace("%", "%%"))
    # Without it Alembic splits version folders at spaces.
    config.set_main_option("path_separator", "os")
    return config


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection, config: Config) -> None:
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _copy(source: Path, target: Path) -> None:
    """Copies with SQLite's own backup, which also takes what is still in the write-ahead log."""
    with (
        closing(sqlite3.connect(source)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
