"""Wires everything: settings in, a running service out; the lifespan starts and drains."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from fastapi import FastAPI

from app import __version__, api, console, security
from app.devices.server import DemoStack
from app.domain.config import DeviceConfig
from app.errors import ConfigurationError
from app.settings import TOKEN_FILE, Settings, gemini_key
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.deletion import sweep
from app.storage.devices import DeviceRepository
from app.storage.lock import DataDirLock
from app.storage.migrations import migrate
from app.storage.queries import Queries
from app.storage.repositories import TaskRepository
from app.tasks.archive import Archive
from app.tasks.bus import Bus
from app.tasks.clock import SystemClock
from app.tasks.service import TaskService
from app.tasks.worker import Stores, Worker

log = structlog.get_logger(__name__)

SECRET_FILE = "session-secret"


@dataclass(frozen=True)
class Access:
    """What opens the service: made once, kept in the data directory."""

    api_token: str
    session_secret: bytes
    one_time_token: str

    @staticmethod
    def of(data_dir: Path) -> Access:
        data_dir.mkdir(parents=True, exist_ok=True)
        return Access(
            api_token=_kept(data_dir / TOKEN_FILE),
            session_secret=_kept(data_dir / SECRET_FILE).encode(),
            one_time_token=secrets.token_urlsafe(32),
        )


def create_app(settings: Settings, *, demo: bool = False) -> FastAPI:
    """The service on these settings; with `demo`, Appium and the demo phone beside it."""
    security.check_bind(settings.host, settings.access_token.get_secret_value())
    access = Access.of(settings.data_dir)
    server = settings.server_config()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _running(app, settings, demo=demo):
            yield

    app = FastAPI(
        title="Artemis",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=api.OPENAPI_URL,
    )
    app.state.server = server
    app.state.memory = settings.memory
    app.state.one_time_token = access.one_time_token
    app.include_router(api.build_router())
    app.include_router(console.build_router())
    api.install(app, console.error_page)
    security.install(
        app,
        server=server,
        session_secret=access.session_secret,
        one_time_token=access.one_time_token,
        api_token=access.api_token,
    )
    return app


@asynccontextmanager
async def _running(app: FastAPI, settings: Settings, *, demo: bool) -> AsyncIterator[None]:
    clock, bus = SystemClock(), Bus()
    async with AsyncExitStack() as stack:
        stack.enter_context(DataDirLock(settings.data_dir))
        await migrate(settings.database)
        db = Database(settings.database)
        stack.push_async_callback(db.close)
        artifacts = FileArtifacts(settings.data_dir / "artifacts")
        await sweep(db, artifacts)
        stores = Stores(
            db=db,
            artifacts=artifacts,
            tasks=TaskRepository(db, bus.publish, clock),
            devices=DeviceRepository(db, clock),
        )
        worker = Worker(
            stores,
            settings,
            settings.models_config(gemini_key()),
            clock=clock,
            publish=bus.publish,
            own_origins=own_origins(settings),
        )
        app.state.service = TaskService(stores, worker, bus, settings.limits, clock)
        archive = app.state.archive = Archive(
            db,
            artifacts,
            settings.data_dir,
            settings.perception,
            bus.publish,
            clock,
            worker.background,
            worker.reader(),
            worker.writing.write_task,
        )
        await archive.tidy()
        app.state.queries = Queries(db, artifacts)
        app.state.artifacts = artifacts
        configured = settings.device_configs()
        if demo:
            configured = (*configured, await _demo_device(stack, settings))
        left = await worker.start(configured)
        for task in left:
            log.info("task_was_interrupted", task=task.task_id, resumes=settings.resume_interrupted)
        stack.push_async_callback(worker.stop)
        stack.callback(bus.close)
        yield


async def _demo_device(stack: AsyncExitStack, settings: Settings) -> DeviceConfig:
    if any(name == "demo" for name in settings.devices):
        raise ConfigurationError("[devices.demo] is the demo phone's own name", hint="rename it")
    demo = DemoStack(
        settings.data_dir,
        settings.appium_config(),
        node=settings.node,
        appium_port=settings.appium_port,
        demo_port=settings.demo_port,
        blocked_origins=own_origins(settings),
    )
    await stack.enter_async_context(demo)
    return demo.device.model_copy(update={"reset_body": {"seed": settings.demo_seed}})


def own_origins(settings: Settings) -> tuple[str, ...]:
    """Addresses of the console itself, which the phone's browser must not open."""
    hosts = {"127.0.0.1", "localhost", "[::1]", settings.host, *settings.allowed_hosts}
    return tuple(f"http://{host}:{settings.port}" for host in sorted(hosts))


def _kept(path: Path) -> str:
    """The secret in a file only its owner can read; made when it is missing."""
    if path.is_file() and (text := path.read_text().strip()):
        return text
    text = secrets.token_urlsafe(32)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as out:
        out.write(text)
    return text
