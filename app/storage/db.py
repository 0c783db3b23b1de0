"""Opens the database and brackets every read and write in a transaction."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.errors import ArtemisError, ConfigurationError, Conflict, StoreLocked

BUSY_TIMEOUT = 30_000  # milliseconds SQLite waits for another process's write
CONNECT_TIMEOUT = 10.0  # seconds for a PostgreSQL connection
STATEMENT_TIMEOUT = 60.0  # seconds for one PostgreSQL statement
POOL_SIZE = 5
POOL_OVERFLOW = 10
T = TypeVar("T")
_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
}


def parse_url(url: str) -> URL:
    """The URL with its asynchronous driver; raises ConfigurationError for what is not supported."""
    hint = "Use sqlite:///path/to/file.db or postgresql://user@host/name."
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigurationError("The database URL cannot be read.", hint=hint) from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise ConfigurationError(
            f"There is no support for a {parsed.drivername!r} database.", hint=hint
        )
    parsed = parsed.set(drivername=driver)
    if sqlite_file(parsed) is None and parsed.get_backend_name() == "sqlite":
        raise ConfigurationError("An SQLite database needs a file.", hint=hint)
    return parsed


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite database; None for another kind or one in memory."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


class Database:
    """One database. `write()`, `read()` and `look()` are the only ways in.

    A write is a plain function of a connection, so that nothing else can be awaited while it
    holds the store. With SQLite, which takes one writer at a time, one thread runs them one after
    the other: each begins IMMEDIATE (a deferred one that reads first fails at once when another
    process came between), and the many small statements of a step cross threads once, not each.
    """

    def __init__(self, url: str, *, foreign_keys: bool = True) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._sync_engine: Engine | None = None
        self._look_engine: Engine | None = None
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._lookers = ThreadPoolExecutor(max_workers=POOL_SIZE, thread_name_prefix="look")
        if path := sqlite_file(self.url):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._engine = create_async_engine(self.url, pool_size=POOL_SIZE)
            self._reader = self._engine
            self._sync_engine = create_engine(
                self.url.set(drivername="sqlite"),
                pool_size=1,
                # Closed by another thread than the one that wrote.
                connect_args={"check_same_thread": False},
            )
            self._look_engine = create_engine(
                self.url.set(drivername="sqlite"),
                pool_size=POOL_SIZE,
                connect_args={"check_same_thread": False},
            )
            for engine, begin in (
                (self._engine.sync_engine, ""),
                (self._look_engine, ""),
                (self._sync_engine, "IMMEDIATE"),
            ):
                event.listen(engine, "connect", _sqlite_setup(foreign_keys))
                event.listen(engine, "begin", _sqlite_begin(begin))
        else:
            self._engine = _postgresql_engine(self.url)
            self._reader = self._engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT that knows ON CONFLICT; the two databases spell it alike."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that changes nothing and sees one moment of the store throughout."""
        with _converted_errors():
            async with self._reader.connect() as connection:
                yield connection

    async def look(self, work: Callable[[Connection], T]) -> T:
        """Runs work that only reads: all its statements, and what it computes, see one moment.

        With SQLite in a thread of its own: to cross threads for each of many small statements
        takes longer than to run them, and the event loop is not held up by what is computed.
        """
        if self._look_engine is None:
            async with self.read() as connection:
                return await connection.run_sync(work)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._lookers, self._look_in_thread, self._look_engine, work
        )

    async def write(
        self, work: Callable[[Connection], T], on_commit: Callable[[T], None] | None = None
    ) -> T:
        """Runs the work in a transaction: committed at its end, rolled back by an exception.

        `on_commit` runs in the event loop in the order of the commits. A caller that is cancelled
        leaves a write that has begun to end by itself, with its announcement.
        """
        if self._sync_engine is None:
            return await _to_its_end(self._write_async(work, on_commit))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._writer, self._write_in_thread, self._sync_engine, loop, work, on_commit
        )

    async def close(self) -> None:
        """Waits for the writes under way. A second time does nothing."""
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._lookers.shutdown)
        for engine in (self._sync_engine, self._look_engine):
            if engine is not None:
                engine.dispose()
        await self._engine.dispose()

    @staticmethod
    def _look_in_thread(engine: Engine, work: Callable[[Connection], T]) -> T:
        with _converted_errors(), engine.connect() as connection:
            return work(connection)

    @staticmethod
    def _write_in_thread(
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        work: Callable[[Connection], T],
        on_commit: Callable[[T], None] | None,
    ) -> T:
        with _converted_errors(), engine.begin() as connection:
            result = work(connection)
        if on_commit is not None:
            loop.call_soon_threadsafe(on_commit, result)
        return result

    async def _write_async(
        self, work: Callable[[Connection], T], on_commit: Callable[[T], None] | None
    ) -> T:
        with _converted_errors():
            async with self._engine.connect() as connection:
                async with connection.begin():
                    result = await connection.run_sync(work)
                if on_commit is not None:
                    on_commit(result)
                return result


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs the work to its end even when the caller is cancelled, which it then still is."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise


def _postgresql_engine(url: URL) -> AsyncEngine:
    try:
        return create_async_engine(
            url,
            connect_args={"timeout": CONNECT_TIMEOUT, "command_timeout": STATEMENT_TIMEOUT},
            pool_size=POOL_SIZE,
            max_overflow=POOL_OVERFLOW,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"The driver {error.name} for this database is not installed.",
            hint="Install Artemis with the extra `postgres`.",
        ) from None


def _sqlite_setup(foreign_keys: bool) -> Callable[[Any, Any], None]:
    def setup(connection: Any, _record: Any) -> None:
        # The driver must not open transactions of its own: `_sqlite_begin` does.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        cursor.close()

    return setup


def _sqlite_begin(kind: str) -> Callable[[Connection], None]:
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"BEGIN {kind}")

    return begin


@contextmanager
def _converted_errors() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        raise Conflict(
            f"The store already holds something else there ({_cause(error)})."
        ) from error
    except OperationalError as error:
        if "locked" in str(error.orig):
            raise StoreLocked("Another process is writing to the database.") from error
        raise ArtemisError(f"The database could not do this: {_cause(error)}.") from error
    except DBAPIError as error:
        raise ArtemisError(f"The database refused this: {_cause(error)}.") from error
    except (PoolTimeout, OSError) as error:
        raise ArtemisError(f"The database cannot be reached: {error}.") from error


def _cause(error: DBAPIError) -> str:
    """The driver's first line, without parameters: they may hold what the user typed."""
    return re.sub(r"^<class '[^']*'>: ", "", str(error.orig).splitlines()[0]).rstrip(".")
