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
from typing import NamedTuple

from app.domain.memory import TextKind
from app.storage.candidates import Found
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
SIDE_BY_SIDE = 0.25
QUOTED = 1.0
NAMED = 0.5
"""Of the best relevance, for a step that the query names."""
NEIGHBOUR = 0.4
"""Share of a step's words that counts for those beside it as well."""
CLOSELY = 60
"""Steps whose texts are compared with the query's exact words."""
_DIGITS = 6  # below which two relevances are the same


class Ranked(NamedTuple):
    """One step that matched, by its best text; compares from worst to best."""

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
    texts, rarity = found.texts, found.rarity
    value = {t.token: t.worth * rarity[t.token] for t in sought.terms if t.token in rarity}
    steps: dict[int, list[Match]] = defaultdict(list)
    usual = _usual_length(texts)
    for row in texts:
        shares = _shares(row, value, usual)
        if shares or row.step_number in sought.steps:
            steps[row.step_number].append(Match(row, shares))
    relevance = _relevance(steps, value, whole=found.ended)
    _add_exact(relevance, steps, sought, value)
    _add_named(relevance, sought)
    return _ranked(steps, relevance, sought, value)[:most]


def _usual_length(rows: Sequence[Text]) -> float:
    words = sum(str(row.search_text).count(" ") + 1 for row in rows)
    return words / max(1, len(rows))


def _shares(row: Text, value: Mapping[str, float], usual: float) -> dict[str, float]:
    """How often a text holds each term, against its length and by its kind."""
    # Spaces on both sides: a token is found whole, without cutting the text up.
    padded = f" {row.search_text} "
    counts = {token: n for token in value if (n := padded.count(f" {token} "))}
    if not counts:
        return {}
    length = row.search_text.count(" ") + 1
    factor = WEIGHTS[row.kind] / (1 - LENGTH + LENGTH * length / usual)
    return {token: count * factor for token, count in counts.items()}


def _held(matches: Sequence[Match]) -> dict[str, float]:
    """How much a step holds of each term: a screen read twice, or retold, says it once."""
    total: dict[str, float] = {}
    for match in matches:
        for token, share in match.shares.items():
            if share > total.get(token, 0.0):
                total[token] = share
    return total


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
    lent = {
        number: _held([match for match in matches if match.row.kind not in ONLY_ITS_OWN])
        for number, matches in steps.items()
    }
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
    relevance: dict[int, float],
    steps: Mapping[int, Sequence[Match]],
    sought: Sought,
    value: Mapping[str, float],
) -> None:
    """Words side by side as in the query, and quoted parts as they stand."""
    pairs = {
        f" {a} {b} ": min(value[a], value[b])
        for a, b in zip(sought.words, sought.words[1:], strict=False)
        if a in value and b in value
    }
    if not pairs and not sought.quotes:
        return
    closely = sorted(relevance, key=lambda number: -relevance[number])[:CLOSELY]
    usual = max(value.values(), default=0.0)
    for number in closely:
        texts = [f" {match.row.search_text} " for match in steps[number] if match.shares]
        beside = sum(v for pair, v in pairs.items() if any(pair in text for text in texts))
        relevance[number] += SIDE_BY_SIDE * beside
        for quote in sought.quotes:
            if any(quote in fold(match.row.text) for match in steps[number]):
                relevance[number] += QUOTED * usual


def _add_named(relevance: dict[int, float], sought: Sought) -> None:
    best = max(relevance.values(), default=0.0) or 1.0
    for number in sought.steps:
        if number in relevance:
            relevance[number] += NAMED * best


def _ranked(
    steps: Mapping[int, Sequence[Match]],
    relevance: Mapping[int, float],
    sought: Sought,
    value: Mapping[str, float],
) -> list[Ranked]:
    order = sorted(relevance, key=lambda number: (-round(relevance[number], _DIGITS), -number))
    together = f" {' '.join(sought.words)} "
    ranked = []
    for place, number in enumerate(order):
        # A phrase that a common word hides far down is still the best answer.
        if place < CLOSELY or any(together in f" {m.row.search_text} " for m in steps[number]):
            match, phrase = _shown(steps[number], sought, value)
            ranked.append(
                Ranked(
                    phrase=phrase,
                    relevance=round(relevance[number], _DIGITS),
                    step_number=number,
                    kind=TextKind(match.row.kind),
                    text=match.row.text,
                )
            )
    return sorted(ranked, reverse=True)


def _shown(
    matches: Sequence[Match], sought: Sought, value: Mapping[str, float]
) -> tuple[Match, bool]:
    """The step's text that says most: one that holds the whole query before any other.

    Of two that hold as much of it, what was recorded comes before what retells it.
    """
    best = sorted(
        matches,
        key=lambda match: (
            -round(math.fsum(value[token] for token in match.shares), _DIGITS),
            match.row.kind in SHOWN_LATER,
            -_own(match, value),
        ),
    )
    for match in best:
        if sought.phrase.within(fold(match.row.text)):
            return match, True
    return best[0], False


def _own(match: Match, value: Mapping[str, float]) -> float:
    """What a text says by itself."""
    return sum(
        value[token] * share * (SATURATION + 1) / (share + SATURATION)
        for token, share in match.shares.items()
    )
