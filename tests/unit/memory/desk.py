"""The outside of background writing, in memory, for tests."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from app.domain.events import Event
from app.domain.memory import SearchEntry
from app.domain.ports import Model
from app.domain.screens import ArtifactRef
from app.domain.tasks import TaskHistory
from app.errors import NotFound
from app.memory.background import WriterPorts

E = TypeVar("E")


class Artifacts:
    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        name = hashlib.sha256(data).hexdigest()
        self.data[name] = data
        return ArtifactRef(sha256=name, media_type=media_type, size=len(data))

    async def get(self, ref: ArtifactRef) -> bytes:
        if ref.sha256 not in self.data:
            raise NotFound
        return self.data[ref.sha256]


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.index: list[SearchEntry] = []

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        self.events += events
        self.index += index

    async def history(self) -> TaskHistory:
        raise NotImplementedError

    def of(self, kind: type[E]) -> list[E]:
        return [e for e in self.events if isinstance(e, kind)]


class Clock:
    """Real order, no real waiting: a sleep lets the others go on and moves the time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


class Background:
    """Keeps the work that was submitted, so that a test can wait for it."""

    def __init__(self) -> None:
        self.jobs: list[asyncio.Task[None]] = []

    def submit(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await work()

        self.jobs.append(asyncio.create_task(run(), name=name))

    async def done(self, seconds: float = 20.0) -> None:
        """Until nothing runs any more; what went wrong is raised."""
        async with asyncio.timeout(seconds):
            while waiting := [job for job in self.jobs if not job.done()]:
                await asyncio.wait(waiting)
        for job in self.jobs:
            job.result()


def ports(model: Model) -> tuple[WriterPorts, Recorder, Artifacts, Clock]:
    recorder, artifacts, clock = Recorder(), Artifacts(), Clock()
    numbers = itertools.count(1)
    made = WriterPorts(model, recorder, artifacts, clock, lambda: f"call{next(numbers)}")
    return made, recorder, artifacts, clock
