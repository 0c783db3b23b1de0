"""`artemis bench step`: the own cost of a step, with no model and no device."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from statistics import median, quantiles
from typing import Protocol

from app.agent.control import Control
from app.agent.run import Ports, Rules
from app.agent.runner import build_run, run_task
from app.bench.meter import (
    Cost,
    Meter,
    MeteredArtifacts,
    MeteredDatabase,
    MeteredModel,
    MeteredRecorder,
    MeteredWalk,
    Part,
    StepCost,
)
from app.bench.walk import Walk, WalkClock, WalkModel, screenshot
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, PerceptionConfig, Platform
from app.domain.tasks import Limits, TaskSpec, TaskState
from app.domain.values import Value
from app.errors import ArtemisError, InvalidInput
from app.perception import picture
from app.storage.artifacts import FileArtifacts
from app.storage.migrations import migrate
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from app.tasks.background import BackgroundWork
from app.tasks.bus import Bus

MAX_TRANSACTIONS = 3
"""Write transactions that a step may take."""
WARM_UP = 5
"""First steps, left out: imports and caches."""
PICTURES = 12
MAX_STEPS = 10_000
PARTS = (Part.PERCEIVE, Part.PROMPT, Part.RECORD, Part.ARTIFACTS, Part.REST)


class Sections(Protocol):
    """The sections of the settings that a run uses."""

    @property
    def agent(self) -> AgentConfig: ...

    @property
    def memory(self) -> MemoryConfig: ...

    @property
    def perception(self) -> PerceptionConfig: ...


class Spread(Value):
    """Milliseconds over all steps."""

    median: float
    p95: float


class Figures(Value):
    """What a part costs."""

    wall_ms: Spread
    cpu_ms: Spread


class Report(Value):
    """The benchmark's answer."""

    steps: int
    step: Figures
    parts: dict[Part, Figures]
    transactions: int
    """Most write transactions of any step."""
    picture: dict[str, Spread]
    """Picture work, measured apart: wall time of each part for one look."""
    cpus: int
    python: str

    @property
    def kept(self) -> bool:
        return self.transactions <= MAX_TRANSACTIONS


async def main(settings: Sections, steps: int, *, as_json: bool) -> int:
    """Measures and prints; exit code 0 when no step took too many transactions."""
    report = await measure(settings, steps)
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.kept else 1


async def measure(settings: Sections, steps: int) -> Report:
    """Walks over `steps` screens and a few more, on a store of its own."""
    if not 1 <= steps <= MAX_STEPS:
        raise InvalidInput(f"{steps} steps cannot be measured", hint=f"give 1 to {MAX_STEPS:,}")
    walk = Walk(screens=steps + WARM_UP + 1)
    with tempfile.TemporaryDirectory(prefix="artemis-bench-") as folder:
        costs = (await _walk(settings, walk, Path(folder)))[WARM_UP:]
    return Report(
        steps=len(costs),
        step=_figures(cost.total for cost in costs),
        parts={part: _figures(cost.parts.get(part, Cost()) for cost in costs) for part in PARTS},
        transactions=max(cost.transactions for cost in costs),
        picture=await asyncio.to_thread(_picture_work, settings.perception),
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        python=platform.python_version(),
    )


async def _walk(settings: Sections, walk: Walk, folder: Path) -> list[StepCost]:
    """The real runner over the walk; gives the cost of each step."""
    meter, clock, bus = Meter(), WalkClock(), Bus()
    url = f"sqlite:///{folder / 'bench.db'}"
    await migrate(url)
    database = MeteredDatabase(url, meter)
    try:
        artifacts = FileArtifacts(folder / "artifacts")
        limits = Limits(steps=walk.screens + WARM_UP)
        spec = TaskSpec(goal=walk.goal, device="walk", limits=limits)
        tasks = TaskRepository(database, bus.publish, clock)
        task = (await tasks.create(str(uuid.uuid4()), spec)).task
        await tasks.claim("walk")
        recorder = TaskRecorder(database, artifacts, task.task_id, bus.publish, clock)
        ports = Ports(
            device=MeteredWalk(walk, clock, meter),
            model=MeteredModel(WalkModel(walk), meter),
            recorder=MeteredRecorder(recorder, meter),
            artifacts=MeteredArtifacts(artifacts, meter),
            search=Search(database, task.task_id),
            background=BackgroundWork(),
            clock=clock,
            new_id=lambda: str(uuid.uuid4()),
        )
        device = DeviceConfig(name="walk", platform=Platform.REPLAY, server_url="")
        rules = Rules(settings.agent, settings.memory, settings.perception, device, offline=True)
        history = await recorder.history()
        end = await run_task(build_run(history, ports, rules, Control()), history)
    finally:
        await database.close()
    if end.state is not TaskState.COMPLETED:
        raise ArtemisError(f"the walk did not end well: {end.reason}")
    return meter.steps


def _picture_work(config: PerceptionConfig) -> dict[str, Spread]:
    """What one look's screenshot costs beyond a step without pictures."""
    spent: dict[str, list[Cost]] = {"decode": [], "dhash": [], "jpeg": []}
    walk = Walk(screens=PICTURES, pictures=True)
    for number in range(1, PICTURES + 1):
        shot = screenshot(walk, number)
        began = Cost.now()
        image = picture.open_picture(shot.data).image
        if image is None:
            raise ArtemisError("the walk's picture cannot be opened")
        decoded = Cost.now()
        picture.dhash(image)
        hashed = Cost.now()
        picture.model_jpeg(image, config.image_short_side, config.jpeg_quality)
        spent["decode"].append(decoded - began)
        spent["dhash"].append(hashed - decoded)
        spent["jpeg"].append(Cost.now() - hashed)
    return {name: _spread(c.wall for c in costs) for name, costs in spent.items()}


def _figures(costs: Iterable[Cost]) -> Figures:
    costs = tuple(costs)
    return Figures(wall_ms=_spread(c.wall for c in costs), cpu_ms=_spread(c.cpu for c in costs))


def _spread(seconds: Iterable[float]) -> Spread:
    values = [s * 1000 for s in seconds]
    p95 = quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return Spread(median=round(median(values), 2), p95=round(p95, 2))


def lines(report: Report) -> list[str]:
    """The report as a table."""
    kept = "kept" if report.kept else "NOT KEPT"
    out = [
        f"{report.steps} steps, no model, no device; Python {report.python}, {report.cpus} CPUs",
        "",
        f"{'milliseconds':<24}{'wall median':>12}{'p95':>9}{'CPU median':>12}{'p95':>9}",
    ]
    out += [_line("step", report.step)]
    out += [_line(f"  {part.value}", figures) for part, figures in report.parts.items()]
    out += ["", f"{'picture, one look':<24}{'wall median':>12}{'p95':>9}"]
    out += [f"  {k:<22}{s.median:>12.2f}{s.p95:>9.2f}" for k, s in report.picture.items()]
    out += [
        "",
        f"write transactions a step: {report.transactions} (limit {MAX_TRANSACTIONS}: {kept})",
    ]
    return out


def _line(name: str, figures: Figures) -> str:
    wall, cpu = figures.wall_ms, figures.cpu_ms
    return f"{name:<24}{wall.median:>12.2f}{wall.p95:>9.2f}{cpu.median:>12.2f}{cpu.p95:>9.2f}"
