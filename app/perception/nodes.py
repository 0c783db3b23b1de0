"""The common form in which every dialect hands over what it read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.screens import Size
from app.perception.text import tidy

FAR = 1_000_000
"""Coordinates beyond this are nonsense and are held there."""

RAW_FACTOR = 4
"""Nodes read per element kept, so that the best can be chosen."""


class Box(NamedTuple):
    """Left, top, right, bottom as the dialect gave them; may be empty or inverted."""

    left: int
    top: int
    right: int
    bottom: int

    def meet(self, other: Box) -> Box:
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def join(self, other: Box) -> Box:
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    @property
    def empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top

    @property
    def area(self) -> int:
        return 0 if self.empty else (self.right - self.left) * (self.bottom - self.top)


NO_BOX = Box(0, 0, 0, 0)


@dataclass(slots=True)
class Node:
    """One view as read, before its meaning is known from its neighbours."""

    parent: int = -1
    """Position of the parent in the list, always smaller than the own one; -1 at the top."""
    role: str = ""
    text: str = ""
    hint: str = ""
    value: str = ""
    resource_id: str = ""
    package: str = ""
    box: Box = NO_BOX
    enabled: bool = True
    checked: bool | None = None
    focused: bool = False
    selected: bool = False
    password: bool = False
    clickable: bool = False
    editable: bool = False
    scrollable: bool = False
    shown: bool = True
    """What the dialect itself says about visibility."""
    keyboard: bool = False
    """Belongs to the on-screen keyboard."""


@dataclass(slots=True)
class Reading:
    """What a dialect's reader got out of a source."""

    nodes: list[Node] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Why it is not the whole truth; empty for a clean read."""
    failed: str = ""
    """Why there is nothing to use at all."""
    dropped: int = 0
    """Nodes that were counted but not read."""
    size: Size | None = None
    """The window, where the source itself says it."""


def label(node: Node, *, text: str, description: str, hint: str = "") -> None:
    """Puts the words of a view where they belong; a password's never leave this function."""
    if node.password:
        node.hint = hint or (description if description != text else "")
    elif node.editable:
        node.text, node.value, node.hint = description, text, hint
    else:
        node.text, node.hint = (text if speaks(text) else description or text), hint


def speaks(text: str) -> bool:
    """Whether a text has something to read in it, and not only glyphs of an icon font."""
    return any(not "\ue000" <= c <= "\uf8ff" for c in text)


BOUNDS = re.compile(r"\s*\[?(-?\d{1,9}),\s*(-?\d{1,9})\]?,?\s*\[?(-?\d{1,9}),\s*(-?\d{1,9})\]?\s*")


def parse_box(text: str) -> Box:
    """A box from `[l,t][r,b]` or `l, t, r, b`."""
    found = BOUNDS.fullmatch(text)
    return make_box(*found.groups()) if found else NO_BOX


def make_box(left: object, top: object, right: object, bottom: object) -> Box:
    sides = [number(side) for side in (left, top, right, bottom)]
    return NO_BOX if None in sides else Box(*(side or 0 for side in sides))


def sized_box(left: object, top: object, width: object, height: object) -> Box:
    x, y, w, h = (number(side) for side in (left, top, width, height))
    return NO_BOX if x is None or y is None or w is None or h is None else Box(x, y, x + w, y + h)


def number(value: object) -> int | None:
    """A coordinate from whatever stands there; None for what is none."""
    if isinstance(value, str):
        if len(value) > 30:
            return None
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(max(-FAR, min(FAR, value)))


def flag(value: object, default: bool = False) -> bool:
    """A truth value in the spellings of XML and JSON."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value:
        return value.strip().lower() in ("true", "1", "yes")
    if isinstance(value, int | float):
        return value != 0
    return default


def words(values: Mapping[str, object], *names: str) -> str:
    """The first non-empty text under one of the names."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            clean = tidy(value)
            if clean and clean != "null":
                return clean
        elif isinstance(value, int | float) and not isinstance(value, bool):
            return tidy(str(value))
    return ""
