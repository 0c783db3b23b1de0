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
from itertools import combinations, pairwise
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
MAX_PAIRS = 4
"""Neighbouring words of a query that are looked up together."""
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
    rare = {token: _rarity(found, place) for token, found in rows.items()}
    weights: dict[int, float] = defaultdict(float)
    worth = {t.token: t.worth * rare[t.token] + 0.01 for t in sought.terms if t.token in rows}
    for token, weight in worth.items():
        _add(weights, rows[token].ids, weight)
    for token in (token for token in worth if rows[token].ids and not _complete(rows[token])):
        # Whether an older row holds a common word is not known: it is not to suffer by that.
        beyond = rows[token].oldest - place.first
        _add(weights, [number for number in weights if number < beyond], worth[token])
    if weights:
        _add_together(weights, index, place, sought, rows, worth)
    for words in _phrases(sought, rows):
        _add(weights, _holders(words, rows) or (), _PHRASE_WEIGHT)
    best = [place.first + number for number in _heaviest(weights, CANDIDATES)]
    texts = index.texts(best) if best else []
    if sought.steps:
        known = set(texts)
        texts += [t for t in index.of_steps(sought.steps, place) if t not in known]
    return Found(texts, rare, place.ended)


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


def rarity(holders: int, of: int) -> float:
    """The fewer hold it, the higher; never below 0."""
    return math.log(1 + (max(of - holders, 0) + 0.5) / (holders + 0.5))


def _rarity(rows: Rows, place: Place) -> float:
    count = rows.number
    if not _complete(rows):
        # As dense among the older texts as among those looked at.
        count = count * (place.last - place.first + 1) // (place.last - rows.oldest + 1)
    return rarity(count, place.entries)


def _complete(rows: Rows) -> bool:
    """No row lies beyond those looked at."""
    return rows.number < DEPTH


def _add(weights: dict[int, float], numbers: Sequence[int], weight: float) -> None:
    for number in numbers:
        weights[number] += weight


def _add_together(
    weights: dict[int, float],
    index: TaskIndex,
    place: Place,
    sought: Sought,
    rows: Mapping[str, Rows],
    worth: Mapping[str, float],
) -> None:
    """Older rows that hold several common words, and rows that hold words side by side.

    The rows of all other words are known, those that hold several of them included.
    """
    common = [token for token in worth if rows[token].ids and not _complete(rows[token])]
    common.sort(key=lambda token: -worth[token])
    room = sum(len(rows[token].ids) for token in worth if _complete(rows[token])) < CANDIDATES
    groups: list[tuple[str, ...]] = list(combinations(common[:MAX_COMMON], 2)) if room else []
    if room and len(common) > 2:
        groups.append(tuple(common))
    # More rows than can be read: those that also hold the word beside come first.
    beside = [] if room else list(_half_common(sought, rows))[:MAX_PAIRS]
    phrases = [words for words in _phrases(sought, rows) if _holders(words, rows) is None]
    sights = [Sight(index.all_of(tokens), TOGETHER) for tokens in groups]
    sights += [Sight(index.phrase(pair), TOGETHER) for pair in beside]
    sights += [Sight(index.phrase(words), EXACT) for words in phrases]
    found = index.look_up(sights, place)
    older: dict[int, float] = {}
    for tokens, group in zip(groups, found[: len(groups)], strict=True):
        weight = sum(worth[token] for token in tokens)
        for number in group.ids:
            if number not in weights:
                older[number] = max(weight, older.get(number, 0.0))
    weights.update(older)
    for pair, side_by_side in zip(beside, found[len(groups) : -len(phrases) or None], strict=True):
        _add(weights, side_by_side.ids, max(worth.get(word, 0.0) for word in pair))
    for exact in found[len(groups) + len(beside) :]:
        _add(weights, exact.ids, _PHRASE_WEIGHT)


def _half_common(sought: Sought, rows: Mapping[str, Rows]) -> Iterator[tuple[str, str]]:
    """Neighbouring words of the query of which one is common and the other is not."""
    telling = {term.token for term in sought.terms if term.telling}
    for pair in pairwise(sought.words):
        if all(word in rows for word in pair) and not telling.isdisjoint(pair):
            known = [_complete(rows[word]) for word in pair]
            if any(known) and not all(known):
                yield pair


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
