"""Reads a recorded run strictly: every fault names its line, and nothing is passed over."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from app.domain.actions import (
    NORMAL,
    Action,
    Back,
    DoubleTap,
    Finish,
    Home,
    InputText,
    LaunchApp,
    LongPress,
    Point,
    PressKey,
    Swipe,
    Tap,
    Target,
    TerminateApp,
    Wait,
)
from app.domain.screens import Size
from app.errors import InvalidInput

MAX_STEPS = 20_000
MAX_LINE = 8 * 1024 * 1024
"""Characters of one line of steps.jsonl."""
RAW_CHARACTERS = 4_000
"""Of an action as its source wrote it."""
LONGEST = 1e9
"""Seconds after its beginning at which a step may have happened."""
YEARS = range(1970, 2200)
Number = float | None


class Line(BaseModel):
    """One line of steps.jsonl; what the source did not record is null or missing."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    step: int = Field(ge=1)
    timestamp: datetime | None = None
    t: float | None = Field(default=None, ge=0, le=LONGEST)
    package: str | None = None
    activity: str | None = None
    observed: Literal["before", "result"] | None = None
    screenshot: str | None = None
    ui: str | None = None
    action_type: str | None = None
    action: JsonValue = None
    x: Number = None
    y: Number = None
    x2: Number = None
    y2: Number = None
    text: str | None = None
    key: str | None = None
    element: str | int | None = None
    thought: str | None = None
    summary: str | None = None
    result: str | None = None
    error: bool | str | None = None

    @field_validator("timestamp")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        if value is not None and value.year not in YEARS:
            raise ValueError(f"the year must be between {YEARS[0]} and {YEARS[-1]}")
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value

    @property
    def shows_result(self) -> bool:
        """Picture and tree are what the action left, not what it was decided on."""
        return self.observed == "result"

    def raw_action(self) -> str:
        """The action as its source wrote it, in words that can be searched for."""
        return " ".join(_flat(self.action))[:RAW_CHARACTERS]


class RecordedRun(NamedTuple):
    """A recorded run whose every line was understood."""

    folder: Path
    name: str
    goal: str
    about: dict[str, Any]
    """task.json."""
    screen: Size
    lines: tuple[Line, ...]

    def file(self, name: str) -> Path:
        """A file the recording names; raises InvalidInput for one outside it or missing."""
        try:
            path = (self.folder / name).resolve()
            inside, there = path.is_relative_to(self.folder.resolve()), path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise InvalidInput(f"the recording names what no file can be: {name[:200]!r}") from None
        if not inside:
            raise InvalidInput(f"the recording names a file outside its folder: {name[:200]}")
        if not there:
            raise InvalidInput(f"the recording lacks the file {name[:200]} that it names")
        return path

    def files(self) -> tuple[str, ...]:
        """Every picture and tree it names, each once."""
        named = (name for line in self.lines for name in (line.screenshot, line.ui) if name)
        return tuple(dict.fromkeys(named))


def read_run(folder: Path) -> RecordedRun:
    """Raises InvalidInput, which names the file and the line that cannot be used."""
    about = _about(folder)
    goal = about.get("goal")
    if not isinstance(goal, str) or not (goal := goal.strip()):
        raise InvalidInput("task.json names no goal", hint="`goal` is a text")
    lines = _lines(folder)
    run = RecordedRun(
        folder=folder,
        name=str(about.get("name") or folder.name)[:100],
        goal=goal[:20_000],
        about=about,
        screen=_screen(about.get("screen")),
        lines=lines,
    )
    for line in lines:
        for name in (line.screenshot, line.ui):
            if name:
                try:
                    run.file(name)
                except InvalidInput as error:
                    raise InvalidInput(f"steps.jsonl, step {line.step}: {error.message}") from None
    return run


def _own_file(folder: Path, name: str) -> Path:
    """Never a pipe or a device, which could be waited for for ever."""
    if not (folder / name).is_file():
        raise InvalidInput(f"{folder} holds no {name}", hint="see docs/import.md")
    return folder / name


def _about(folder: Path) -> dict[str, Any]:
    path = _own_file(folder, "task.json")
    if path.stat().st_size > MAX_LINE:
        raise InvalidInput(f"task.json is longer than {MAX_LINE:,} bytes")
    try:
        about = _json(path.read_text(encoding="utf-8-sig"))
        # Half characters, which JSON can hold and no database.
        about = json.loads(json.dumps(about, ensure_ascii=False).encode(errors="replace"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"task.json cannot be read: {_short(error)}") from None
    if not isinstance(about, dict):
        raise InvalidInput("task.json holds no object")
    return about


def _lines(folder: Path) -> tuple[Line, ...]:
    lines: list[Line] = []
    path = _own_file(folder, "steps.jsonl")
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    lines.append(_line(number, text, lines[-1].step if lines else 0))
                if len(lines) > MAX_STEPS:
                    raise InvalidInput(f"the recording has more than {MAX_STEPS:,} steps")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"steps.jsonl line {len(lines) + 1} or later is not UTF-8: {_short(error)}"
        ) from None
    except OSError as error:
        raise InvalidInput(f"steps.jsonl cannot be read: {_short(error)}") from None
    if not lines:
        raise InvalidInput("steps.jsonl holds no steps")
    return tuple(lines)


