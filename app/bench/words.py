"""Texts with words drawn as in real text, and answers planted among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from app.domain.memory import SearchEntry, TextKind

VOCABULARY = 50_000
SHIFT = 2.7
"""Of Zipf's law as Mandelbrot mended it: the commonest words are less extreme."""
KINDS = (
    (TextKind.SCREEN, 14),
    (TextKind.SCREEN, 14),
    (TextKind.SCREEN, 14),
    (TextKind.SCREEN, 14),
    (TextKind.ACTION, 5),
    (TextKind.THINKING, 25),
    (TextKind.VERDICT, 8),
    (TextKind.APP, 4),
    (TextKind.TOOL, 12),
    (TextKind.OCR, 20),
)
"""The texts of one step, each with its usual number of words."""
PLANTED_AT = 3
"""Which of them holds an answer."""
RANKS = ((0, 50), (0, 50), (50, 500), (500, 5_000), (5_000, VOCABULARY))
"""Of a query's five words: two are among the commonest, one is rare."""
_WEIGHTS = tuple(accumulate(1 / (rank + SHIFT) for rank in range(VOCABULARY)))


class Question(NamedTuple):
    """A query and the step that answers it."""

    step: int
    query: str


class Writer:
    """Writes the texts of a task's steps, the same ones for the same seed."""

    def __init__(self, seed: int, steps: int, questions: int) -> None:
        self._random = random.Random(seed)
        self.steps = steps
        chosen = sorted(self._random.sample(range(1, steps + 1), min(questions, steps)))
        self._planted = {step: self._question() for step in chosen}

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(Question(n, " ".join(words)) for n, words in self._planted.items())

    def texts(self, first: int, last: int) -> Iterator[SearchEntry]:
        """All texts of these steps."""
        for step in range(first, last + 1):
            for place, (kind, usual) in enumerate(KINDS):
                words = self._words(max(2, round(self._random.gauss(usual, usual / 3))))
                if place == PLANTED_AT and step in self._planted:
                    words = [*words[:9], *self._planted[step]]
                    self._random.shuffle(words)
                yield SearchEntry(step_number=step, kind=kind, text=" ".join(words))

    def _words(self, count: int) -> list[str]:
        drawn = self._random.choices(range(VOCABULARY), cum_weights=_WEIGHTS, k=count)
        return [_spelled(rank) for rank in drawn]

    def _question(self) -> list[str]:
        words: dict[str, None] = {}
        for low, high in RANKS:
            while (word := _spelled(self._random.randrange(low, high))) in words:
                continue
            words[word] = None
        asked = list(words)
        self._random.shuffle(asked)
        return asked


def _spelled(rank: int) -> str:
    """A word for a rank; common ones are short."""
    letters = ""
    rest = rank + 1
    while rest:
        rest, letter = divmod(rest, 26)
        letters += chr(ord("a") + letter)
    return f"w{letters}"
