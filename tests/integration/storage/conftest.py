"""The store on SQLite and, where its server can be started, on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest

from app.domain.tasks import Task
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.devices import DeviceRepository
from app.storage.migrations import migrate
from app.storage.queries import Queries
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from tests.unit.storage.samples import SteppingClock, Viewer, new_id, spec

START_TIMEOUT = 60


@dataclass
class Store:
    """Everything that works on one database."""

    url: str
    db: Database
    artifacts: FileArtifacts
    clock: SteppingClock = field(default_factory=SteppingClock)
    viewer: Viewer = field(default_factory=Viewer)

    @property
    def tasks(self) -> TaskRepository:
        return TaskRepository(self.db, self.viewer, self.clock)

    @property
    def devices(self) -> DeviceRepository:
        return DeviceRepository(self.db, self.clock)

    @property
    def queries(self) -> Queries:
        return Queries(self.db, self.artifacts)

    def recorder(self, task_id: str) -> TaskRecorder:
        return TaskRecorder(self.db, self.artifacts, task_id, self.viewer, self.clock)

    def search(self, task_id: str) -> Search:
        return Search(self.db, task_id)

    async def running(self, device: str = "demo", goal: str = "Find the total") -> Task:
        """A new task that was claimed."""
        created = await self.tasks.create(new_id(), spec(goal, device))
        claimed = await self.tasks.claim(device, task_id=created.task.task_id)
        assert claimed is not None
        return claimed


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of its own on a free port; the URL lacks the database's name."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not places:
        pytest.skip("PostgreSQL's server programs (initdb) are not installed")
    user = pwd.getpwuid(os.getuid()).pw_name
    if os.getuid() == 0:
        try:
            user = pwd.getpwnam("postgres").pw_name
        except KeyError:
            pytest.skip("PostgreSQL refuses to run as root and there is no user postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="artemis-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [places[-1].with_name(program), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            timeout=START_TIMEOUT,
            user=user if os.getuid() == 0 else None,
        )

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "artemis", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://artemis@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a migrated database to copy."""
    name = "template_artemis"

    async def prepare() -> None:
        await _execute(postgres_server, f"CREATE DATABASE {name}")
        await migrate(f"{postgres_server}/{name}")

    asyncio.run(prepare())
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    path = tmp_path_factory.mktemp("template") / "artemis.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database without any table."""
    if engine == "sqlite":
        return f"sqlite:///{tmp_path / 'empty' / 'artemis.db'}"
    server = request.getfixturevalue("postgres_server")
    name = f"empty_{uuid.uuid4().hex}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name}"))
    return f"{server}/{name}"


@pytest.fixture
def url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A migrated database."""
    if engine == "sqlite":
        path = tmp_path / "artemis.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"
    server = request.getfixturevalue("postgres_server")
    template = request.getfixturevalue("postgres_template")
    name = f"test_{uuid.uuid4().hex}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name} TEMPLATE {template}"))
    return f"{server}/{name}"


Open = Callable[[], Awaitable[Store]]


@pytest.fixture
async def open_store(url: str, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the same store again, as another process would."""
    opened: list[Store] = []

    async def open_one() -> Store:
        store = Store(url, Database(url), FileArtifacts(tmp_path / "artifacts"))
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        await store.db.close()


@pytest.fixture
async def store(open_store: Open) -> Store:
    return await open_store()


async def _execute(server: str, statement: str) -> None:
    connection = await asyncpg.connect(f"{server}/postgres")
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
