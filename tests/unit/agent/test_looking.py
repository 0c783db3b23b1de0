"""A look that equals the one before is not read again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from app.agent.control import Control
from app.agent.perceiving import look
from app.agent.run import Ports, Rules, Run
from app.agent.runner import build_run
from app.bench.walk import Walk, WalkClock, WalkDevice, WalkModel
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, PerceptionConfig
from app.domain.tasks import Task, TaskHistory, TaskSpec, TaskState
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.recorder import TaskRecorder
from app.storage.search import Search
from app.tasks.background import BackgroundWork


def walking(folder: Path, device: WalkDevice, clock: WalkClock, walk: Walk) -> Run:
    database, artifacts = Database(f"sqlite:///{folder / 'a.db'}"), FileArtifacts(folder)
    ports = Ports(
        device=device,
        model=WalkModel(walk),
        recorder=TaskRecorder(database, artifacts, "t", lambda event: None, clock),
        artifacts=artifacts,
        search=Search(database, "t"),
        background=BackgroundWork(),
        clock=clock,
        new_id=lambda: "id",
    )
    config = DeviceConfig(name="walk")
    rules = Rules(AgentConfig(), MemoryConfig(), PerceptionConfig(), config, offline=True)
    spec = TaskSpec(goal="look", device="walk")
    task = Task(
        task_id="t", spec=spec, state=TaskState.RUNNING, created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return build_run(TaskHistory(task=task), ports, rules, Control())


async def test_an_equal_look_is_taken_from_the_one_before(tmp_path: Path) -> None:
    walk, clock = Walk(screens=3, pictures=True), WalkClock()
    device = WalkDevice(walk, clock)
    run = walking(tmp_path, device, clock, walk)
    first = await look(run)
    await clock.sleep(1.0)
    again = await look(run, first)
    assert again.seen is first.seen
    assert again.view.taken_at > first.view.taken_at, "the look itself is the new one"
    device.number = 2
    moved = await look(run, again)
    assert moved.seen.content_hash != first.seen.content_hash
    unasked = await look(run)
    assert unasked.seen is not moved.seen
    assert unasked.seen == moved.seen
