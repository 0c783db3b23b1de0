"""A whole task on a store of its own, watched at its ports."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from app.agent.control import Control
from app.agent.run import Ports, Rules, Run
from app.agent.runner import build_run, run_task
from app.bench.walk import Walk, WalkClock, WalkDevice, WalkModel
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, PerceptionConfig, Platform
from app.domain.events import Event, FallbackUsed, ModelCalled
from app.domain.memory import SearchEntry, ZoneTokens
from app.domain.messages import Image, Message, ModelReply, ModelRequest, Role
from app.domain.ports import Recorder
from app.domain.tasks import Limits, TaskHistory, TaskSpec, TaskState
from app.errors import ArtemisError
from app.llm.offline.model import answer
from app.memory.background import WriterPorts
from app.memory.compaction import FOLDED
from app.memory.zones import Stable
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from app.tasks.background import BackgroundWork
from app.tasks.bus import Bus
from app.tasks.writers import TaskWriters

HELD = 20.0
"""Seconds that a background answer is held back before the operator counts as waiting for it."""
THINKS = 0.03
"""Seconds that the operator's model takes, during which the background goes on."""
FLUSH = 60.0
"""Seconds for background work after the walk."""


class Sections(Protocol):
    """The sections of the settings that a run uses."""

    @property
    def agent(self) -> AgentConfig: ...

    @property
    def memory(self) -> MemoryConfig: ...

    @property
    def perception(self) -> PerceptionConfig: ...


class Prompted(NamedTuple):
    """The first request of one turn."""

    zones: ZoneTokens
    shared: int
    images: int
    compacted: bool
    folded: bool

    @property
    def total(self) -> int:
        return self.zones.total


class WatchedModel:
    """The walk's model; background roles are answered only while the operator's model is asked.

    So an operator that waited for background work would wait for itself, and is found out.
    """

    def __init__(self, walk: Walk) -> None:
        self._inner = WalkModel(walk)
        self._asked = asyncio.Event()
        self._released = False
        self.waits = 0
        self.images: list[int] = []
        """Pictures in each request of the operator."""
        self.on_request: Callable[[ModelRequest], Awaitable[None]] | None = None
        """Sees each request of the operator before it is answered."""
        self.last_text = ""

    async def generate(self, request: ModelRequest) -> ModelReply:
        if request.role in (Role.SUMMARIZER, Role.CHUNK_WRITER):
            await self._hold()
            return ModelReply(message=answer(request), provider="walk", model="walk", offline=True)
        self._asked.set()
        await asyncio.sleep(THINKS)
        if not self._released:
            self._asked.clear()
        if request.role is Role.OPERATOR:
            parts = [p for m in request.messages for p in m.parts]
            self.images.append(sum(isinstance(p, Image) for p in parts))
            self.last_text = "\n".join(m.plain() for m in request.messages)
            if self.on_request is not None:
                await self.on_request(request)
        return await self._inner.generate(request)

    def release(self) -> None:
        """Answers whatever is asked from now on."""
        self._released = True
        self._asked.set()

    async def _hold(self) -> None:
        try:
            async with asyncio.timeout(HELD):
                await self._asked.wait()
        except TimeoutError:
            self.waits += 1


class Rebuilds:
    """Compares what a request holds of S, F and A with what a restarted process would build."""

    def __init__(self, steps: Collection[int], history: Callable[[], Awaitable[Run]]) -> None:
        self._steps = frozenset(steps)
        self._history = history
        self.compared = 0
        self.differing: list[int] = []
        """Steps at which a rebuild gave other bytes."""

    async def look(self, request: ModelRequest) -> None:
        number, tail = request.step_number, request.messages[-1]
        if number not in self._steps or not tail.text.startswith("# NOW "):
            return
        again = (await self._history()).transcript
        self.compared += 1
        sent = (Stable(request.system, request.tools), request.messages[:-1])
        if _written(*sent) != _written(again.stable, again.history):
            self.differing.append(number)


