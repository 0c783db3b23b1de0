"""The kept block: what no compaction may evict, bounded, and never silently shortened."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple, TypeVar

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


class Item(NamedTuple):
    """One thing to keep: its line and the step it belongs to."""

    step_number: int
    line: str
    said: bool = False
    """By a person."""


_S = TypeVar("_S", Item, Instruction)


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
            self.effects.append(Item(step.step_number, f"- outside effect: {line}"))
        elif step.verdict is not Verdict.EXECUTED or step.recoveries:
            self.failures.append(Item(step.step_number, f"- trouble: {line}"))

    def instructed(self, step_number: int) -> bool:
        """Whether a person said something that this step was the first to hear."""
        newest = takewhile(lambda i: i.step_number >= step_number, reversed(self.instructions))
        return any(i.step_number == step_number for i in newest)

    def block(self, tokens: int, unresolved: OpenPoints = NO_POINTS) -> Block:
        """Everything kept, within a bound: first what people said, then the newest.

        Looks at the newest items only, however many there are.
        """
        said = chain(map(_said, reversed(self.instructions)), map(_asked, reversed(self.answers)))
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
        first = self._first_step(unresolved)
        newest_out = max((i.step_number for i in capped), default=first)
        return _block(chain(said, rest), total, tokens, (first, newest_out))

    def since(self, after: int, instructions_after: int, *, failures: int = 0) -> tuple[Item, ...]:
        """Items newer than the given step numbers, in the order of their kinds and steps.

        Of failures only the newest few: while their turns stand in A, they are said there.
        """
        said = (_said(i) for i in _newer(reversed(self.instructions), instructions_after))
        answers = takewhile(lambda a: a[2] > after, reversed(self.answers))
        values = ((key, *self.remembered[key]) for key in reversed(self.remembered))
        new = takewhile(lambda item: item.step_number > after, map(_value, values))
        kinds = (
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
    ranked = sorted(items, key=lambda i: (not i.said, -i.step_number))
    first = min((i.step_number for i in items), default=0)
    return _block(ranked, len(ranked), tokens, (first, first)).lines


def _block(ranked: Iterable[Item], total: int, tokens: int, left_out: tuple[int, int]) -> Block:
    """Takes items in the order of their rank until the block is full; shows them by step."""
    chosen: list[tuple[int, Item]] = []
    left, misfits, (first, newest_out) = tokens - GROUP_TOKENS, 0, left_out
    rest = iter(ranked)
    for item in rest:
        cost = count_text(_line(item)) + 1
        if cost <= left:
            chosen.append((len(chosen), item))
            left, misfits = left - cost, 0
            continue
        misfits, newest_out = misfits + 1, max(newest_out, item.step_number)
        if misfits >= MISFITS or left <= 0:
            # Of what was not looked at, the first one that nobody said is the newest.
            unseen = next((i for i in rest if not i.said), item)
            newest_out = max(newest_out, unseen.step_number)
            break
    # People's words first, then by step; within a step as ranked, oldest rank last.
    chosen.sort(key=lambda c: (not c[1].said, c[1].step_number, -c[0]))
    lines = [_line(item) for _, item in chosen]
    if grouped := total - len(chosen):
        lines.append(
            f"- and {grouped} more kept items of steps {first}-{newest_out}: "
            "recall_history with their words brings them back"
        )
    return Block(tuple(lines), grouped)


def _newer(items: Iterator[_S], after: int) -> Iterator[_S]:
    return takewhile(lambda item: item.step_number > after, items)


def _said(said: Instruction) -> Item:
    line = f"- I{said.number} (step {said.step_number}): {quoted(said.text)}"
    return Item(said.step_number, line, said=True)


def _asked(asked: tuple[str, str, int]) -> Item:
    question, answer, step = asked
    return Item(step, f"- Q (step {step}): {quoted(question)} → {quoted(answer)}", said=True)


def _value(value: tuple[str, str, int]) -> Item:
    key, text, step = value
    return Item(step, f"- {key} = {quoted(text)} (step {step})")


def _line(item: Item) -> str:
    bound = SAID_TOKENS if item.said else ITEM_TOKENS
    if count_text(item.line) <= bound:
        return item.line
    return cut_text(item.line, bound - 12) + "… (recall_history has it all)"
