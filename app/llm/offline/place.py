"""Where the operator is: one line of its own visible text, which comes back in the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_LINE = re.compile(r"\bAt (\d+) of (\d+)(?: \(([^()\n]*)\))?: ")
_HEARD = re.compile(r"heard I(\d+)")
_PART = re.compile(r"I(\d+) part (\d+)")
_TRY = re.compile(r"try (\d+)")
_STAGE = re.compile(r"stage (\w+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A command of the program and how far it got. Numbers start at 0, in text at 1."""

    index: int = 0
    tries: int = 1
    stage: str = ""
    """What was done for the command so far; empty when its own action comes next."""
    heard: int = 0
    """The newest instruction of a person that was taken up."""
    inserted: int = 0
    """The instruction being carried out now, or 0."""
    part: int = 0
    """The command of that instruction."""

    def line(self, total: int, doing: str) -> str:
        notes = []
        if self.inserted:
            notes.append(f"I{self.inserted} part {self.part + 1}")
        if self.heard:
            notes.append(f"heard I{self.heard}")
        if self.tries > 1:
            notes.append(f"try {self.tries}")
        if self.stage:
            notes.append(f"stage {self.stage}")
        inside = f" ({', '.join(notes)})" if notes else ""
        return f"At {self.index + 1} of {total}{inside}: {doing}"

    def again(self, stage: str = "") -> Place:
        return replace(self, tries=self.tries + 1, stage=stage)

    def at_stage(self, stage: str) -> Place:
        return replace(self, stage=stage)

    def after(self) -> Place:
        """The next command, of the inserted instruction or of the program."""
        if self.inserted:
            return replace(self, part=self.part + 1, tries=1, stage="")
        return replace(self, index=self.index + 1, tries=1, stage="")

    def back_to_program(self) -> Place:
        return Place(index=self.index, heard=self.heard)

    def hearing(self, number: int) -> Place:
        return Place(index=self.index, heard=number, inserted=number)


def find_place(texts: Iterable[str], total: int) -> Place | None:
    """The place that the newest of these texts names; None when none does."""
    for text in texts:
        lines = [m for m in _LINE.finditer(text) if int(m[2]) == total and 0 < int(m[1]) <= total]
        if lines:
            return _read(lines[-1])
    return None


def furthest_place(text: str, total: int) -> Place | None:
    """Of several places in a recalled text, the furthest: excerpts come in no order."""
    found = [_read(m) for m in _LINE.finditer(text) if int(m[2]) == total]
    fitting = [place for place in found if place.index < total]
    return max(fitting, key=lambda p: (p.index, p.heard), default=None)


def _read(found: re.Match[str]) -> Place:
    notes = found[3] or ""
    part, tries = _PART.search(notes), _TRY.search(notes)
    heard, stage = _HEARD.search(notes), _STAGE.search(notes)
    return Place(
        index=int(found[1]) - 1,
        tries=int(tries[1]) if tries else 1,
        stage=stage[1] if stage else "",
        heard=int(heard[1]) if heard else 0,
        inserted=int(part[1]) if part else 0,
        part=int(part[2]) - 1 if part else 0,
    )
