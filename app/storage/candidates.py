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
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage import tables
from app.storage.rows import AnyRow
from app.storage.sought import FUNCTION_WORD, MAX_PHRASE, Sought, Term
from app.storage.writing import ENTRY_ID_SHIFT

DEPTH = 2_000
"""Rows looked at for one word; a word with more is common in this task."""
TOGETHER = 400
"""Rows looked at that hold two common words, or all of them."""
EXACT = 100
"""Rows looked at that hold a whole phrase."""
CANDIDATES = 300
"""Texts that are read and compared with the query."""
MAX_COMMON = 4
"""Common words that are paired."""
NEAR = 2_000
"""Steps of a range up to which its ids are looked up first."""
_PHRASE_WEIGHT = 1_000.0
_entry = tables.search_entry.c
_TASK = select(tables.task.c.number, tables.task.c.search_entries)
_COLUMNS = (_entry.id, _entry.step_number, _entry.kind, _entry.text, _entry.search_text)


class Place(NamedTuple):
    """Where a task's texts stand in the index, and how many they are."""

    first: int
    last: int
    entries: int
    steps: tuple[int, int] | None
    """Only texts of these steps."""


class Found(NamedTuple):
    """What may answer a query."""

    rows: Sequence[AnyRow]
    rarity: dict[str, float]
    """Of each term that occurs: the rarer in this task, the higher."""


class Arm(NamedTuple):
    """One look-up: an expression in the index's language, its weight, and how far to look."""

    expression: str
    weight: float
    limit: int


