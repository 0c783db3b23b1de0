"""A prompt while it is fitted into its budget: its tail, and what may still be shortened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from app.domain.memory import Departure, ZoneTokens
from app.domain.messages import Message, Text
from app.memory.active import TURN_TOKENS, Active
from app.memory.tail import FULL, LEAN, Bounds, TailFacts, tail_text
from app.memory.tokens import Counter, count_text

FEW_ELEMENTS = (500, 120)
"""Element lists, in tokens, that stand in for the whole one: first and last resort."""
HARD = "hard limit"
TARGET = "soft limit"


@dataclass(frozen=True)
class Draft:
    """Zone T as it would be sent."""

    facts: TailFacts
    element_tokens: int
    bounds: Bounds = FULL

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The text before the element list, and the list."""
        return tail_text(self.facts, self.element_tokens, self.bounds)

    @property
    def lean(self) -> bool:
        return self.bounds is LEAN

    def message(self) -> Message:
        text, elements = self.texts
        image = self.facts.image
        parts = (Text(text=f"{text}\n{elements}"), *((image,) if image else ()))
        return Message(role="user", parts=parts)

    def zones(self, stable: int, frozen: int, active: int, counter: Counter) -> ZoneTokens:
        text, elements = self.texts
        image = counter.image_tokens if self.facts.image is not None else 0
        listed = count_text(elements)
        return ZoneTokens(
            stable=stable,
            frozen=frozen,
            active=active,
            tail=count_text(text) + listed + image,
            image=image,
            elements=listed,
        )


@dataclass
class Fitting:
    """Shortens the longest things, one after the other, until the prompt is under a limit."""

    draft: Draft
    active: Active
    total: Callable[[Draft], int]
    """Tokens of the prompt with a tail, after correction."""
    lean: Callable[[Draft], Draft]
    """The same tail in short."""
    least_frozen: Callable[[], int]
    """Writes zone F with the beginning of the goal alone; gives the tokens that this saved."""

    def to_target(self, target: int) -> tuple[Departure, ...]:
        """A tail that is too long for the usual budget is said in short."""
        if self.total(self.draft) <= target:
            return ()
        return self._lean(TARGET)

    def to_limit(self, hard: int) -> tuple[Departure, ...]:
        """The last means, the least loss first; all of it is one recall away or on the screen."""
        gone: list[Departure] = []
        few, fewest = FEW_ELEMENTS
        for shorten in (
            lambda: self._lean(HARD),
            lambda: self.active.excerpt(TURN_TOKENS),
            lambda: self._elements(few),
            lambda: self.active.excerpt(0),
            self._goal,
            self._picture,
            lambda: self._elements(fewest),
        ):
            if self.total(self.draft) <= hard:
                break
            gone += shorten()
        return tuple(gone)

    def _lean(self, why: str) -> tuple[Departure, ...]:
        if self.draft.lean:
            return ()
        before = self._size()
        self.draft = self.lean(self.draft)
        return self._gone("what stands around the screen", f"{why}; said in short", before)

    def _elements(self, tokens: int) -> tuple[Departure, ...]:
        if self.draft.element_tokens <= tokens:
            return ()
        before = self._size()
        self.draft = replace(self.draft, element_tokens=tokens)
        return self._gone("element list", f"{HARD}; explore_ui has all", before)

    def _goal(self) -> tuple[Departure, ...]:
        saved = self.least_frozen()
        why = f"{HARD}; the rest is one recall away"
        return (Departure(what="goal", why=why, tokens=saved),) if saved > 0 else ()

    def _picture(self) -> tuple[Departure, ...]:
        if self.draft.facts.image is None:
            return ()
        before = self._size()
        self.draft = replace(self.draft, facts=replace(self.draft.facts, image=None))
        return self._gone("picture", HARD, before)

    def _size(self) -> int:
        return self.total(self.draft)

    def _gone(self, what: str, why: str, before: int) -> tuple[Departure, ...]:
        saved = before - self._size()
        return (Departure(what=what, why=why, tokens=saved),) if saved > 0 else ()
