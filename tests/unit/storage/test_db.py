"""Database URLs and transactions on SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from app.errors import ArtemisError, ConfigurationError, Conflict
from app.storage.db import Database, parse_url


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'deep' / 'er' / 'x.db'}")
    await database.write(
        lambda c: c.execute(text("CREATE TABLE t (n INTEGER UNIQUE CHECK (n > 0))")) and None
    )
    yield database
    await database.close()


def _insert(connection: Connection, number: int) -> None:
    connection.execute(text("INSERT INTO t VALUES (:n)"), {"n": number})


async def _count(db: Database) -> int:
    async with db.read() as connection:
        return int(await connection.scalar(text("SELECT count(*) FROM t")))


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "oracle+x://"]
)
def test_other_databases_are_refused_with_a_hint(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_url(url)
    assert caught.value.hint


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_drivers(scheme: str) -> None:
    assert parse_url(f"{scheme}://a@b/c").drivername == "postgresql+asyncpg"
    assert parse_url("sqlite:///x.db").drivername == "sqlite+aiosqlite"


async def test_settings_of_every_connection(db: Database) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 30_000}

    def settings(connection: Connection) -> dict[str, object]:
        return {k: connection.scalar(text(f"PRAGMA {k}")) for k in wanted}

    assert await db.write(settings) == wanted
    async with db.read() as connection:
        assert await connection.run_sync(settings) == wanted


async def test_concurrent_read_modify_writes_lose_nothing(db: Database) -> None:
    await db.write(lambda c: _insert(c, 1))

    def add_one(connection: Connection) -> None:
        number = connection.scalar(text("SELECT n FROM t"))
        connection.execute(text("UPDATE t SET n = :n"), {"n": number + 1})

    await asyncio.gather(*(db.write(add_one) for _ in range(50)))
    async with db.read() as connection:
        assert await connection.scalar(text("SELECT n FROM t")) == 51


async def test_an_exception_rolls_back(db: Database) -> None:
    def spoil(connection: Connection) -> None:
        _insert(connection, 1)
        raise RuntimeError("in the middle")

    announced: list[None] = []
    with pytest.raises(RuntimeError):
        await db.write(spoil, announced.append)
    assert await _count(db) == 0
    assert announced == []


async def test_errors_of_the_database_are_ours(db: Database) -> None:
    await db.write(lambda c: _insert(c, 1))
    with pytest.raises(Conflict) as caught:
        await db.write(lambda c: _insert(c, 1))
    assert "INSERT" not in str(caught.value)
    with pytest.raises(ArtemisError):
        await db.write(lambda c: c.execute(text("SELECT * FROM nothing")))
    with pytest.raises(ArtemisError):
        async with db.read() as connection:
            await connection.execute(text("SELECT * FROM nothing"))


async def test_a_read_sees_one_moment(db: Database) -> None:
    async with db.read() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM t")) == 0
        await db.write(lambda c: _insert(c, 1))
        assert await connection.scalar(text("SELECT count(*) FROM t")) == 0
    assert await _count(db) == 1


async def test_announcements_keep_the_order_of_commits(db: Database) -> None:
    announced: list[int] = []

    def number(connection: Connection) -> int:
        _insert(connection, connection.scalar(text("SELECT count(*) + 1 FROM t")) or 0)
        return int(connection.scalar(text("SELECT max(n) FROM t")) or 0)

    await asyncio.gather(*(db.write(number, announced.append) for _ in range(30)))
    assert announced == list(range(1, 31))


async def test_closing_twice_and_unreachable_files(db: Database, tmp_path: Path) -> None:
    await db.close()
    await db.close()
    (tmp_path / "folder.db").mkdir()
    broken = Database(f"sqlite:///{tmp_path / 'folder.db'}")
    with pytest.raises(ArtemisError):
        await broken.write(lambda c: _insert(c, 1))
    await broken.close()