def _json(text: str) -> Any:
    """Strictly: Python's own reader also takes NaN and Infinity."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no number")

    return json.loads(text, parse_constant=refuse)


def _line(number: int, text: str, last: int) -> Line:
    where = f"steps.jsonl line {number}"
    if len(text) > MAX_LINE:
        raise InvalidInput(f"{where} is longer than {MAX_LINE:,} characters")
    try:
        line = Line.model_validate(_json(text))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(p) for p in fault["loc"][:4]) or "the line"
        raise InvalidInput(f"{where}: {place}: {fault['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} is not JSON: {_short(error)}") from None
    if line.step != last + 1:
        raise InvalidInput(f"{where}: step {line.step} follows step {last}; {last + 1} was due")
    return line


def _screen(screen: object) -> Size:
    match screen:
        case {"width": int() | float() as width, "height": int() | float() as height}:
            if 0 < width < 100_000 and 0 < height < 100_000:
                return Size(width=int(width), height=int(height))
    return Size(width=0, height=0)


def _short(error: Exception) -> str:
    return str(error)[:300]


def _flat(value: JsonValue) -> list[str]:
    """Names and values of any JSON in order, without its punctuation."""
    found: list[str] = []
    waiting: list[tuple[str, JsonValue]] = [("", value)]
    while waiting and len(found) < RAW_CHARACTERS:
        name, part = waiting.pop()
        match part:
            case dict():
                waiting.extend((key, part[key]) for key in reversed(list(part)))
            case list():
                waiting.extend((name, item) for item in reversed(part))
            case None:
                continue
            case _:
                text = str(part) if not isinstance(part, bool) else str(part).lower()
                found.append(f"{name}={text}" if name and len(name) < 3 else f"{name} {text}")
    return [text.strip() for text in found]


class Mapping(NamedTuple):
    """How a recording's coordinates become 0-1000."""

    width: float
    height: float

    def point(self, x: Number, y: Number) -> Point | None:
        if x is None or y is None or self.width <= 0 or self.height <= 0:
            return None
        return Point(
            x=min(max(x / self.width * NORMAL, 0.0), float(NORMAL)),
            y=min(max(y / self.height * NORMAL, 0.0), float(NORMAL)),
        )


def mapping_of(run: RecordedRun) -> Mapping:
    """From task.json's own words on its coordinates; unknown ones map nothing."""
    words = str(run.about.get("coordinate_space") or "").lower()
    if "0-1000" in words or "normalised" in words or "normalized" in words:
        return Mapping(NORMAL, NORMAL)
    if any(unit in words for unit in ("pixel", "unit", "point")):
        return Mapping(run.screen.width, run.screen.height)
    return Mapping(0, 0)


_PRESSES: dict[str, type[Tap | LongPress | DoubleTap]] = {
    "tap": Tap,
    "long_press": LongPress,
    "double_tap": DoubleTap,
}


def action_of(line: Line, mapping: Mapping) -> Action | None:
    """The recorded action as one of ours; None where it is another kind, or lacks its place."""
    start, end = mapping.point(line.x, line.y), mapping.point(line.x2, line.y2)
    text, key = line.text or "", (line.key or "").lower()
    match line.action_type:
        case "tap" | "long_press" | "double_tap" as kind if start is not None:
            return _PRESSES[kind](target=Target(point=start))
        case "swipe" if start is not None and end is not None:
            return Swipe(start=start, end=end)
        case "type" if text and len(text) <= 10_000:
            target = Target(point=start) if start is not None else None
            return InputText(text=text, target=target, mode="append")
        case "key" if key in ("back", "home"):
            return Back() if key == "back" else Home()
        case "key" if key and len(key) <= 40:
            return PressKey(key=key)
        case "launch" | "terminate" as kind if app := (text or line.package or "")[:200]:
            return LaunchApp(app=app) if kind == "launch" else TerminateApp(app=app)
        case "wait":
            return Wait(seconds=1)
        case "answer" | "done":
            return Finish(answer=(text or line.result or "")[:20_000])
    return None
