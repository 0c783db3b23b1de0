"""Serves the application inside this process, for `serve`, `demo` and commands without a server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI

from app.errors import ConfigurationError
from app.main import create_app
from app.settings import Settings

START_DEADLINE = 90.0
"""Seconds for the application to be ready, Appium included."""
STOP_DEADLINE = 20


class Hosted(NamedTuple):
    """A server in this process."""

    settings: Settings
    """With the real port."""
    address: str
    one_time_address: str
    ended: asyncio.Task[None]


class _Server(uvicorn.Server):
    """Leaves the process's signals to the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def hosted(settings: Settings, *, demo: bool) -> AsyncIterator[Hosted]:
    """Serves until the block is left; raises what kept the application from starting."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(_listen(settings))
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        app = create_app(settings, demo=demo)
        await stack.enter_async_context(_started(app))
        serving = await stack.enter_async_context(_served(app, listener))
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{settings.port}"
        yield Hosted(settings, address, f"{address}/open?token={app.state.one_time_token}", serving)


@asynccontextmanager
async def _started(app: FastAPI) -> AsyncIterator[None]:
    """Runs the application's life here: uvicorn would end the process where its start fails."""
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(START_DEADLINE):
                await stack.enter_async_context(app.router.lifespan_context(app))
        except TimeoutError:
            raise ConfigurationError(f"not ready within {START_DEADLINE:.0f} s") from None
        yield


@asynccontextmanager
async def _served(app: FastAPI, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    server = _Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=STOP_DEADLINE,
            ws_ping_interval=20,
            ws_ping_timeout=20,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="server")
    try:
        # uvicorn tells nobody when it is ready; it can only be asked.
        while not server.started and not serving.done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        yield serving
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"{settings.host}:{settings.port} cannot be used: {error.strerror}",
            hint="stop what listens there, or set ARTEMIS_PORT",
        ) from None
    return listener
