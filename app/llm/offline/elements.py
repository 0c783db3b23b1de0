"""Element lines as the prompt shows them: reading, and finding by label."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

FIELD_ROLES = frozenset(
    "field textfield textarea input search searchbox combobox select spinner edittext "
    "password email number date time url tel".split()
)
CHOICE_ROLES = frozenset({"combobox", "select", "spinner", "picker", "listbox"})
"""Fields that take an option by its text."""
SWITCH_ROLES = frozenset("switch checkbox toggle radio menuitemcheckbox menuitemradio".split())
INTERACTIVE_ROLES = (
    FIELD_ROLES
    | SWITCH_ROLES
    | frozenset(
        "button link tab item listitem row cell menuitem option icon imagebutton chip card "
        "summary slider treeitem gridcell key picker".split()
    )
)

DRAWN = "ocr"
"""The mark of a text that was read from the picture."""

ROW = 18
"""Two centres this close in height (0-1000) stand in one row."""
BELOW = 90
"""A value this far below its label still belongs to it."""
ASIDE = 420
"""How far a value's centre may stand to the side of a label above it."""

_LINE = re.compile(r'\[(\d+)\] (?:([\w-]+))?(?: ?("(?:[^"\\]|\\.)*"))?(.*)')
_QUOTED_ATTRIBUTE = re.compile(r'\b(value|hint|id)=("(?:[^"\\]|\\.)*"|\S+)')
_POINT = re.compile(r"@(-?\d+),(-?\d+)\s*$")


@dataclass(frozen=True, slots=True)
class Shown:
    """One element of the list in the prompt."""

    index: int
    role: str
    text: str = ""
    value: str = ""
    hint: str = ""
    resource_id: str = ""
    flags: frozenset[str] = frozenset()
    x: int | None = None
    y: int | None = None

    @property
    def on_screen(self) -> bool:
        if self.x is None or self.y is None or self.flags & {"offscreen", "hidden"}:
            return False
        return 0 <= self.x <= 1000 and 0 <= self.y <= 1000

    @property
    def interactive(self) -> bool:
        return self.role in INTERACTIVE_ROLES

    @property
    def field(self) -> bool:
        return self.role in FIELD_ROLES

    @property
    def checked(self) -> bool | None:
        """None where the element cannot be checked."""
        if self.flags & {"checked", "unchecked"}:
            return "checked" in self.flags
        return None

    @property
    def place(self) -> tuple[int, int]:
        """For reading order: top to bottom, then left to right."""
        return (self.y or 0, self.x or 0)

    def content(self) -> str:
        """What it says: its value where it has one, else its text."""
        return self.value or self.text


def read_elements(text: str) -> tuple[Shown, ...]:
    """Every element line of a text; other lines are passed over."""
    return tuple(shown for line in text.split("\n") if (shown := _read_line(line.strip())))


def _read_line(line: str) -> Shown | None:
    if not line.startswith("[") or not (found := _LINE.fullmatch(line)):
        return None
    rest = found[4]
    attributes = {key: _unquoted(raw) for key, raw in _QUOTED_ATTRIBUTE.findall(rest)}
    bare = _QUOTED_ATTRIBUTE.sub(" ", rest)
    point = _POINT.search(bare)
    return Shown(
        index=int(found[1]),
        role=(found[2] or "").casefold(),
        text=_unquoted(found[3] or ""),
        value=attributes.get("value", ""),
        hint=attributes.get("hint", ""),
        resource_id=attributes.get("id", ""),
        flags=frozenset(_POINT.sub("", bare).split()),
        x=int(point[1]) if point else None,
        y=int(point[2]) if point else None,
    )


def _unquoted(raw: str) -> str:
    if not raw.startswith('"'):
        return raw
    try:
        return str(json.loads(raw))
    except ValueError:
        return raw.strip('"')


def plain(text: str) -> str:
    """For comparing: without case and with single spaces."""
    return " ".join(text.split()).casefold()


def same(shown: str, label: str) -> bool:
    """Equal but for case and spacing; a text cut in the list is equal to what it begins."""
    one, other = plain(shown), plain(label)
    return one == other or (one.endswith("…") and len(one) > 20 and other.startswith(one[:-1]))


