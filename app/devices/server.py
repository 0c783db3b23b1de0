"""The demo stack: an Appium server and the demo phone's pages, run and ended together."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import structlog
import uvicorn
from pydantic import SecretStr

from app.devices.appium_process import AppiumProcess
from app.devices.demo.app import create_demo_app
from app.devices.demo.apps import demo_apps
from app.devices.installation import (
    Program,
    find_appium,
    find_chromedriver,
    find_chromium,
    find_node,
    project_root,
)
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.errors import ConfigurationError

STOP_TIMEOUT = 5.0
"""Seconds the demo phone's open requests get at the end."""

PORT_FILE = "port"
"""Beside the phone's state: the port that it had last."""

log = structlog.get_logger(__name__)

__all__ = [
    "DemoPhone",
    "DemoStack",
    "Program",
    "find_appium",
    "find_chromedriver",
    "find_chromium",
    "find_node",
]


class _Server(uvicorn.Server):
    """Leaves the process's signals to whoever started the stack."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class DemoPhone:
    """Serves the demo phone's apps on a port of their own.

    A free port is kept for the next start: addresses in a task's records stay true.
    """

    def __init__(self, state_dir: Path, *, token: str, port: int = 0) -> None:
        self._state_dir = state_dir
        self._token = token
        self._port = port
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Raises ConfigurationError when the port is taken."""
        await asyncio.to_thread(self._state_dir.mkdir, parents=True, exist_ok=True)
        listener = await asyncio.to_thread(self._listen)
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            create_demo_app(self._state_dir, token=self._token),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=round(STOP_TIMEOUT),
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name="demo-phone")
        while not self._server.started:
            if self._task.done():
                await self._task
                raise ConfigurationError("The demo phone ended at its start.")
            await asyncio.sleep(0.01)

    def _listen(self) -> socket.socket:
        if self._port:
            try:
                return _bound(self._port)
            except OSError:
                raise ConfigurationError(
                    f"Port {self._port} is in use, so the demo phone cannot start there.",
                    hint="End what uses it, or set demo_port to 0.",
                ) from None
        kept = self._state_dir / PORT_FILE
        try:
            return _bound(int(kept.read_text()))
        except (OSError, ValueError, OverflowError):
            listener = _bound(0)
        kept.write_text(str(listener.getsockname()[1]))
        return listener

    async def close(self) -> None:
        server, task = self._server, self._task
        self._server = self._task = None
        if server is None or task is None:
            return
        server.should_exit = True
        _, pending = await asyncio.wait({task}, timeout=STOP_TIMEOUT + 1)
        if pending:
            task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(outcome, Exception):
            log.error("demo_phone_failed", error=str(outcome))


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        listener.close()
        raise
    return listener


class DemoStack:
    """`async with DemoStack(...) as stack:` gives `stack.device`, ready to be used."""

    def __init__(
        self,
        data_dir: Path,
        appium: AppiumConfig,
        *,
        node: str = "",
        root: Path | None = None,
        appium_port: int = 0,
        demo_port: int = 0,
        blocked_origins: tuple[str, ...] = (),
        device_name: str = "demo",
    ) -> None:
        self._folder = data_dir.resolve() / "demo"
        self._appium = appium
        self._node = node
        self._root = root or project_root()
        self._appium_port = appium_port
        self._blocked = blocked_origins
        self._name = device_name
        self._token = secrets.token_urlsafe(32)
        self._phone = DemoPhone(self._folder, token=self._token, port=demo_port)
        self._process: AppiumProcess | None = None

    async def start(self) -> DeviceConfig:
        """Raises ConfigurationError or DeviceUnreachable, with nothing left running."""
        self._process = AppiumProcess(
            await asyncio.to_thread(self._find_programs),
            str(self._root / "node_modules" / "appium" / "index.js"),
            self._root,
            self._folder.with_name("appium-tmp"),
            port=self._appium_port,
        )
        try:
            await self._phone.start()
            await self._process.start()
        except BaseException:
            await self.close()
            raise
        return self.device

    def _find_programs(self) -> str:
        """Node's path, after making sure that everything else is there too."""
        node = find_node(self._node)
        browser = find_chromium(self._appium.chromium)
        driver = find_chromedriver(self._appium.chromedriver, browser)
        for program in (node, find_appium(self._root, node.path), browser, driver):
            if not program.usable:
                raise ConfigurationError(program.problem, hint=program.fix)
        return node.path

    async def close(self) -> None:
        if self._process is not None:
            await self._process.close()
        await self._phone.close()

    async def __aenter__(self) -> DemoStack:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def appium_url(self) -> str:
        return self._process.url if self._process else ""

    @property
    def phone_url(self) -> str:
        return self._phone.url

    @property
    def restarts(self) -> int:
        """How often Appium had to be started again."""
        return self._process.restarts if self._process else 0

    @property
    def problem(self) -> str:
        """Why Appium is away; empty while it runs."""
        return self._process.problem if self._process else "not started"

    @property
    def device(self) -> DeviceConfig:
        """The demo phone as a device."""
        apps = demo_apps(self.phone_url, self._name)
        return DeviceConfig(
            name=self._name,
            platform=Platform.CHROMIUM,
            server_url=self.appium_url,
            apps=apps,
            home=apps["Launcher"],
            blocked_origins=self._blocked,
            reset_url=f"{self.phone_url}/{self._name}/reset",
            reset_token=SecretStr(self._token),
        )
