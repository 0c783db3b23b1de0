"""Reads docs/outcomes.md, the one table of what may happen, for the tests of its rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "outcomes.md"
NONE = "–"
AT_THE_END = "at the end: "


class Outcome(NamedTuple):
    """One row as the document has it."""

    row: str
    part: int
    verdict: str
    step: str
    once: str
    for_ever: str
    events: tuple[str, ...]
    message: tuple[str, ...]
    """Fragments, in order, of what a person can read."""
    at_the_end: bool
    """The message is told where it never stops, not when it happens once."""


def outcomes() -> dict[str, Outcome]:
    """All rows by their id; an id used twice or a ragged row is refused."""
    found: dict[str, Outcome] = {}
    part = 0
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d)\.", line):
            part = int(heading[1])
        if not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 10:
            raise ValueError(f"{len(cells)} cells instead of 10: {line}")
        row = cells[0].strip("` ")
        if row in found:
            raise ValueError(f"two rows are called {row}")
        last = cells[9].rstrip("| ")
        told = last.removeprefix(AT_THE_END)
        message = () if told == NONE else tuple(p.strip() for p in told.split("…"))
        found[row] = Outcome(
            row=row,
            part=part,
            verdict="" if cells[4] == NONE else cells[4],
            step="" if cells[5] == NONE else cells[5],
            once=cells[6],
            for_ever="" if cells[7] == NONE else cells[7],
            events=tuple(re.findall(r"`(\w+)`", cells[8])),
            message=tuple(p for p in message if p),
            at_the_end=told != last,
        )
    return found
