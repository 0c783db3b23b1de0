"""The kept block: what no compaction may evict, bounded, and never silently shortened."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain, takewhile
from types import MappingProxyType
from typing import NamedTuple

from app.domain.actions import Verdict
from app.domain.tasks import Instruction, StepRecord
from app.memory.ledger import step_line
from app.memory.tail import quoted
from app.memory.tokens import count_text, cut_text

ITEM_TOKENS = 200
"""Bound of one line of the block; a longer value comes back by recall."""
SAID_TOKENS = 1_300
"""Bound of what a person said: 5,000 letters are word for word."""
GROUP_TOKENS = 40
"""Room for the line that counts what has no line of its own."""
MISFITS = 32
"""Items in a row that are too long for what room is left before the block is full."""
FAILURES = 4
"""Newest failures and recoveries with a line of their own."""
UNRESOLVED = 8
"""Newest open points with a line of their own."""


class Kind(StrEnum):
    """Kinds of kept item."""

    SAID = "said"
    """By a person."""
    VALUE = "value"
    EFFECT = "effect"
    TROUBLE = "trouble"
    OPEN = "open"


SHARES: Mapping[Kind, float] = MappingProxyType(
    {Kind.SAID: 0.6, Kind.VALUE: 0.6, Kind.EFFECT: 0.4, Kind.TROUBLE: 0.3, Kind.OPEN: 0.3}
)
"""Part of a block that one kind may take while others wait; what is left over is anyone's."""


class Item(NamedTuple):
    """One thing to keep: its line and the step it belongs to."""

    step_number: int
    line: str
    kind: Kind

    @property
    def said(self) -> bool:
        return self.kind is Kind.SAID


class OpenPoints(NamedTuple):
    """Unresolved points of chunks: the newest first, and how many there are in all."""

    newest: tuple[Item, ...] = ()
    total: int = 0
    first_step: int = 0


NO_POINTS = OpenPoints()


class Block(NamedTuple):
    """Lines of the kept block, and how many items stand only in its group line."""

    lines: tuple[str, ...]
    grouped: int


