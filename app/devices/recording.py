"""Reads a recorded run (task.json and steps.jsonl) as scenes with the action that left each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.actions import NORMAL
from app.domain.screens import Size

MAX_STEPS = 20_000
_BOX = re.compile(r"\[\s*(-?\d+),\s*(-?\d+)(?:,|\]\[)\s*(\d{1,5}),\s*(\d{1,5})\s*\]")
"""[left, top, right, bottom] of JSON, [left,top][right,bottom] of XML."""
DEVICE_ACTIONS = frozenset(
    {"tap", "long_press", "double_tap", "swipe", "type", "key", "launch", "terminate"}
)
"""Everything else a recording holds (looking, thinking, waiting, answering) needs no device."""


class Space(StrEnum):
    """What recorded coordinates mean."""

    SCREEN = "screen"
    """The unit of the recording's screen size."""
    NORMAL = "normal"
    """0-1000 in both directions."""
    UNKNOWN = "unknown"


class RecordedAction(NamedTuple):
    """One action of the recording; unknown parts are None or empty."""

    step: int
    kind: str
    start: tuple[float, float] | None
    """0-1000, like the actions of today."""
    end: tuple[float, float] | None
    text: str
    key: str
    raw: str
    """The action as its source wrote it, in lower case."""


class Scene(NamedTuple):
    """What stood on the screen, and the action that ended it; None at the end."""

    screenshot: str
    ui: str
    package: str
    activity: str
    action: RecordedAction | None


class Recording(NamedTuple):
    screen: Size
    scenes: tuple[Scene, ...]
    """At least one; the last has no action."""


def read_recording(folder: Path) -> Recording:
    """Raises OSError or ValueError for a folder that is no recording."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    if not isinstance(task, dict):
        raise ValueError("task.json holds no object")
    lines = (folder / "steps.jsonl").read_text(encoding="utf-8").split("\n")
    steps = [json.loads(line) for line in lines[:MAX_STEPS] if line.strip()]
    if not steps or not all(isinstance(step, dict) for step in steps):
        raise ValueError("steps.jsonl holds no steps")
    screen = task.get("screen") or {}
    size = _size(screen) or _size_of_boxes(folder, steps)
    space = _space(str(task.get("coordinate_space") or ""), bool(screen))
    return Recording(size, _scenes(steps, size, space))


def _size(screen: Mapping[str, Any]) -> Size | None:
    width, height = screen.get("width"), screen.get("height")
    return Size(width=int(width), height=int(height)) if width and height else None


def _size_of_boxes(folder: Path, steps: list[dict[str, Any]]) -> Size:
    """A recording that does not say how large the screen was: as large as its largest box."""
    right = bottom = 0
    for name in list(dict.fromkeys(str(step.get("ui") or "") for step in steps))[:10]:
        path = (folder / name).resolve()
        if name and path.is_relative_to(folder.resolve()) and path.is_file():
            for box in _BOX.finditer(path.read_text(encoding="utf-8", errors="replace")):
                right, bottom = max(right, int(box[3])), max(bottom, int(box[4]))
    return Size(width=right or NORMAL, height=bottom or NORMAL)


def _space(words: str, has_screen: bool) -> Space:
    low = words.lower()
    if "0-1000" in low or "normalised" in low:
        return Space.NORMAL
    if has_screen and ("pixel" in low or "unit" in low or "point" in low):
        return Space.SCREEN
    return Space.UNKNOWN


def _scenes(steps: list[dict[str, Any]], size: Size, space: Space) -> tuple[Scene, ...]:
    scenes: list[Scene] = []
    seen = Scene("", "", "", "", None)
    for number, step in enumerate(steps, 1):
        acts = step.get("action_type") in DEVICE_ACTIONS
        before = step.get("observed") != "result"
        if before:
            seen = _seen(step, seen)
        if acts:
            action = _action(step, number, size, space)
            scenes.append(seen._replace(action=action))
            # What comes next is unknown until the recording shows it.
            seen = Scene("", "", "", "", None)
        if not before:
            seen = _seen(step, seen)
    if not (seen.screenshot or seen.ui) and scenes:
        seen = scenes[-1]._replace(action=None)
    return (*scenes, seen)


def _seen(step: Mapping[str, Any], last: Scene) -> Scene:
    return Scene(
        screenshot=str(step.get("screenshot") or last.screenshot),
        ui=str(step.get("ui") or last.ui),
        package=str(step.get("package") or last.package),
        activity=str(step.get("activity") or last.activity),
        action=None,
    )


def _action(step: Mapping[str, Any], number: int, size: Size, space: Space) -> RecordedAction:
    raw = step.get("action")
    return RecordedAction(
        step=int(step.get("step") or number),
        kind=str(step["action_type"]),
        start=_point(step.get("x"), step.get("y"), size, space),
        end=_point(step.get("x2"), step.get("y2"), size, space),
        text=str(step.get("text") or ""),
        key=str(step.get("key") or ""),
        raw=(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)).lower(),
    )


def _point(x: object, y: object, size: Size, space: Space) -> tuple[float, float] | None:
    if not isinstance(x, int | float) or not isinstance(y, int | float):
        return None
    if space is Space.NORMAL:
        return float(x), float(y)
    if space is Space.SCREEN and size.width and size.height:
        return x / size.width * NORMAL, y / size.height * NORMAL
    return None
