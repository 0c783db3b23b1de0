"""A running `artemis serve --demo` as a child process, and everything a test asks of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from app.domain.events import StoredEvent
from app.domain.tasks import ModelCallRecord, StepRecord, Task

ARTEMIS = (str(Path(sys.executable).with_name("artemis")),)
START_DEADLINE = 180.0
STOP_DEADLINE = 40.0
T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def plain_environment() -> dict[str, str]:
    """Ours without any setting of Artemis, so that only what a test sets counts."""
    return {k: v for k, v in os.environ.items() if not k.startswith("ARTEMIS_")}


def until(what: str, look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """The first truthy look; fails with `what` when there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Server:
    """One data directory and the process that serves it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.data_dir = folder / "data"
        self.address = f"http://127.0.0.1:{free_port()}"
        self.appium_url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        return plain_environment() | {
            "ARTEMIS_DATA_DIR": str(self.data_dir),
            "ARTEMIS_PORT": self.address.rpartition(":")[2],
            "ARTEMIS_APPIUM_PORT": self.appium_url.rpartition(":")[2],
            "ARTEMIS_DEMO_SEED": str(self.seed),
            "ARTEMIS_LOG_LEVEL": "warning",
            # A stopped server leaves the pictures not read yet to the next one.
            "ARTEMIS_OCR__FLUSH": "1",
        }

    @property
    def token(self) -> str:
        return (self.data_dir / "token").read_text().strip()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    # --- life ---------------------------------------------------------------------------

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*ARTEMIS, "serve", "--demo"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until("the server answers", self._answers, START_DEADLINE)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()[-3000:]}"
        try:
            return httpx2.get(f"{self.address}/readyz", timeout=2, trust_env=False).is_success
        except httpx2.HTTPError:
            return False

    def kill(self) -> None:
        """The process dies without a word, as in a power cut."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """The process is asked to end; gives its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            return process.wait(STOP_DEADLINE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def restart(self) -> None:
        self.stop()
        self.start()

    # --- commands -----------------------------------------------------------------------

    def command(
        self, *words: str, seconds: float = 120.0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """`artemis …` as a person types it; `more` goes into its environment."""
        return subprocess.run(
            [*ARTEMIS, *words],
            cwd=self.folder,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    @contextlib.contextmanager
    def begin(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """`artemis …` that goes on while the block runs."""
        with subprocess.Popen(
            [*ARTEMIS, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, goal: str, *options: str, device: str = "demo") -> dict[str, Any]:
        """`artemis run GOAL --device … --json`, its last line parsed."""
        done = self.command("run", goal, "--device", device, "--json", *options, seconds=600)
        assert done.stdout.strip(), done.stderr[-3000:]
        document: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        document["exit_code"] = done.returncode
        return document

    def submit(self, goal: str, **body: Any) -> str:
        """Submits a task and returns at once with its id."""
        task = self.post("/tasks", {"goal": goal, "device": "demo", **body})
        return str(task["task_id"])

    # --- the REST API -------------------------------------------------------------------

    def ask(self, method: str, path: str, **options: Any) -> Any:
        reply = httpx2.request(
            method,
            f"{self.address}/api/v1{path}",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=70,
            trust_env=False,
            **options,
        )
        assert reply.is_success, f"{method} {path}: {reply.status_code} {reply.text[:500]}"
        return reply.json() if reply.content else None

    def get(self, path: str, **params: Any) -> Any:
        return self.ask("GET", path, params=params)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, json=body)

    def task(self, task_id: str) -> Task:
        return Task.model_validate(self.get(f"/tasks/{task_id}"))

    def ended(self, task_id: str, seconds: float = 240.0) -> Task:
        """The task once it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            task = Task.model_validate(self.get(f"/tasks/{task_id}", wait=10))
            if task.state.ended:
                return task
        raise AssertionError(f"{task_id} is still {task.state} ({task.reason})")

    def steps(self, task_id: str) -> list[StepRecord]:
        """All steps, with their element lists."""
        count = self.task(task_id).steps
        return [
            StepRecord.model_validate(self.get(f"/tasks/{task_id}/steps/{n}"))
            for n in range(1, count + 1)
        ]

    def events(self, task_id: str) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        while True:
            after = found[-1].seq if found else 0
            page = self.get(f"/tasks/{task_id}/events", after=after, limit=1000)
            if not page["events"]:
                return found
            found += [StoredEvent.model_validate(e) for e in page["events"]]

    def calls(self, task_id: str) -> list[ModelCallRecord]:
        page = self.get(f"/tasks/{task_id}/calls", limit=1000)
        return [ModelCallRecord.model_validate(c) for c in page["calls"]]

    def phone_state(self) -> dict[str, Any]:
        """What the demo phone keeps."""
        text = (self.data_dir / "demo" / "demo.json").read_text()
        state: dict[str, Any] = json.loads(text)
        return state

    # --- processes ----------------------------------------------------------------------

    def helpers(self) -> dict[int, str]:
        """Appium, drivers and browsers that were started for this data directory."""
        return processes_of(self.data_dir / "appium-tmp")


def processes_of(temp: Path) -> dict[int, str]:
    """Live processes whose temporary folder this is, with what they run."""
    mark = f"TMPDIR={temp.resolve()}".encode()
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if words.strip():
                    found[int(entry.name)] = words
    return found


@contextlib.contextmanager
def serving(folder: Path, seed: int) -> Iterator[Server]:
    """A server for as long as the block runs; nothing of it is left afterwards."""
    server = Server(folder, seed)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        for pid in server.helpers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
