"""Zone A: the last turns as real messages; it only grows, and is left in batches."""

from __future__ import annotations

from dataclasses import replace

from app.domain.memory import Departure
from app.domain.messages import Message
from app.domain.tasks import StepRecord
from app.memory.ledger import turn_messages, turn_plain, turn_text
from app.memory.tokens import Counter
from app.memory.zones import Turn

TURN_TOKENS = 2_500
"""A larger finished turn becomes an excerpt when the budget needs it."""
EXCERPT_TOKENS = TURN_TOKENS // 4
EXCERPT = "larger than a turn may be; an excerpt stays"


class Active:
    """The turns that stand in a prompt word for word."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.turns: list[Turn] = []
        self._whole: dict[int, Turn] = {}
        self.through = 0
        """The newest step taken in."""

    def add(self, step: StepRecord, *, excerpt: bool, plain: bool) -> None:
        """Takes a finished turn; as an excerpt where it was one before a restart."""
        messages = turn_plain(step, TURN_TOKENS) if plain else turn_messages(step)
        short = turn_text(step, EXCERPT_TOKENS)
        turn = Turn(
            number=step.step_number,
            messages=messages,
            tokens=self._count(messages),
            excerpt=short,
            excerpt_tokens=self._count(short),
        )
        self._whole[turn.number] = turn
        self.turns.append(_excerpt(turn) if excerpt else turn)
        self.through = step.step_number

    def leave(self, stay: int) -> list[Turn]:
        """Takes out all turns but the last ones."""
        at = max(0, len(self.turns) - stay)
        gone, self.turns = self.turns[:at], self.turns[at:]
        for turn in gone:
            del self._whole[turn.number]
        return gone

    def unfold(self) -> None:
        """Every turn whole again, for a prompt that is written anew."""
        self.turns = [self._whole[t.number] for t in self.turns]

    @property
    def tokens(self) -> int:
        return sum(t.tokens for t in self.turns)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(m for turn in self.turns for m in turn.messages)

    @property
    def excerpted(self) -> frozenset[int]:
        """Steps that stand here as an excerpt."""
        return frozenset(t.number for t in self.turns if t is not self._whole[t.number])

    def excerpt(self, above: int) -> list[Departure]:
        """Excerpts in place of turns larger than a bound."""
        departures = []
        for i, turn in enumerate(self.turns):
            if turn.number not in self.excerpted and turn.tokens > max(above, turn.excerpt_tokens):
                departures.append(
                    Departure(
                        what=f"turn of step {turn.number}",
                        why=EXCERPT,
                        tokens=turn.tokens - turn.excerpt_tokens,
                    )
                )
                self.turns[i] = _excerpt(turn)
        return departures

    def _count(self, messages: tuple[Message, ...]) -> int:
        return sum(self._counter.message(m) for m in messages)


def _excerpt(turn: Turn) -> Turn:
    return replace(turn, messages=turn.excerpt, tokens=turn.excerpt_tokens)
