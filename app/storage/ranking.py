"""Orders steps by what their texts say to a query: exact phrases first, then by relevance.

A step is weighed as a whole (BM25 over all its texts that were fetched, each by its length and
kind), with a share of what the steps beside it say: the words of a question are seldom all in one
text, and an action and its reason often in neighbouring steps. Words side by side, quoted parts and
steps named by number add to it; of equals the newer is first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.domain.memory import TextKind
from app.storage.candidates import Found, rarity
from app.storage.lookup import Text
from app.storage.search_text import fold
from app.storage.sought import Sought

KEPT, RECORDED, SAID, RETELLING = 1.25, 1.0, 0.8, 0.4
"""How much a match says: in what was kept on purpose, in what happened, in what was only thought
or planned, and in what retells other texts."""
WEIGHTS: dict[str, float] = {
    TextKind.REMEMBERED: KEPT,
    TextKind.INSTRUCTION: KEPT,
    TextKind.NOTE: KEPT,
    TextKind.ACTION: RECORDED,
    TextKind.RECOVERY: RECORDED,
    TextKind.VERDICT: RECORDED,
    TextKind.SCREEN: RECORDED,
    TextKind.OCR: RECORDED,
    TextKind.TOOL: RECORDED,
    TextKind.APP: RECORDED,
    TextKind.THINKING: SAID,
    TextKind.PLAN: SAID,
    TextKind.SUMMARY: RETELLING,
    TextKind.CHUNK: RETELLING,
    TextKind.ANSWER: RETELLING,
}
SHOWN_LATER = frozenset(kind for kind, weight in WEIGHTS.items() if weight < RECORDED)
"""Kinds of text that tell again what another text recorded."""
ONLY_ITS_OWN = frozenset(kind for kind, weight in WEIGHTS.items() if weight == RETELLING)
"""Kinds of text that say nothing about the steps beside theirs."""
SATURATION = 1.5
LENGTH = 0.75
"""Share of a text's length that counts against it."""
COVERAGE = 0.3
"""Share of a step's relevance that it only has in so far as it holds all of the query."""
SIDE_BY_SIDE = 0.5
QUOTED = 1.0
NAMED = 0.5
"""Of the best relevance, for a step that the query names."""
NEIGHBOUR = 0.4
"""Share of a step's words that counts for those beside it as well."""
CLOSELY = 60
"""Steps whose texts are compared with the query's exact words."""
_DIGITS = 6  # below which two relevances are the same


class Ranked(NamedTuple):
    """One step that matched, by its best text."""

    phrase: bool
    """Holds the whole query as it stands."""
    relevance: float
    step_number: int
    kind: TextKind
    text: str

    @property
    def score(self) -> float:
        """One figure for people: from 1 on the exact phrase."""
        return round(self.phrase + self.relevance / (1 + self.relevance), 4)


class Match(NamedTuple):
    """One text and the terms it holds, with how much of each."""

    row: Text
    shares: dict[str, float]


def rank(found: Found, sought: Sought, most: int) -> list[Ranked]:
    """The best steps, best first, each once."""
    texts = found.texts
    value = {
        t.token: t.worth * found.rarity[t.token] for t in sought.terms if t.token in found.rarity
    }
    lengths = [row.search_text.count(" ") + 1 for row in texts]
    usual = sum(lengths) / max(1, len(lengths))
    steps: dict[int, list[Match]] = defaultdict(list)
    for row, length in zip(texts, lengths, strict=True):
        shares = _shares(row, value, length / usual)
        if shares or row.step_number in sought.steps:
            steps[row.step_number].append(Match(row, shares))
    relevance = _relevance(steps, value, whole=found.ended)
    _add_exact(relevance, steps, sought, max(value.values(), default=0.0))
    _add_named(relevance, sought)
    return [
        _hit(number, phrase, relevance[number], steps[number], sought, value)
        for phrase, number in _best(steps, relevance, sought)[:most]
    ]


def _shares(row: Text, value: Mapping[str, float], length: float) -> dict[str, float]:
    """How often a text holds each term, against its length (1 is usual) and by its kind."""
    # Spaces on both sides: a token is found whole, without cutting the text up.
    padded = f" {row.search_text} "
    factor = WEIGHTS[row.kind] / (1 - LENGTH + LENGTH * length)
    shares: dict[str, float] = {}
    for token in value:
        if token in padded and (count := padded.count(f" {token} ")):
            shares[token] = count * factor
    return shares


def _held(matches: Sequence[Match]) -> dict[str, float]:
    """How much a step holds of each term: a screen read twice, or retold, says it once."""
    total: dict[str, float] = {}
    for match in matches:
        for token, share in match.shares.items():
            if share > total.get(token, 0.0):
                total[token] = share
    return total


def _lent(matches: Sequence[Match], held: Mapping[str, float]) -> Mapping[str, float]:
    """What of it also counts for the steps beside it."""
    others = [match for match in matches if match.row.kind not in ONLY_ITS_OWN]
    return held if len(others) == len(matches) else _held(others)


