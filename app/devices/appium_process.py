"""Keeps one Appium server running: starts it, waits for it, starts it again, ends all of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from pathlib import Path

import structlog

from app.devices.processes import browsers_below, end_browser, end_groups_of
from app.errors import ConfigurationError, DeviceUnreachable

START_TIMEOUT = 60.0
"""Seconds until the server must answer; a cold disk makes Node slow."""
STOP_TIMEOUT = 5.0
MAX_RESTARTS = 5
"""In a row; a server that stayed up for STEADY seconds starts the count again."""
STEADY = 60.0
FIRST_DELAY, MAX_DELAY = 0.5, 15.0
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.I)

log = structlog.get_logger(__name__)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class AppiumProcess:
    """Owns the process group; `problem` says why the server is away, empty while it runs."""

    def __init__(self, node: str, script: str, home: Path, temp: Path, *, port: int = 0) -> None:
        self._node = node
        self._script = script
        self._home = home
        self._temp = temp
        self._port = port
        self._process: Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._words: deque[str] = deque(maxlen=20)
        self.restarts = 0
        self.problem = "not started"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Returns when the server answers; raises DeviceUnreachable or ConfigurationError."""
        await asyncio.to_thread(self._wipe)
        if self._port and await asyncio.to_thread(_stays_in_use, self._port):
            raise ConfigurationError(
                f"Port {self._port} is in use, so Appium cannot start there.",
                hint="End what uses it, or set appium_port to 0.",
            )
        self._port = self._port or free_port()
        try:
            await self._launch()
        except BaseException:
            await self._end()
            raise
        self._watch = asyncio.create_task(self._keep_running(), name="appium-watch")

    async def close(self) -> None:
        """Ends the server with every driver and browser it started."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        await self._end()
        self.problem = "stopped"

    # --- inside ----------------------------------------------------------------------------

    def _wipe(self) -> None:
        """Nothing of it outlives the server: profiles, and all processes of one that was killed."""
        if groups := end_groups_of(self._temp):
            log.warning("orphans_ended", groups=groups)
        for pid, profile in browsers_below(self._temp):
            end_browser(pid, profile)
        shutil.rmtree(self._temp, ignore_errors=True)
        self._temp.mkdir(parents=True, exist_ok=True)

    def _environment(self) -> dict[str, str]:
        """Ours without anything secret: no driver or browser needs a key."""
        plain = {k: v for k, v in os.environ.items() if not _SECRET_NAME.search(k)}
        return plain | {"APPIUM_HOME": str(self._home), "TMPDIR": str(self._temp)}

    async def _launch(self) -> None:
        # At log level info Appium writes down every text that is typed.
        flags = [
            "--address",
            "127.0.0.1",
            "--port",
            str(self._port),
            "--log-no-colors",
            "--log-level",
            "error",
            "--allow-insecure",
            "*:session_discovery",
        ]
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._node,
                self._script,
                "server",
                *flags,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environment(),
                cwd=self._home,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigurationError(f"Node.js does not start: {error.strerror}.") from None
        self._reader = asyncio.create_task(self._read(self._process), name="appium-output")
        await self._wait_until_ready(self._process)
        self.problem = ""
        log.info("appium_ready", url=self.url, pid=self._process.pid)

    async def _read(self, process: Process) -> None:
        """Keeps the last lines; a full pipe would stop the server."""
        assert process.stdout is not None
        while chunk := await process.stdout.read(4096):
            lines = chunk.decode("utf-8", "replace").splitlines()
            self._words.extend(line.strip()[:300] for line in lines if line.strip())

    async def _wait_until_ready(self, process: Process) -> None:
        deadline = asyncio.get_running_loop().time() + START_TIMEOUT
        while asyncio.get_running_loop().time() < deadline:
            if process.returncode is not None:
                await asyncio.sleep(0)
                words = " ".join(self._words)[-400:]
                raise DeviceUnreachable(f"Appium ended at its start: {words or 'it said nothing'}")
            if await self._is_ready():
                return
            await asyncio.sleep(0.1)
        raise DeviceUnreachable(f"Appium did not answer within {START_TIMEOUT:g} s.")

    async def _is_ready(self) -> bool:
        """GET /status, without a client library: the answer is one small JSON object."""
        try:
            async with asyncio.timeout(2.0):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    writer.write(b"GET /status HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                    await writer.drain()
                    answer = await reader.read(65_536)
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False
        body = answer.partition(b"\r\n\r\n")[2]
        try:
            return bool(json.loads(body)["value"]["ready"])
        except (ValueError, KeyError, TypeError):
            return False

    async def _keep_running(self) -> None:
        loop = asyncio.get_running_loop()
        in_a_row = 0
        while self._process is not None:
            since = loop.time()
            status = await self._process.wait()
            in_a_row = 1 if loop.time() - since > STEADY else in_a_row + 1
            words = " ".join(self._words)[-300:]
            self.problem = f"Appium ended with status {status}: {words}".rstrip(": ")
            log.warning("appium_ended", status=status, words=words, in_a_row=in_a_row)
            await self._end()
            if in_a_row > MAX_RESTARTS:
                self.problem = f"Appium ended {in_a_row} times in a row: {words}".rstrip(": ")
                log.error("appium_given_up", times=in_a_row)
                return
            if not await self._restart(in_a_row):
                return

    async def _restart(self, in_a_row: int) -> bool:
        await asyncio.sleep(min(FIRST_DELAY * 2 ** (in_a_row - 1), MAX_DELAY))
        await asyncio.to_thread(self._wipe)
        self.restarts += 1
        try:
            await self._launch()
        except (DeviceUnreachable, ConfigurationError) as error:
            self.problem = error.message
            if self._process is None:
                log.error("appium_not_restarted", reason=error.message)
                return False
        return True

    async def _end(self) -> None:
        """Ends the whole process group: a killed Appium leaves drivers and browsers alive."""
        process, self._process = self._process, None
        if process is None:
            return
        _signal_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                await process.wait()
        except TimeoutError:
            log.warning("appium_killed", pid=process.pid)
        _signal_group(process.pid, signal.SIGKILL)
        await process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def _stays_in_use(port: int) -> bool:
    """A process that was just killed may hold its port a moment longer."""
    for _ in range(10):
        if not _in_use(port):
            return False
        time.sleep(0.1)
    return True


def _in_use(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
