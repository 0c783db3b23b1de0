"""A native phone whose tree says nothing: what a task sees of it, with and without a reader."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from app.domain.actions import LabelSource, Tap
from app.domain.config import DeviceConfig, OcrConfig, Platform
from app.domain.events import FallbackUsed, TextRead
from app.domain.memory import RecallQuery, TextKind
from app.domain.screens import Bounds, ElementSource
from app.domain.tasks import TaskState
from app.storage.migrations import migrate
from tests.integration.agent.house import House
from tests.stand_ins.appium_server import Refusal, StandIn, android_source, appium_stand_in

SIZE = (540, 1170)
"""Pixels; the window is twice as large, so that a place must be mapped."""
WINDOW = (1080, 2340)
BUTTON = Bounds(left=120, top=900, right=420, bottom=990)
CANVAS = '<android.view.View package="com.example.shop" bounds="[0,0][1080,2340]"/>'


def screen(*words: tuple[str, int, int]) -> bytes:
    image = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((BUTTON.left, BUTTON.top, BUTTON.right, BUTTON.bottom), 20, fill="navy")
    pen.text((185, 920), "Checkout", fill="white", font=ImageFont.load_default(40))
    for text, x, y in words:
        pen.text((x, y), text, fill="black", font=ImageFont.load_default(40))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


CART = screen(("Total", 40, 300), ("45.20", 380, 300))
DONE = screen(("Order KX-4471 placed", 40, 500))


@pytest.fixture
def phone() -> Iterator[StandIn]:
    """A cart; a tap inside the drawn button places the order."""
    with appium_stand_in() as stand_in:
        stand_in.size, stand_in.screenshot = WINDOW, CART
        stand_in.source = android_source(CANVAS)
        own = stand_in.answer

        def answer(method: str, path: str, body: dict[str, Any]) -> Any:
            if path == "/actions" and any(inside(x, y) for x, y in points(body)):
                stand_in.screenshot = DONE
            return own(method, path, body)

        stand_in.answer = answer  # type: ignore[method-assign]
        yield stand_in


def points(body: dict[str, Any]) -> list[tuple[float, float]]:
    moves = [step for source in body["actions"] for step in source["actions"] if "x" in step]
    return [(step["x"], step["y"]) for step in moves]


def inside(x: float, y: float) -> bool:
    return BUTTON.contains(x * SIZE[0] / WINDOW[0], y * SIZE[1] / WINDOW[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    asyncio.run(migrate(f"sqlite:///{tmp_path / 'data' / 'artemis.db'}"))
    return tmp_path / "data"


def house(folder: Path, phone: StandIn, **ocr: Any) -> House:
    device = DeviceConfig(name="phone", platform=Platform.ANDROID, server_url=phone.url)
    made = House(folder, None, device)
    config = OcrConfig.model_validate({"deadline": 25.0, **ocr})
    made.settings = made.settings.model_copy(update={"ocr": config})
    return made


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    "source",
    [
        android_source(CANVAS),
        "<hierarchy rotation='0'/>",
        "not a tree",
        Refusal("uiautomator died"),
    ],
    ids=["mute", "empty", "garbage", "refused"],
)
async def test_drawn_words_are_read_tapped_and_recalled(
    folder: Path, phone: StandIn, source: str | Refusal
) -> None:
    if isinstance(source, Refusal):
        phone.fail("/source", *[source] * 100)
    else:
        phone.source = source
    goal = 'read "Total" as total; tap "Checkout"; check "placed"; answer "Paid {total}"'
    async with house(folder, phone) as running:
        task = await running.run(goal)
        assert (task.state, task.answer) == (TaskState.COMPLETED, "Paid 45.20"), task.reason
        first, *_ = steps = await running.steps(task.task_id)
        tree = first.observation.tree
        assert tree.usable
        drawn = [e.text for e in tree.elements if e.source is ElementSource.OCR]
        assert drawn == ["Total", "45.20", "Checkout"]
        assert isinstance(first.action, Tap)
        assert first.action.target.label_source is LabelSource.OCR
        assert first.diff is not None and any("KX-4471" in text for text in first.diff.added)
        counted = [e.kind for e in await running.events(task.task_id, FallbackUsed)]
        assert counted.count("ocr_elements") == len(steps)

        await running.worker.background.flush(30)
        read = await running.events(task.task_id, TextRead)
        assert [r.step_number for r in read] == [s.step_number for s in steps]
        assert running.worker.ocr.pictures == 2, "two distinct pictures, each read once"
        found = await running.service.recall(task.task_id, RecallQuery(query="KX-4471"))
        assert "KX-4471" in found.results[0].excerpt
        assert steps[-1].step_number in {hit.step_number for hit in found.results}


@pytest.mark.usefixtures("extra")
async def test_a_reading_that_is_late_is_said_and_used_at_the_next_look(
    folder: Path, phone: StandIn
) -> None:
    async with house(folder, phone, deadline=0.01) as running:
        task = await running.run('wait 1 s; answer "done"')
        steps = await running.steps(task.task_id)
        problems = steps[0].observation.problems
        assert any("longer than 0.01 s" in problem for problem in problems), problems
        assert steps[0].observation.tree.elements[-1].source is not ElementSource.OCR


async def test_without_the_extra_it_is_said_and_the_task_goes_on(
    folder: Path, phone: StandIn
) -> None:
    async with house(folder, phone) as running:
        await running.worker.ocr.close()
        task = await running.run('wait 1 s; answer "done"')
        assert task.state is TaskState.COMPLETED
        await running.worker.background.flush(5)
        (first, *_) = await running.steps(task.task_id)
        assert any("could not be read" in problem for problem in first.observation.problems)
        told = await running.events(task.task_id, FallbackUsed)
        assert [e.kind for e in told].count("no_ocr") == 1
        assert await running.events(task.task_id, TextRead) == []


async def test_switched_off_nothing_is_read_and_nothing_said(folder: Path, phone: StandIn) -> None:
    async with house(folder, phone, enabled=False) as running:
        task = await running.run('wait 1 s; answer "done"')
        assert task.state is TaskState.COMPLETED
        assert running.worker.ocr.starts == 0
        kinds = [e.kind for e in await running.events(task.task_id, FallbackUsed)]
        assert "no_ocr" not in kinds


@pytest.mark.usefixtures("extra")
async def test_what_an_earlier_process_did_not_read_is_read_when_the_task_goes_on(
    folder: Path, phone: StandIn
) -> None:
    async with house(folder, phone, enabled=False) as running:
        task_id = await running.submit('wait 1 s; ask "Go on?" as word; answer "{word}"')
        await running.in_state(task_id, TaskState.WAITING)
    async with house(folder, phone) as running:
        assert await running.events(task_id, TextRead) == []
        await running.until(task_id, TextRead)
        (read,) = await running.events(task_id, TextRead)
        assert (read.step_number, read.lines, read.problem) == (1, 3, "")
        found = await running.service.recall(task_id, RecallQuery(query="45.20", step_range=(1, 1)))
        assert found.results[0].kind is TextKind.OCR
