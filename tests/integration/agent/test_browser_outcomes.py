"""The rows of docs/outcomes.md that only a real browser behind a real Appium can show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.domain.config import AppiumConfig, DeviceConfig
from app.domain.events import SessionLostEvent
from app.domain.tasks import Task, TaskState
from tests.integration.agent.house import House, answer, check_record, plan
from tests.integration.devices.pages import serve
from tests.outcome_table import outcomes
from tests.stand_ins.gemini_server import GeminiServer, Json

pytestmark = pytest.mark.appium
APPIUM = AppiumConfig(call_timeout=10, page_load_timeout=2.5, script_timeout=2)


class ByLabel:
    """A model that calls what it is told, finding elements by their words in the prompt."""

    def __init__(self, *acts: tuple[str, dict[str, Any]]) -> None:
        self._acts = list(acts)
        self.prompts: list[str] = []

    def __call__(self, body: Json) -> list[Json]:
        if "responseJsonSchema" in json.dumps(body["generationConfig"]):
            return [{"text": (answer().parts or [])[0]["text"]}]
        prompt = "\n".join(p.get("text", "") for c in body["contents"] for p in c["parts"])
        self.prompts.append(prompt.rpartition("# NOW")[2])
        name, args = self._acts.pop(0)
        if words := args.get("label"):
            found = re.search(rf'^\[(\d+)\] \S+ "{words}"', self.prompts[-1], re.MULTILINE)
            assert found, f"{words} is not in the prompt: {self.prompts[-1]}"
            args = {"element": int(found[1])}
        return [{"functionCall": {"name": name, "args": args}}]


async def run(folder: Path, appium_url: str, row: str, page: str, brain: ByLabel) -> Task:
    """Plays the brain's acts on a page; checks the columns of the row for the first step."""
    expected = outcomes()[row]
    with serve() as site, GeminiServer([plan()], brain=brain) as server:
        url = f"{site.url}{page}"
        device = DeviceConfig(name="phone", server_url=appium_url, apps={"Page": url}, home=url)
        async with House(folder, server, device, appium=APPIUM) as house:
            task = await house.run()
            history, stored = await house.history(task.task_id), await house.stored(task.task_id)
            told = await house.told(task.task_id)
            lost = await house.events(task.task_id, SessionLostEvent)
    check_record(stored, history)
    assert task.state is TaskState.COMPLETED, task.reason
    assert set(expected.events) <= {s.event.type for s in stored}
    assert all(fragment in told for fragment in expected.message), told
    first = history.steps[0]
    assert (first.verdict, first.state) == (expected.verdict, expected.step)
    assert bool(lost) == ("session_lost" in expected.events)
    return task


async def test_a_new_tab_is_followed(folder: Path, appium_url: str) -> None:
    brain = ByLabel(("tap", {"label": "New tab"}), ("finish", {"answer": "bought"}))
    await run(folder, appium_url, "new-tab", "/", brain)
    assert "windows 2" in brain.prompts[1] and "Second page" in brain.prompts[1]


async def test_a_page_that_hangs_costs_one_step(folder: Path, appium_url: str) -> None:
    brain = ByLabel(("tap", {"label": "Hang"}), ("finish", {"answer": "bought"}))
    await run(folder, appium_url, "page-hangs", "/dialogs", brain)
    assert "opened anew" in brain.prompts[1]


async def test_an_alert_of_a_page_is_answered_first(folder: Path, appium_url: str) -> None:
    brain = ByLabel(
        ("tap", {"label": "Ask"}),
        ("back", {}),
        ("accept_alert", {}),
        ("finish", {"answer": "bought"}),
    )
    with serve() as site, GeminiServer([plan()], brain=brain) as server:
        url = f"{site.url}/dialogs"
        device = DeviceConfig(name="phone", server_url=appium_url, home=url)
        async with House(folder, server, device, appium=APPIUM) as house:
            task = await house.run()
            steps = await house.steps(task.task_id)
    assert task.state is TaskState.COMPLETED, task.reason
    assert [s.action.type for s in steps if s.action] == ["tap", "accept_alert", "finish"]
    assert 'alert: "Delete {it}?"' in brain.prompts[1]
    assert "true" in brain.prompts[-1], "the page got the answer"
