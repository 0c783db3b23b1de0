"""The kept block: what no compaction may evict, bounded, and never silently shortened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from app.domain.actions import Verdict
from app.domain.tasks import Instruction, StepRecord
from app.memory.ledger import step_line
from app.memory.tail import quoted
from app.memory.tokens import count_text, cut_text

ITEM_TOKENS = 200
"""Bound of one line of the block; a longer value comes back by recall."""


class Item(NamedTuple):
    """One thing to keep: its line and the step it belongs to."""

    step_number: int
    line: str


class KeptFacts:
    """What the block is made of; grows with the task."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.answers: list[tuple[str, str, int]] = []
        self.remembered: dict[str, tuple[str, int]] = {}
        self.effects: list[Item] = []

    def remember(self, values: dict[str, str], step_number: int) -> None:
        for key, value in values.items():
            self.remembered.pop(key, None)
            self.remembered[key] = (value, step_number)

    def note_step(self, step: StepRecord) -> None:
        """Keeps steps with an outside effect and steps that needed recovery."""
        if step.irreversible and step.verdict is not Verdict.BLOCKED:
            line = f"- outside effect: {cut_text(step_line(step), ITEM_TOKENS)}"
            self.effects.append(Item(step.step_number, line))

    def items(self, after: int, *, instructions_after: int) -> list[Item]:
        """Lines newer than the given step numbers, in the order they are shown."""
        said = [
            Item(i.step_number, f"- I{i.number} (step {i.step_number}): {quoted(i.text)}")
            for i in self.instructions
            if i.step_number > instructions_after
        ]
        asked = [
            Item(step, f"- Q (step {step}): {quoted(q)} → {quoted(a)}")
            for q, a, step in self.answers
            if step > after
        ]
        values = [
            Item(step, f"- {key} = {quoted(value)} (step {step})")
            for key, (value, step) in self.remembered.items()
            if step > after
        ]
        return said + asked + values + [e for e in self.effects if e.step_number > after]


def kept_lines(items: Iterable[Item], tokens: int) -> list[str]:
    """The block within its bound: first come what people said, then the newest.

    What does not fit is counted in one group line with its step range, and comes back by
    one recall.
    """
    ordered = list(items)
    ranked = sorted(
        range(len(ordered)), key=lambda i: (not _from_people(ordered[i]), -ordered[i].step_number)
    )
    chosen: set[int] = set()
    left = tokens - 40
    for i in ranked:
        cost = count_text(_line(ordered[i])) + 1
        if cost <= left:
            chosen.add(i)
            left -= cost
    lines = [_line(ordered[i]) for i in range(len(ordered)) if i in chosen]
    out = [ordered[i] for i in range(len(ordered)) if i not in chosen]
    if out:
        first, last = min(o.step_number for o in out), max(o.step_number for o in out)
        lines.append(
            f"- and {len(out)} more kept items of steps {first}-{last}: "
            "recall_history with their words brings them back"
        )
    return lines


def _from_people(item: Item) -> bool:
    return item.line.startswith(("- I", "- Q ("))


def _line(item: Item) -> str:
    if count_text(item.line) <= ITEM_TOKENS:
        return item.line
    return cut_text(item.line, ITEM_TOKENS - 12) + "… (recall_history has it all)"
