"""One arm of the walk: a whole Artemis on a store of its own, against servers on sockets."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from app.bench.servers.arms import Arm, Plan
from app.bench.servers.process import Addresses
from app.bench.walk import PACKAGE
from app.domain.config import DeviceConfig, ModelsConfig, Platform
from app.domain.events import (
    BackgroundChanged,
    Compacted,
    FallbackUsed,
    ModelCalled,
    StoredEvent,
    TextRefused,
)
from app.domain.messages import Finish, Role
from app.domain.tasks import Limits, Task, TaskSpec, TaskState
from app.domain.values import Value
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.devices import DeviceRepository
from app.storage.migrations import migrate
from app.storage.queries import Queries
from app.storage.repositories import TaskRepository
from app.tasks.bus import Bus
from app.tasks.clock import SystemClock
from app.tasks.service import TaskService
from app.tasks.worker import Stores, Worker

OpenWorker = Callable[[Stores, ModelsConfig, Bus], Worker]
"""A worker on these, with the settings of the command."""
WRITERS = {Role.SUMMARIZER.value: "summaries", Role.CHUNK_WRITER.value: "chunks"}
STORE = "bench.db"
TEXTS = {"ok", *(finish.value for finish in Finish)}
"""Outcomes of calls that got an answer."""
LONG_POLL = 60.0
LAST_TEXTS = 600.0
"""Seconds in which the last background call has ended, whatever the settings are."""
PAGE = 5_000
"""Events read at once."""


class Kept(Value):
    """What the store says of one arm's task after its end."""

    ended: str
    """How the task ended where it was not completed; else empty."""
    steps: int
    first_call_p95: int
    first_call_max: int
    compactions: int
    summaries: dict[str, int]
    """Steps by the state of their summary."""
    chunks: dict[str, int]
    """Closed chunks by the state of their capsule."""
    calls: dict[str, dict[str, int]]
    """Background calls by kind of work and outcome."""
    attempts: int
    """Of the background calls that got an answer."""
    background: dict[str, tuple[str, ...]]
    """States that background work moved to, by kind, in order."""
    refusals: dict[str, int]
    """Texts that a machine check refused, by its rule."""
    fallbacks: dict[str, int]
    waits: int
    """As the prompts' own figures say."""


class ArmRun(NamedTuple):
    """What one arm is run with."""

    arm: Arm
    addresses: Addresses
    folder: Path
    plan: Plan
    models: ModelsConfig
    open_worker: OpenWorker


async def walk(given: ArmRun) -> Kept:
    """The walk by the product's own path: service, worker, runner, writers, driver, adapter."""
    clock, bus = SystemClock(), Bus()
    db = Database(f"sqlite:///{given.folder / STORE}")
    artifacts = FileArtifacts(given.folder / "artifacts")
    tasks = TaskRepository(db, bus.publish, clock)
    stores = Stores(db, artifacts, tasks, DeviceRepository(db, clock))
    # A key for each arm: calls that share an account share a lane.
    own = {"gemini_api_key": SecretStr(f"bench-{given.arm.value}")}
    models = given.models.model_copy(update={**own, "gemini_base_url": given.addresses.model})
    worker = given.open_worker(stores, models, bus)
    service = TaskService(stores, worker, bus, Limits(), clock)
    device = DeviceConfig(
        name=given.arm.value,
        platform=Platform.ANDROID,
        server_url=given.addresses.phone,
        apps={"Records": PACKAGE},
    )
    try:
        await worker.start((device,))
        task = await _ended(service, given)
        # The writers finish within their own bounds; a call cut off by the end would count nowhere.
        await worker.background.flush(LAST_TEXTS)
        return await _kept(Queries(db, artifacts), task)
    finally:
        await worker.stop()
        bus.close()
        await db.close()


def _lay_out(folders: Sequence[Path]) -> None:
    for folder in folders:
        folder.mkdir()


async def _ended(service: TaskService, given: ArmRun) -> Task:
    limits = Limits(steps=given.plan.screens + 5, seconds=86_400, tokens=10**9, cost_usd=1e6)
    goal = given.plan.walk.goal
    task = await service.submit(TaskSpec(goal=goal, device=given.arm.value, limits=limits))
    while not task.state.ended:
        task = await service.wait(task.task_id, LONG_POLL)
    return task


async def _kept(queries: Queries, task: Task) -> Kept:
    stored: list[StoredEvent] = []
    while page := await queries.tasks.events(
        task.task_id, after=stored[-1].seq if stored else 0, limit=PAGE
    ):
        stored += page
    events = [s.event for s in stored]
    calls = [e.call for e in events if isinstance(e, ModelCalled)]
    figures = [c.figures for c in calls if c.figures is not None]
    totals = sorted(f.zones.total for f in figures)
    chunks = await queries.memory.chunks(task.task_id)
    counts = await queries.memory.counts(task.task_id)
    refused = [r.rule for e in events if isinstance(e, TextRefused) for r in e.refusals]
    moves = [e for e in events if isinstance(e, BackgroundChanged)]
    return Kept(
        ended="" if task.state is TaskState.COMPLETED else f"{task.state.value}: {task.reason}",
        steps=task.steps,
        first_call_p95=totals[min(len(totals) - 1, int(0.95 * len(totals)))] if totals else 0,
        first_call_max=totals[-1] if totals else 0,
        compactions=sum(isinstance(e, Compacted) for e in events),
        summaries={state.value: count for state, count in counts.items()},
        chunks=dict(Counter(chunk.state.value for chunk in chunks)),
        calls={
            kind: dict(Counter(c.outcome for c in calls if c.role == role))
            for role, kind in WRITERS.items()
        },
        attempts=sum(c.attempts for c in calls if c.role in WRITERS and c.outcome in TEXTS),
        background={
            kind: tuple(m.state for m in moves if m.kind == kind) for kind in WRITERS.values()
        },
        refusals=dict(Counter(refused)),
        fallbacks=dict(Counter(e.kind for e in events if isinstance(e, FallbackUsed))),
        waits=sum(f.waits for f in figures),
    )


async def walk_all(runs: Sequence[ArmRun]) -> dict[Arm, Kept]:
    """All arms in one process; the servers let one at a time go on."""
    await asyncio.to_thread(_lay_out, [run.folder for run in runs])
    first, *others = [run.folder / STORE for run in runs]
    await migrate(f"sqlite:///{first}")
    for other in others:
        await asyncio.to_thread(shutil.copy, first, other)
    async with asyncio.TaskGroup() as group:
        jobs = {run.arm: group.create_task(walk(run)) for run in runs}
    return {arm: job.result() for arm, job in jobs.items()}