def _written(stable: Stable, messages: Sequence[Message]) -> tuple[str, ...]:
    return (stable.to_json(), *(m.model_dump_json() for m in messages))


class WatchedRecorder:
    """A recorder that keeps the figures of prompts, and counts what was second best."""

    def __init__(self, inner: Recorder, model: WatchedModel) -> None:
        self._inner = inner
        self._model = model
        self.prompts: list[Prompted] = []
        self.fallbacks: Tally[str] = Tally()

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        for event in events:
            if isinstance(event, FallbackUsed):
                self.fallbacks[event.kind] += 1
            if isinstance(event, ModelCalled) and (figures := event.call.figures) is not None:
                self.prompts.append(
                    Prompted(
                        zones=figures.zones,
                        shared=figures.shared_prefix,
                        images=self._model.images[-1],
                        compacted=figures.compacted,
                        folded=any(d.why == FOLDED for d in figures.departures),
                    )
                )
        await self._inner.record(*events, index=index)

    async def history(self) -> TaskHistory:
        return await self._inner.history()


class Stand:
    """One walk under way; enter it, walk on, and ask what there was."""

    def __init__(
        self, settings: Sections, walk: Walk, folder: Path, *, rebuild_at: Collection[int] = ()
    ) -> None:
        self._settings = settings
        self.rebuilds = Rebuilds(rebuild_at, self.rebuilt)
        self._walk = walk
        self._folder = folder
        self._db = Database(f"sqlite:///{folder / 'bench.db'}")
        self._artifacts = FileArtifacts(folder / "artifacts")
        self._background = BackgroundWork()
        self.model = WatchedModel(walk)
        self.clock = WalkClock()

    async def __aenter__(self) -> Self:
        await migrate(f"sqlite:///{self._folder / 'bench.db'}")
        limits = Limits(steps=min(20_000, self._walk.screens + 5), seconds=86_400)
        spec = TaskSpec(goal=self._walk.goal, device="walk", limits=limits)
        bus = Bus()
        tasks = TaskRepository(self._db, bus.publish, self.clock)
        task = (await tasks.create(str(uuid.uuid4()), spec)).task
        await tasks.claim("walk")
        inner = TaskRecorder(self._db, self._artifacts, task.task_id, bus.publish, self.clock)
        self.recorder = WatchedRecorder(inner, self.model)
        self.search = Search(self._db, task.task_id)
        self.ports = Ports(
            device=WalkDevice(self._walk, self.clock),
            model=self.model,
            recorder=self.recorder,
            artifacts=self._artifacts,
            search=self.search,
            background=self._background,
            clock=self.clock,
            new_id=lambda: str(uuid.uuid4()),
        )
        device = DeviceConfig(name="walk", platform=Platform.REPLAY, server_url="")
        settings = self._settings
        self.rules = Rules(
            settings.agent, settings.memory, settings.perception, device, offline=True
        )
        self._history = await self.recorder.history()
        self.run = build_run(self._history, self.ports, self.rules, Control())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._background.drain(FLUSH)
        await self._db.close()

    async def rebuilt(self) -> Run:
        """The run as a process that was started now would take it up."""
        return build_run(await self.recorder.history(), self.ports, self.rules, Control())

    async def walk_on(self) -> None:
        """Runs the task to its end, then lets the background finish."""
        ports = WriterPorts(
            self.model, self.recorder, self.ports.artifacts, self.clock, self.ports.new_id
        )
        writers = TaskWriters(
            ports,
            self.rules.memory,
            self._background,
            self._db,
            self._artifacts,
            self._history,
            transcript=self.run.transcript,
        )
        self.run.after_step, self.run.background_state = writers.take, writers.state
        self.model.on_request = self.rebuilds.look
        end = await run_task(self.run, self._history)
        # The last step has no turn after it.
        writers.take(self.run.recent[-1])
        self.model.release()
        await writers.flush()
        if end.state is not TaskState.COMPLETED:
            raise ArtemisError(f"the walk did not end well: {end.reason}")
