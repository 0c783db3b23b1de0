"""Charges the time of a run to the parts of its steps, from what is seen at the ports.

Between two calls of a port the agent works by itself; which call came before says at what.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from app.bench.walk import Walk, WalkClock, WalkDevice
from app.domain.actions import DeviceAction, Receipt
from app.domain.events import Event, TurnStarted
from app.domain.memory import SearchEntry
from app.domain.messages import ModelReply, ModelRequest
from app.domain.ports import Artifacts, Model, Recorder
from app.domain.screens import ArtifactRef, DeviceView
from app.domain.tasks import TaskHistory
from app.storage.db import Database

T = TypeVar("T")


class Part(StrEnum):
    """Where a step's time goes."""

    PERCEIVE = "perceive"
    """Parsing and hashing looks at the device, the thread they run in included."""
    PROMPT = "prompt"
    """Building the operator's prompt and its request."""
    RECORD = "record"
    """The recorder: events, rows and search texts in the store."""
    ARTIFACTS = "artifacts"
    """Writing and reading artifacts."""
    REST = "rest"
    """Everything else of the agent: graph, checks, verdict, world, transcript."""
    OUTSIDE = "outside"
    """The stand-ins for device, model and clock: not Artemis, counted nowhere."""


class Cost(NamedTuple):
    """Seconds of wall time, and of CPU over all threads."""

    wall: float = 0.0
    cpu: float = 0.0

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.cpu - other.cpu)

    def plus(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)

    @staticmethod
    def now() -> Cost:
        return Cost(time.perf_counter(), time.process_time())


class StepCost(NamedTuple):
    """What one step cost: from its observation's record to the next one's."""

    parts: dict[Part, Cost]
    transactions: int

    @property
    def total(self) -> Cost:
        """All parts but the outside."""
        total = Cost()
        for part, cost in self.parts.items():
            if part is not Part.OUTSIDE:
                total = total.plus(cost)
        return total


class Meter:
    """Cuts a run into steps and parts."""

    def __init__(self) -> None:
        self.steps: list[StepCost] = []
        self.transactions = 0
        """Counted by MeteredDatabase since the last step began."""
        self._parts: dict[Part, Cost] = {}
        self._between = Part.REST
        self._since = Cost.now()
        self._begun = False

    async def within(self, part: Part, work: Awaitable[T], then: Part = Part.REST) -> T:
        """Charges a port's call; `then` is what the agent does after it."""
        self._charge(self._between)
        try:
            return await work
        finally:
            self._charge(part)
            self._between = then

    @property
    def between(self) -> Part:
        """What the agent is doing."""
        return self._between

    def begin_step(self) -> None:
        """Ends the step under way, if any, and begins the next."""
        self._charge(self._between)
        if self._begun:
            self.steps.append(StepCost(self._parts, self.transactions))
        self._begun, self._parts, self.transactions = True, {}, 0

    def _charge(self, part: Part) -> None:
        now = Cost.now()
        self._parts[part] = self._parts.get(part, Cost()).plus(now - self._since)
        self._since = now


class MeteredDatabase(Database):
    """Counts write transactions where they begin."""

    def __init__(self, url: str, meter: Meter) -> None:
        super().__init__(url)
        self._meter = meter

    async def write(
        self, work: Callable[[Any], T], on_commit: Callable[[T], None] | None = None
    ) -> T:
        self._meter.transactions += 1
        return await super().write(work, on_commit)


class MeteredRecorder:
    """A Recorder; the record of an observation begins a step."""

    def __init__(self, inner: Recorder, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        then = Part.REST
        if any(isinstance(event, TurnStarted) for event in events):
            self._meter.begin_step()
            then = Part.PROMPT
        await self._meter.within(Part.RECORD, self._inner.record(*events, index=index), then)

    async def history(self) -> TaskHistory:
        return await self._inner.history()


class MeteredArtifacts:
    """An artifact store."""

    def __init__(self, inner: Artifacts, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        return await self._within(self._inner.put(data, media_type))

    async def get(self, ref: ArtifactRef) -> bytes:
        return await self._within(self._inner.get(ref))

    async def _within(self, work: Awaitable[T]) -> T:
        # A prompt is built around its artifacts; a look has been perceived before they are put.
        then = Part.PROMPT if self._meter.between is Part.PROMPT else Part.REST
        return await self._meter.within(Part.ARTIFACTS, work, then)


class MeteredModel:
    """A model, whose time is not Artemis'."""

    def __init__(self, inner: Model, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    async def generate(self, request: ModelRequest) -> ModelReply:
        return await self._meter.within(Part.OUTSIDE, self._inner.generate(request))


class MeteredWalk(WalkDevice):
    """The walk's device, whose time is not Artemis'."""

    def __init__(self, walk: Walk, clock: WalkClock, meter: Meter) -> None:
        super().__init__(walk, clock)
        self._meter = meter

    async def observe(self) -> DeviceView:
        return await self._meter.within(Part.OUTSIDE, super().observe(), Part.PERCEIVE)

    async def perform(self, action: DeviceAction) -> Receipt:
        return await self._meter.within(Part.OUTSIDE, super().perform(action))
