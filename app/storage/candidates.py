"""Fetches the texts of one task that may answer a query, at a cost that the whole index's size
does not enter.

A full-text index weighs a word by counting its rows over all tasks, and ranks every row that
holds any of the words: with common words that is most of a store. Here each word is looked up
within the task's own range of ids, newest first and no further than a bound. Words below the
bound are known completely, so their rows are all candidates; of the words above it only the
newest rows are taken, and the rows that hold several of them. What a candidate is worth is
computed from its text afterwards (ranking.py).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from app.storage.lookup import Place, Rows, Sight, TaskIndex, Text
from app.storage.sought import MAX_PHRASE, Sought, Term

DEPTH = 2_000
"""Rows looked at for one word; a word with more is common in this task."""
TOGETHER = 400
"""Rows looked at that hold two common words, or all of them."""
EXACT = 100
"""Rows looked at that hold a whole phrase."""
CANDIDATES = 200
"""Texts that are read and compared with the query."""
MAX_COMMON = 4
"""Common words that are paired."""
_PHRASE_WEIGHT = 1_000.0


class Found(NamedTuple):
    """What may answer a query."""

    texts: Sequence[Text]
    rarity: dict[str, float]
    """Of each term that occurs: the rarer in this task, the higher."""
    ended: bool
    """The task's newest step has no next that is yet to come."""


def find(index: TaskIndex, sought: Sought, steps: tuple[int, int] | None) -> Found:
    """The most promising texts; those of steps that the query names are among them."""
    place = index.place(steps)
    if place is None:
        return Found((), {}, ended=True)
    rows = _rows_of_terms(index, sought.terms, place)
    rarity = {token: _rarity(found, place) for token, found in rows.items()}
    weights: dict[int, float] = defaultdict(float)
    for term in sought.terms:
        if term.token in rows:
            _add(weights, rows[term.token].ids, term.worth * rarity[term.token] + 0.01)
    together = list(_together(index, sought, rows, rarity)) if weights else []
    looked_up = index.look_up([sight for sight, _ in together], place)
    for (_, weight), found in zip(together, looked_up, strict=True):
        _add(weights, found.ids, weight)
    for words in _phrases(sought, rows):
        _add(weights, _holders(words, rows) or (), _PHRASE_WEIGHT)
    best = [place.first + number for number in _heaviest(weights, CANDIDATES)]
    texts = index.texts(best) if best else []
    if sought.steps:
        known = set(texts)
        texts += [t for t in index.of_steps(sought.steps, place) if t not in known]
    return Found(texts, rarity, place.ended)


def _rows_of_terms(index: TaskIndex, terms: Sequence[Term], place: Place) -> dict[str, Rows]:
    """The rows of each term that occurs; of a word that says nothing only their number."""
    sights = [Sight(index.word(t.token), DEPTH, counted=not t.telling) for t in terms]
    looked_up = zip(terms, index.look_up(sights, place), strict=True)
    found = {term: rows for term, rows in looked_up if rows.number}
    if not any(term.telling for term in found):
        # Nothing but such words: then they are what was meant.
        sights = [Sight(index.word(term.token), DEPTH) for term in found]
        found = dict(zip(found, index.look_up(sights, place), strict=True))
    return {term.token: rows for term, rows in found.items()}


def _rarity(rows: Rows, place: Place) -> float:
    count = rows.number
    if not _complete(rows):
        # As dense among the older texts as among those looked at.
        count = count * (place.last - place.first + 1) // (place.last - rows.oldest + 1)
    return math.log(1 + (max(place.entries - count, 0) + 0.5) / (count + 0.5))


def _complete(rows: Rows) -> bool:
    """No row lies beyond those looked at."""
    return rows.number < DEPTH


def _add(weights: dict[int, float], numbers: Sequence[int], weight: float) -> None:
    for number in numbers:
        weights[number] += weight


def _together(
    index: TaskIndex, sought: Sought, rows: Mapping[str, Rows], rarity: Mapping[str, float]
) -> Iterator[tuple[Sight, float]]:
    """Look-ups of common words with each other, and of phrases, each with its weight.

    The rows of all other words are known, those that hold several of them included.
    """
    common = [token for token, found in rows.items() if found.ids and not _complete(found)]
    paired = sorted(common, key=lambda token: -rarity[token])
    if sum(len(found.ids) for found in rows.values() if _complete(found)) < CANDIDATES:
        pairs = list(combinations(paired[:MAX_COMMON], 2))
        for tokens in [*pairs, *([tuple(paired)] if len(paired) > 2 else [])]:
            weight = sum(rarity[token] for token in tokens)
            yield Sight(index.all_of(tokens), TOGETHER), weight
    for words in _phrases(sought, rows):
        if _holders(words, rows) is None:
            yield Sight(index.phrase(words), EXACT), _PHRASE_WEIGHT


def _phrases(sought: Sought, rows: Mapping[str, Rows]) -> Iterator[Sequence[str]]:
    """The query and its quotations, where each of their words occurs."""
    for words in (sought.words, *sought.quoted_words):
        if 1 < len(words) <= MAX_PHRASE and all(word in rows for word in words):
            yield words


def _holders(words: Sequence[str], rows: Mapping[str, Rows]) -> list[int] | None:
    """The rows that hold all of the words that are not common; None where they are too many.

    No row beyond them holds the phrase, so that the index need not be asked for it.
    """
    known = [set(rows[word].ids) for word in words if rows[word].ids and _complete(rows[word])]
    holders = sorted(set.intersection(*known)) if known else None
    return holders if holders is not None and len(holders) <= EXACT else None


def _heaviest(weights: Mapping[int, float], most: int) -> list[int]:
    """The rows with the highest weights, of equals the newest."""
    # Few terms make few sums: to sort the rows of the highest ones is less than to sort all.
    alike: dict[float, list[int]] = defaultdict(list)
    for number, weight in weights.items():
        alike[weight].append(number)
    best: list[int] = []
    for weight in sorted(alike, reverse=True):
        best += sorted(alike[weight], reverse=True)
        if len(best) >= most:
            break
    return best[:most]