Level = Callable[[Shown, str], bool]

_LEVELS: tuple[Level, ...] = (
    lambda e, label: e.text == label,
    lambda e, label: same(e.text, label),
    lambda e, label: same(e.hint, label) or same(e.value, label),
    lambda e, label: plain(label) in plain(e.text),
    lambda e, label: plain(label) in plain(e.hint) or plain(label) in plain(e.value),
    lambda e, label: plain(label) == plain(e.resource_id),
)
"""How well an element fits a label, best first."""


def find(elements: Iterable[Shown], label: str, nth: int = 0) -> Shown | None:
    """The element that a label means: the best level that any element reaches."""
    elements = tuple(elements)
    for fits in _LEVELS:
        if hits := [e for e in elements if fits(e, label)]:
            return _pick(hits, nth)
    return None


def _pick(hits: Sequence[Shown], nth: int) -> Shown | None:
    interactive = [e for e in hits if e.interactive]
    if nth:
        ordered = sorted(interactive or hits, key=lambda e: e.place)
        position = nth - 1 if nth > 0 else nth
        return ordered[position] if -len(ordered) <= position < len(ordered) else None
    best = interactive or list(hits)
    enabled = [e for e in best if "disabled" not in e.flags] or best
    # Of texts that merely contain the label, the shortest says least else.
    return min(enabled, key=lambda e: (not e.on_screen, len(e.text)))


def find_field(elements: Iterable[Shown], label: str) -> Shown | None:
    """The field with this name, or the one beside or below the text that names it."""
    elements = tuple(elements)
    fields = [e for e in elements if e.field]
    return find(fields, label) or _near(elements, label, fields, both_sides=False)


def find_switch(elements: Iterable[Shown], label: str) -> Shown | None:
    """The checkable element with this name, or the one in the row of that name."""
    elements = tuple(elements)
    switches = [e for e in elements if e.checked is not None]
    return find(switches, label) or _near(elements, label, switches, both_sides=True)


def _near(
    elements: Sequence[Shown], label: str, wanted: Sequence[Shown], *, both_sides: bool
) -> Shown | None:
    names = [e for e in elements if e not in wanted]
    name = find([e for e in names if same(e.text, label)] or names, label)
    if name is None:
        return None
    row = [e for e in _in_row(wanted, name) if both_sides or e.place[1] > name.place[1]]
    return _nearest(row or _beneath(wanted, name), name)


def beside(elements: Iterable[Shown], name: Shown) -> Shown | None:
    """What stands to the right of a label, else just below it.

    What belongs to a drawn label is drawn too, and may stand over it: a gauge's figure over its
    unit.
    """
    others = [e for e in elements if e is not name and e.content().strip()]
    drawn = DRAWN in name.flags
    if drawn:
        others = [e for e in others if DRAWN in e.flags]
    row = [e for e in _in_row(others, name) if e.place[1] > name.place[1]]
    above = _above(others, name) if drawn else []
    return _nearest(row or _beneath(others, name) or above, name)


def _in_row(elements: Iterable[Shown], name: Shown) -> list[Shown]:
    return [e for e in elements if e.on_screen and abs(e.place[0] - name.place[0]) <= ROW]


def _beneath(elements: Iterable[Shown], name: Shown) -> list[Shown]:
    top, left = name.place
    return [
        e
        for e in elements
        if e.on_screen and 0 < e.place[0] - top <= BELOW and abs(e.place[1] - left) <= ASIDE
    ]


def _above(elements: Iterable[Shown], name: Shown) -> list[Shown]:
    top, left = name.place
    return [
        e
        for e in elements
        if e.on_screen and 0 < top - e.place[0] <= BELOW and abs(e.place[1] - left) <= ASIDE
    ]


def _nearest(elements: Sequence[Shown], name: Shown) -> Shown | None:
    top, left = name.place
    return min(
        elements,
        key=lambda e: (abs(e.place[0] - top) // ROW, abs(e.place[1] - left)),
        default=None,
    )
