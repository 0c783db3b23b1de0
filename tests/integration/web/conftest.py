"""The real service on a free port, and a headless browser that is signed in to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.async_api import Browser, BrowserContext, async_playwright, expect

from app.devices.installation import find_chromium
from app.main import TOKEN_FILE, create_app
from app.settings import Settings

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


@dataclass
class House:
    """A running service."""

    app: FastAPI
    port: int
    data_dir: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.data_dir / TOKEN_FILE).read_text()

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@asynccontextmanager
async def serving(data_dir: Path, port: int = 0, **settings: Any) -> AsyncIterator[House]:
    """The service until the block ends, stopped as a signal would stop it."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    port = listener.getsockname()[1]
    app = create_app(Settings(data_dir=data_dir, port=port, log_level="error", **settings))
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if task.done():
            task.result()
        await asyncio.sleep(0.02)
    try:
        yield House(app, port, data_dir)
    finally:
        server.should_exit = True
        await task
        listener.close()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with serving(tmp_path / "data") as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    """What a page will show may take long on a busy machine."""
    expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def chromium() -> str:
    browser = find_chromium()
    if not browser.usable:
        pytest.skip(f"{browser.problem} {browser.fix}")
    return browser.path


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


SignIn = Callable[[House], Awaitable[BrowserContext]]


@pytest.fixture
async def signed_in(browser: Browser) -> SignIn:
    """A browser that opened the one-time address."""

    async def sign_in(house: House) -> BrowserContext:
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        page = await context.new_page()
        await page.goto(f"{house.url}/open?token={house.app.state.one_time_token}")
        assert page.url == f"{house.url}/"
        await page.close()
        return context

    return sign_in
