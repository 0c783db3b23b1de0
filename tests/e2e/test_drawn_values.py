"""Values that exist only as pixels of a canvas: read, acted on, and found again later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from app.devices.demo.world import demo_world
from app.domain.actions import LabelSource, Tap
from app.domain.events import FallbackUsed, TextRead, ToolServed
from app.domain.memory import TextKind
from app.domain.screens import ElementSource, PictureText
from app.perception.ocr import missing_extra
from tests.e2e.stack import Server, until

pytestmark = [
    pytest.mark.appium,
    pytest.mark.skipif(bool(missing_extra()), reason=missing_extra() or "the extra is there"),
]

GAUGE = """
open "Gauge"
read "units" as level
tap "Lock"
check "Locked"
open "Notes"
tap "New note"
type "Level {level}" into "Text"
recall "{level} Unlocked" as later
answer "{level}, and later {later}"
"""
PATIENCE = 60.0


class Unhurried(Server):
    """A server on a machine that may be busy: the foreground waits longer for a picture."""

    more: ClassVar = {"ARTEMIS_OCR__DEADLINE": "30"}

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | self.more


class Background(Unhurried):
    """Here no picture is read for an element list, however much of it is drawn."""

    more: ClassVar = {"ARTEMIS_OCR__CANVAS_SHARE": "1"}


def served(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def unhurried(programs: None, seed: int, tmp_path: Path) -> Iterator[Server]:
    yield from served(Unhurried(tmp_path, seed))


@pytest.fixture
def background(programs: None, seed: int, tmp_path: Path) -> Iterator[Server]:
    yield from served(Background(tmp_path, seed))


def texts_read(server: Server, task_id: str, steps: int) -> dict[int, TextRead]:
    """The picture of every step, once all are read."""

    def look() -> dict[int, TextRead] | None:
        events = [e.event for e in server.events(task_id)]
        found = {e.step_number: e for e in events if isinstance(e, TextRead)}
        return found if len(found) >= steps else None

    return until("the pictures are read", look, PATIENCE)


def recall(server: Server, task_id: str, query: str) -> dict[str, object]:
    found = server.post(f"/tasks/{task_id}/recall", {"query": query})
    assert found["results"], f"nothing found for {query}"
    best: dict[str, object] = found["results"][0]
    return best


def test_a_drawn_value_is_read_used_and_recalled(unhurried: Server) -> None:
    server = unhurried
    value = str(demo_world(server.seed).gauge_value)
    ended = server.run(GAUGE)
    assert ended["state"] == "completed", ended
    read, _, recalled_later = str(ended["answer"]).partition(", and later ")
    assert read == value
    assert value in recalled_later, "it stood nowhere but on the canvas, an app ago"
    assert server.phone_state()["gauge_locked"], "a button that is only drawn was tapped"

    steps = server.steps(ended["task"])
    on_gauge = [s for s in steps if "/gauge/" in s.observation.url]
    for step in on_gauge:
        drawn = [e for e in step.observation.tree.elements if e.source is ElementSource.OCR]
        assert {value, "units"} <= {e.text for e in drawn}
        own = [e for e in step.observation.tree.elements if e.source is not ElementSource.OCR]
        assert not [e for e in own if value in (e.text, e.value, e.hint)]
    elsewhere = [s for s in steps if s not in on_gauge]
    assert elsewhere
    for step in elsewhere:
        sources = {e.source for e in step.observation.tree.elements}
        assert ElementSource.OCR not in sources, "a usable tree is never added to"
    (tap,) = (s for s in on_gauge if isinstance(s.action, Tap))
    assert isinstance(tap.action, Tap) and tap.action.target.label_source is LabelSource.OCR
    assert tap.diff is not None and {"Locked", "Unlock"} <= set(tap.diff.added)

    events = [e.event for e in server.events(ended["task"])]
    counted = [
        e.step_number for e in events if isinstance(e, FallbackUsed) and e.kind == "ocr_elements"
    ]
    assert counted == [s.step_number for s in on_gauge]
    (recalled,) = (e for e in events if isinstance(e, ToolServed) and e.name == "recall_history")
    assert value in recalled.result and f"Step {on_gauge[0].step_number} " in recalled.result


def test_what_only_a_picture_showed_is_found_under_its_step(background: Server) -> None:
    server = background
    value = str(demo_world(server.seed).gauge_value)
    ended = server.run('open "Gauge"; tap at 500, 5; open "Notes"; answer "done"')
    assert ended["state"] == "completed", ended
    steps = server.steps(ended["task"])
    read = texts_read(server, ended["task"], len(steps))
    assert sorted(read) == [s.step_number for s in steps]
    assert not [r.problem for r in read.values() if r.problem]

    on_gauge = [s for s in steps if "/gauge/" in s.observation.url]
    assert len(on_gauge) > 1, "several steps on one screen"
    for step in on_gauge:
        assert {e.source for e in step.observation.tree.elements} == {ElementSource.DOM}
    pictures = {read[s.step_number].screenshot.sha256 for s in on_gauge}
    documents = {r.text_ref.sha256 for s in on_gauge if (r := read[s.step_number]).text_ref}
    assert len(pictures) == len(documents) == 1, "one picture, read once, kept for all"
    body = server.ask("GET", f"/tasks/{ended['task']}/artifacts/{documents.pop()}")
    lines = PictureText.model_validate(body).lines
    assert value in {line.text for line in lines}

    best = recall(server, ended["task"], f"{value} units")
    assert best["kind"] == TextKind.OCR and value in str(best["excerpt"])
    assert best["step_number"] in {s.step_number for s in on_gauge}