def _relevance(
    steps: Mapping[int, Sequence[Match]], value: Mapping[str, float], *, whole: bool
) -> dict[int, float]:
    """BM25 of each step with its neighbours, damped by what of the query it lacks.

    The newest step of a task that goes on has no next yet: until the task is whole, the one
    neighbour of a step at either end counts twice.
    """
    first, last = (0, 0) if whole else (min(steps, default=0), max(steps, default=0))
    all_of_it = math.fsum(value.values()) or 1.0
    held = {number: _held(matches) for number, matches in steps.items()}
    lent = {number: _lent(matches, held[number]) for number, matches in steps.items()}
    nothing: dict[str, float] = {}
    relevance: dict[int, float] = {}
    for number, own in held.items():
        before = lent.get(number - 1 if number != first else number + 1, nothing)
        after = lent.get(number + 1 if number != last else number - 1, nothing)
        score = covered = 0.0
        for token in own.keys() | before.keys() | after.keys():
            near = before.get(token, 0.0) + after.get(token, 0.0)
            share = own.get(token, 0.0) + NEIGHBOUR * near
            score += value[token] * share * (SATURATION + 1) / (share + SATURATION)
            covered += value[token]
        relevance[number] = score * (1 - COVERAGE + COVERAGE * covered / all_of_it)
    return relevance


def _add_exact(
    relevance: dict[int, float], steps: Mapping[int, Sequence[Match]], sought: Sought, usual: float
) -> None:
    """Words side by side as in the query, and quoted parts as they stand."""
    padded = {
        number: [f" {match.row.search_text} " for match in matches if match.shares]
        for number, matches in steps.items()
    }
    for pair, worth in _pairs(sought).items():
        holders = [number for number, texts in padded.items() if any(pair in t for t in texts)]
        # Two common words side by side can be the rarest of all.
        value = worth * rarity(len(holders), len(padded))
        for number in holders:
            relevance[number] += SIDE_BY_SIDE * value
    if sought.quotes:
        for number in sorted(relevance, key=lambda number: -relevance[number])[:CLOSELY]:
            texts = [fold(match.row.text) for match in steps[number]]
            for quote in sought.quotes:
                if any(quote in text for text in texts):
                    relevance[number] += QUOTED * usual


def _pairs(sought: Sought) -> dict[str, float]:
    """Neighbouring words of the query as the index holds them, with what they are worth."""
    worth = {term.token: term.worth for term in sought.terms}
    return {
        f" {a} {b} ": min(worth[a], worth[b])
        for a, b in pairwise(sought.words)
        if a in worth and b in worth
    }


def _add_named(relevance: dict[int, float], sought: Sought) -> None:
    best = max(relevance.values(), default=0.0) or 1.0
    for number in sought.steps:
        if number in relevance:
            relevance[number] += NAMED * best


def _best(
    steps: Mapping[int, Sequence[Match]], relevance: Mapping[int, float], sought: Sought
) -> list[tuple[bool, int]]:
    """The steps, best first, each with whether it holds the whole query as it stands."""
    order = sorted(relevance, key=lambda number: (-round(relevance[number], _DIGITS), -number))
    together = f" {' '.join(sought.words)} "
    # A phrase that a common word hides far down is still the best answer.
    exact = {
        number: any(_exact(match, sought) for match in steps[number])
        for place, number in enumerate(order)
        if place < CLOSELY or any(together in f" {m.row.search_text} " for m in steps[number])
    }
    return sorted(((phrase, number) for number, phrase in exact.items()), key=lambda p: not p[0])


def _exact(match: Match, sought: Sought) -> bool:
    """Whether a text holds the whole query as it stands."""
    # The words inside the query can only be whole ones: to look for them first is cheap.
    padded = f" {match.row.search_text} "
    inside = all(f" {word} " in padded for word in sought.words[1:-1])
    return inside and sought.phrase.within(fold(match.row.text))


def _hit(
    number: int,
    phrase: bool,
    relevance: float,
    matches: Sequence[Match],
    sought: Sought,
    value: Mapping[str, float],
) -> Ranked:
    """The step by that one of its texts that says most.

    One that holds the whole query comes before any other. Of two that hold as much of it, what
    was recorded comes before what retells it.
    """
    match = min(
        matches,
        key=lambda match: (
            phrase and not _exact(match, sought),
            -round(math.fsum(value[token] for token in match.shares), _DIGITS),
            match.row.kind in SHOWN_LATER,
            -_own(match, value),
        ),
    )
    return Ranked(
        phrase=phrase,
        relevance=round(relevance, _DIGITS),
        step_number=number,
        kind=TextKind(match.row.kind),
        text=match.row.text,
    )


def _own(match: Match, value: Mapping[str, float]) -> float:
    """What a text says by itself."""
    return sum(
        value[token] * share * (SATURATION + 1) / (share + SATURATION)
        for token, share in match.shares.items()
    )
