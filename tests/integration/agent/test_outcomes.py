"""Every row of docs/outcomes.md through the whole agent, over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.domain.tasks import Task, TaskState
from tests.integration.agent.device_scenes import SCENES as DEVICE
from tests.integration.agent.house import KEY, House, check_record
from tests.integration.agent.model_scenes import SCENES as MODEL
from tests.integration.agent.phones import turn_pages
from tests.integration.agent.scene import Scene, Stage
from tests.integration.agent.turn_scenes import SCENES as TURN
from tests.outcome_table import Outcome, outcomes
from tests.stand_ins.appium_server import StandIn, appium_stand_in
from tests.stand_ins.gemini_server import Behaviour, GeminiServer

TABLE = outcomes()
SCENES: dict[str, Scene] = {**MODEL, **DEVICE, **TURN}
BROWSER = {"page-hangs", "new-tab"}
"""Rows that only a real browser shows: test_browser_outcomes.py."""
RESTART = {"restarted"}
"""Rows that need two processes: test_restart.py."""


def test_the_document_and_the_scenes_name_the_same_rows() -> None:
    assert sorted(TABLE) == sorted({*SCENES, *BROWSER, *RESTART})
    endless = {row for row, outcome in TABLE.items() if outcome.for_ever}
    assert endless == {row for row, scene in SCENES.items() if scene.for_ever}


@pytest.mark.parametrize("row", SCENES)
async def test_once(row: str, folder: Path) -> None:
    expected, scene = TABLE[row], SCENES[row]
    told = await play(scene, scene.script(), scene.prepare, folder, row)
    assert_end(told.task, expected.once)
    assert_told(told, expected)
    if expected.verdict:
        step = told.steps[scene.at - 1]
        assert (step.verdict, step.state) == (expected.verdict, expected.step)


@pytest.mark.parametrize("row", [row for row, scene in SCENES.items() if scene.for_ever])
async def test_for_ever(row: str, folder: Path) -> None:
    expected, scene = TABLE[row], SCENES[row]
    assert scene.for_ever is not None
    prepare = scene.for_ever_prepare or scene.prepare
    told = await play(scene, scene.for_ever(), prepare, folder, "")
    assert_end(told.task, expected.for_ever)
    if expected.at_the_end:
        assert_message(told, expected)


class Told:
    """What came of one scene."""

    def __init__(self, task: Task, steps: Sequence[object], types: set[str], text: str) -> None:
        self.task = task
        self.steps = steps
        self.types = types
        self.text = text


async def play(
    scene: Scene,
    script: Sequence[Behaviour],
    prepare: Callable[[StandIn], None],
    folder: Path,
    row: str,
) -> Told:
    """Runs the scene to its end; `row` is empty for an endless one."""
    with GeminiServer(script, key=KEY) as server, appium_stand_in(scene.platform) as phone:
        if scene.platform == "android":
            turn_pages(phone)
        prepare(phone)
        device = scene.device(phone.url)
        async with House(folder, server, device, **scene.house) as house:
            task_id = await house.submit(**scene.spec)
            stage = Stage(house, server, phone, task_id)
            if scene.meanwhile is not None:
                await scene.meanwhile(stage)
            task = await house.ended(task_id)
            history, stored = await house.history(task_id), await house.stored(task_id)
            check_record(stored, history)
            if row and scene.also is not None:
                await scene.also(stage, task)
            text = await house.told(task_id)
            return Told(task, history.steps, {s.event.type for s in stored}, text)


def assert_end(task: Task, wanted: str) -> None:
    word, _, code = wanted.partition(" ")
    if wanted == "goes on":
        assert task.state is TaskState.COMPLETED, f"{task.state}: {task.reason}"
        assert task.answer
        return
    assert (task.state.value, task.code) == (word, code), task.reason
    assert task.reason


def assert_told(told: Told, expected: Outcome) -> None:
    assert set(expected.events) <= told.types, set(expected.events) - told.types
    if not expected.at_the_end:
        assert_message(told, expected)


def assert_message(told: Told, expected: Outcome) -> None:
    rest = told.text
    for fragment in expected.message:
        found = rest.find(fragment)
        assert found >= 0, f"{fragment!r} is told nowhere in:\n{told.text}"
        rest = rest[found:]