class KeptFacts:
    """What the block is made of; grows with the task, each kind in the order of its steps."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.answers: list[tuple[str, str, int]] = []
        self.remembered: dict[str, tuple[str, int]] = {}
        self.effects: list[Item] = []
        self.failures: list[Item] = []

    def remember(self, values: dict[str, str], step_number: int) -> None:
        for key, value in values.items():
            self.remembered.pop(key, None)
            self.remembered[key] = (value, step_number)

    def note_step(self, step: StepRecord) -> None:
        """Keeps steps with an outside effect, and steps that went wrong or needed recovery."""
        line = cut_text(step_line(step).replace("\n", ";"), ITEM_TOKENS - 10)
        if step.irreversible and step.verdict is not Verdict.BLOCKED:
            self.effects.append(Item(step.step_number, f"- outside effect: {line}", Kind.EFFECT))
        elif step.verdict is not Verdict.EXECUTED or step.recoveries:
            self.failures.append(Item(step.step_number, f"- trouble: {line}", Kind.TROUBLE))

    def instructed(self, step_number: int) -> bool:
        """Whether a person said something that this step was the first to hear."""
        newest = takewhile(lambda i: i.step_number >= step_number, reversed(self.instructions))
        return any(i.step_number == step_number for i in newest)

    def block(self, tokens: int, unresolved: OpenPoints = NO_POINTS) -> Block:
        """Everything kept, within a bound: first what people said, then the newest.

        Looks at the newest items only, however many there are.
        """
        values = ((key, *self.remembered[key]) for key in reversed(self.remembered))
        rest = heapq.merge(
            map(_value, values),
            reversed(self.effects),
            reversed(self.failures[-FAILURES:]),
            unresolved.newest[:UNRESOLVED],
            key=lambda item: -item.step_number,
        )
        total = len(self.instructions) + len(self.answers) + len(self.remembered)
        total += len(self.effects) + len(self.failures) + unresolved.total
        capped = (*self.failures[-FAILURES - 1 : -FAILURES], *unresolved.newest[UNRESOLVED:])
        filling = _Filling(tokens)
        filling.newest_out = max((i.step_number for i in capped), default=0)
        filling.take(map(_said, reversed(self.instructions)))
        filling.take(map(_asked, reversed(self.answers)))
        filling.take(rest)
        return filling.block(total, self._first_step(unresolved))

    @property
    def heard(self) -> int:
        """Number of the newest instruction."""
        return self.instructions[-1].number if self.instructions else 0

    def heard_by(self, step_number: int) -> int:
        """Number of the newest instruction that a step could obey."""
        newest = (i.number for i in reversed(self.instructions) if i.step_number <= step_number)
        return next(newest, 0)

    def since(self, after: int, heard: int, *, failures: int = 0) -> tuple[Item, ...]:
        """Items of steps after one and instructions after one, in the order of kinds and steps.

        Of failures only the newest few: while their turns stand in A, they are said there.
        """
        said = map(_said, takewhile(lambda i: i.number > heard, reversed(self.instructions)))
        answers = takewhile(lambda a: a[2] > after, reversed(self.answers))
        values = ((key, *self.remembered[key]) for key in reversed(self.remembered))
        new = takewhile(lambda item: item.step_number > after, map(_value, values))
        kinds: tuple[Iterable[Item], ...] = (
            said,
            map(_asked, answers),
            new,
            _newer(reversed(self.effects), after),
            _newer(reversed(self.failures[len(self.failures) - failures :]), after),
        )
        return tuple(item for kind in kinds for item in reversed(tuple(kind)))

    def _first_step(self, unresolved: OpenPoints) -> int:
        oldest = next(iter(self.remembered.values()), None)
        firsts = [
            *(i.step_number for i in self.instructions[:1]),
            *(a[2] for a in self.answers[:1]),
            *([oldest[1]] if oldest is not None else []),
            *(i.step_number for i in chain(self.effects[:1], self.failures[:1])),
            *([unresolved.first_step] if unresolved.total else []),
        ]
        return min(firsts, default=0)


def bounded(items: Sequence[Item], tokens: int) -> tuple[str, ...]:
    """A few new items within a bound, shown in the order given."""
    filling = _Filling(tokens)
    newest = sorted(items, key=lambda i: -i.step_number)
    filling.take(i for i in newest if i.said)
    filling.take(i for i in newest if not i.said)
    first = min((i.step_number for i in items), default=0)
    return filling.block(len(items), first).lines


def newest_said(items: Sequence[Item]) -> int:
    """Room that lets what a person said last stand word for word."""
    newest = max((i for i in items if i.said), key=lambda i: i.step_number, default=None)
    return _line(newest)[1] + GROUP_TOKENS if newest is not None else 0


class _Filling:
    """Takes items in the order of their rank until a block is full."""

    def __init__(self, tokens: int) -> None:
        self._left = max(0, tokens - GROUP_TOKENS)
        self._shares = {kind: round(self._left * share) for kind, share in SHARES.items()}
        self._chosen: list[tuple[int, Item, str]] = []
        self._waiting: list[Item] = []
        self.newest_out = 0
        """The newest step of an item without a line."""

    def take(self, items: Iterable[Item]) -> None:
        """Goes through one stream of items, newest first, as long as some may fit."""
        misfits = 0
        rest = iter(items)
        for item in rest:
            if self._choose(item, min(self._left, self._shares[item.kind])):
                misfits = 0
                continue
            self._waiting.append(item)
            misfits += 1
            if misfits >= MISFITS or self._left <= 0:
                unseen = next(rest, item)
                self.newest_out = max(self.newest_out, unseen.step_number)
                return

    def block(self, total: int, first: int) -> Block:
        """What was chosen, people's words first, then by step, and what has no line of its own."""
        for item in self._waiting:
            if not self._choose(item, self._left):
                self.newest_out = max(self.newest_out, item.step_number)
        # Within a step as ranked, oldest rank last.
        self._chosen.sort(key=lambda c: (not c[1].said, c[1].step_number, -c[0]))
        lines = [line for _, _, line in self._chosen]
        if grouped := total - len(lines):
            lines.append(
                f"- and {grouped} more kept items of steps {first}-{max(first, self.newest_out)}: "
                "recall_history with their words brings them back"
            )
        return Block(tuple(lines), grouped)

    def _choose(self, item: Item, room: int) -> bool:
        line, cost = _line(item)
        if item.said and not self._chosen:
            # What a person said last is there whatever waits, as an excerpt if there is no room.
            room = self._left
            line, cost = (line, cost) if cost <= room else _cut(line, room - 1)
        if cost > room:
            return False
        self._chosen.append((len(self._chosen), item, line))
        self._left -= cost
        self._shares[item.kind] -= cost
        return True


def _newer(items: Iterator[Item], after: int) -> Iterator[Item]:
    return takewhile(lambda item: item.step_number > after, items)


def _said(said: Instruction) -> Item:
    line = f"- I{said.number} (step {said.step_number}): {quoted(said.text)}"
    return Item(said.step_number, line, Kind.SAID)


def _asked(asked: tuple[str, str, int]) -> Item:
    question, answer, step = asked
    line = f"- Q (step {step}): {quoted(question)} → {quoted(answer)}"
    return Item(step, line, Kind.SAID)


def _value(value: tuple[str, str, int]) -> Item:
    key, text, step = value
    return Item(step, f"- {key} = {quoted(text)} (step {step})", Kind.VALUE)


def _line(item: Item) -> tuple[str, int]:
    """An item's line within its bound, and what it costs."""
    return _cut(item.line, SAID_TOKENS if item.said else ITEM_TOKENS)


@lru_cache(maxsize=1_024)  # the same long lines are measured at every compaction
def _cut(line: str, bound: int) -> tuple[str, int]:
    if count_text(line) > bound:
        line = cut_text(line, max(0, bound - 12)) + "… (recall_history has it all)"
    return line, count_text(line) + 1