class Candidates:
    """The look-ups of one query in one task, on either database."""

    def __init__(self, connection: AsyncConnection, task_id: str, *, sqlite: bool) -> None:
        self._connection = connection
        self._task_id = task_id
        self._sqlite = sqlite

    async def find(self, sought: Sought, steps: tuple[int, int] | None) -> Found:
        """The most promising texts; those of steps that the query names are among them."""
        place = await self._place(steps)
        if place is None or not place.entries:
            return Found((), {})
        rarity, common = await self._rarity(sought.terms, place)
        arms = self._arms(sought, rarity, common)
        rows = list(await self._best(arms, place)) if arms else []
        if sought.steps:
            known = {row.id for row in rows}
            rows += [row for row in await self._named(sought, place) if row.id not in known]
        return Found(rows, rarity)

    async def _place(self, steps: tuple[int, int] | None) -> Place | None:
        task = (
            await self._connection.execute(_TASK.where(tables.task.c.task_id == self._task_id))
        ).one_or_none()
        if task is None:
            return None
        first = task.number << ENTRY_ID_SHIFT
        last = first + task.search_entries
        if steps is None:
            return Place(first, last, task.search_entries, None)
        steps = (min(steps), max(steps))
        if steps[1] - steps[0] <= NEAR:
            own = (_entry.task_id == self._task_id) & _entry.step_number.between(*steps)
            bounds = select(func.min(_entry.id), func.max(_entry.id)).where(own)
            low, high = (await self._connection.execute(bounds)).one()
            if low is None:
                return None
            first, last = low, high
        return Place(first, last, task.search_entries, steps)

    async def _rarity(
        self, terms: Sequence[Term], place: Place
    ) -> tuple[dict[str, float], list[str]]:
        """How rare each term is, and those that are too common to be looked up whole."""
        arms = [Arm(self._quoted(term.token), 0.0, DEPTH) for term in terms]
        counts = " UNION ALL ".join(
            f"SELECT {number} AS number, count(*) AS rows, min(id) AS oldest"
            f" FROM {self._arm(number, place)}"
            for number in range(len(arms))
        )
        rarity: dict[str, float] = {}
        common: list[str] = []
        for number, rows, oldest in await self._connection.execute(
            text(counts), self._bound(arms, place)
        ):
            token = terms[number].token
            if rows >= DEPTH:
                common.append(token)
                # As dense among the older texts as among those looked at.
                rows = rows * (place.last - place.first + 1) // (place.last - oldest + 1)
            if rows:
                rest = max(place.entries - rows, 0)
                rarity[token] = math.log(1 + (rest + 0.5) / (rows + 0.5))
        return rarity, common

    def _arms(self, sought: Sought, rarity: dict[str, float], common: list[str]) -> list[Arm]:
        telling = [t for t in sought.terms if t.token in rarity and t.worth > FUNCTION_WORD]
        chosen = telling or [term for term in sought.terms if term.token in rarity]
        arms = [
            Arm(self._quoted(term.token), term.worth * rarity[term.token] + 0.01, DEPTH)
            for term in chosen
        ]
        both = sorted((t.token for t in chosen if t.token in common), key=lambda t: -rarity[t])
        together = [*combinations(both[:MAX_COMMON], 2), *([tuple(both)] if len(both) > 2 else [])]
        for tokens in together:
            weight = sum(rarity[token] for token in tokens)
            arms.append(Arm(self._all_of(tokens), weight, TOGETHER))
        for words in (sought.words, *sought.quoted_words):
            if 1 < len(words) <= MAX_PHRASE and all(word in rarity for word in words):
                arms.append(Arm(self._phrase(words), _PHRASE_WEIGHT, EXACT))
        return arms

    async def _best(self, arms: Sequence[Arm], place: Place) -> Sequence[AnyRow]:
        looked_up = " UNION ALL ".join(
            f"SELECT id, CAST(:weight{number} AS DOUBLE PRECISION) AS weight"
            f" FROM {self._arm(number, place)}"
            for number in range(len(arms))
        )
        statement = text(
            "SELECT entry.id, entry.step_number, entry.kind, entry.text, entry.search_text FROM"
            f" (SELECT id FROM ({looked_up}) AS looked_up GROUP BY id"
            " ORDER BY sum(weight) DESC, id DESC LIMIT :candidates) AS best"
            " JOIN search_entry AS entry ON entry.id = best.id"
        )
        bound = self._bound(arms, place) | {f"weight{n}": a.weight for n, a in enumerate(arms)}
        bound["candidates"] = CANDIDATES
        return (await self._connection.execute(statement, bound)).all()

    async def _named(self, sought: Sought, place: Place) -> Sequence[AnyRow]:
        """The first texts of the steps that the query names."""
        which = (_entry.task_id == self._task_id) & _entry.step_number.in_(sought.steps)
        if place.steps is not None:
            which = which & _entry.step_number.between(*place.steps)
        query = select(*_COLUMNS).where(which).order_by(_entry.id).limit(CANDIDATES)
        return (await self._connection.execute(query)).all()

    # --- the two databases' own words -----------------------------------------------------

    def _arm(self, number: int, place: Place) -> str:
        """The newest rows of the task's range that match; every value is a parameter."""
        if self._sqlite:
            ids, source = "search_fts.rowid", "search_fts"
            matches = f"search_fts MATCH :sought{number}"
        else:
            ids, source = "search_entry.id", "search_entry"
            matches = f"search_vector @@ to_tsquery('simple', :sought{number})"
        inside = f"{matches} AND {ids} BETWEEN :first AND :last"
        if place.steps is not None:
            if self._sqlite:
                source += " JOIN search_entry ON search_entry.id = search_fts.rowid"
            inside += " AND search_entry.step_number BETWEEN :first_step AND :last_step"
        return (
            f"(SELECT {ids} AS id FROM {source} WHERE {inside}"
            f" ORDER BY {ids} DESC LIMIT :limit{number}) AS arm{number}"
        )

    def _bound(self, arms: Sequence[Arm], place: Place) -> dict[str, Any]:
        values: dict[str, Any] = {"first": place.first, "last": place.last}
        if place.steps is not None:
            values |= {"first_step": place.steps[0], "last_step": place.steps[1]}
        for number, arm in enumerate(arms):
            values |= {f"sought{number}": arm.expression, f"limit{number}": arm.limit}
        return values

    def _quoted(self, token: str) -> str:
        """In FTS5 a bare word could be one of its operators."""
        return f'"{token}"' if self._sqlite else token

    def _all_of(self, tokens: Sequence[str]) -> str:
        return (" AND " if self._sqlite else " & ").join(map(self._quoted, tokens))

    def _phrase(self, words: Sequence[str]) -> str:
        return f'"{" ".join(words)}"' if self._sqlite else " <-> ".join(words)
