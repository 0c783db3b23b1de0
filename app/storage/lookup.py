"""Looks words and phrases up in one task's part of the index, in either database's own words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, bindparam, func, select, text

from app.storage import tables
from app.storage.writing import ENTRY_ID_SHIFT

NEAR = 2_000
"""Steps of a range up to which its ids are looked up first."""
MOST_NAMED = 300
"""Texts that are read of steps that a query names."""
_entry = tables.search_entry.c
_task = tables.task.c
_TASK = select(_task.number, _task.search_entries, _task.ended_at).where(
    _task.task_id == bindparam("of")
)
_TEXT = (_entry.step_number, _entry.kind, _entry.text, _entry.search_text)


class Place(NamedTuple):
    """Where a task's texts stand in the index, and how many they are."""

    first: int
    last: int
    entries: int
    steps: tuple[int, int] | None
    """Only texts of these steps."""
    ended: bool
    """No step follows the newest one."""


class Text(NamedTuple):
    """One recorded text."""

    step_number: int
    kind: str
    text: str
    search_text: str


class Sight(NamedTuple):
    """One look-up: an expression in the index's language, and how many rows to look at."""

    expression: str
    limit: int
    counted: bool = False
    """Only how many rows there are is asked for."""


class Rows(NamedTuple):
    """What a look-up found, newest first."""

    number: int
    oldest: int
    ids: Sequence[int]
    """Counted from the beginning of the place."""


class TaskIndex:
    """One task's part of the index, at one moment."""

    def __init__(self, connection: Connection, task_id: str) -> None:
        self._connection = connection
        self._task_id = task_id
        self._sqlite = connection.dialect.name == "sqlite"

    def place(self, steps: tuple[int, int] | None) -> Place | None:
        """Where the texts stand; None where there are none."""
        task = self._connection.execute(_TASK, {"of": self._task_id}).one_or_none()
        if task is None or not task.search_entries:
            return None
        first, ended = task.number << ENTRY_ID_SHIFT, task.ended_at is not None
        place = Place(first, first + task.search_entries, task.search_entries, None, ended)
        if steps is None:
            return place
        steps = (min(steps), max(steps))
        if steps[1] - steps[0] <= NEAR:
            own = (_entry.task_id == self._task_id) & _entry.step_number.between(*steps)
            bounds = select(func.min(_entry.id), func.max(_entry.id)).where(own)
            low, high = self._connection.execute(bounds).one()
            if low is None:
                return None
            place = place._replace(first=low, last=high)
        return place._replace(steps=steps)

    def look_up(self, sights: Sequence[Sight], place: Place) -> list[Rows]:
        """What each look-up found, all of them in one statement."""
        if not sights:
            return []
        values: dict[str, Any] = {"first": place.first, "last": place.last}
        if place.steps is not None:
            values |= {"first_step": place.steps[0], "last_step": place.steps[1]}
        for number, sight in enumerate(sights):
            values |= {f"sought{number}": sight.expression, f"limit{number}": sight.limit}
        counted = tuple(sight.counted for sight in sights)
        statement = _look_up(counted, within=place.steps is not None, sqlite=self._sqlite)
        found = [Rows(0, 0, ())] * len(sights)
        for number, rows, oldest, ids in self._connection.execute(statement, values):
            if rows:
                listed = tuple(map(int, ids.split(","))) if ids else ()
                found[number] = Rows(rows, oldest, listed)
        return found

    def texts(self, ids: Sequence[int]) -> list[Text]:
        """The texts with these ids."""
        statement = _texts(sqlite=self._sqlite)
        found = self._connection.execute(statement, {"ids": f"[{','.join(map(str, ids))}]"})
        return [Text(*row) for row in found]

    def of_steps(self, numbers: Sequence[int], place: Place) -> list[Text]:
        """The first texts of these steps."""
        which = (_entry.task_id == self._task_id) & _entry.step_number.in_(numbers)
        if place.steps is not None:
            which = which & _entry.step_number.between(*place.steps)
        query = select(*_TEXT).where(which).order_by(_entry.id).limit(MOST_NAMED)
        return [Text(*row) for row in self._connection.execute(query)]

    # --- the two databases' own words -----------------------------------------------------

    def word(self, token: str) -> str:
        """In FTS5 a bare word could be one of its operators."""
        return f'"{token}"' if self._sqlite else token

    def all_of(self, tokens: Sequence[str]) -> str:
        return (" AND " if self._sqlite else " & ").join(map(self.word, tokens))

    def phrase(self, words: Sequence[str]) -> str:
        return f'"{" ".join(words)}"' if self._sqlite else " <-> ".join(words)


# Statements are kept: to spell out and to parse the same few anew takes longer than to run them.


@lru_cache(maxsize=256)
def _look_up(counted: tuple[bool, ...], *, within: bool, sqlite: bool) -> TextClause:
    """One statement for all look-ups; every value is a parameter."""
    listed = "string_agg(CAST(id - :first AS TEXT), ',' ORDER BY id DESC)"
    if sqlite:
        listed = "group_concat(id - :first)"
    return text(
        " UNION ALL ".join(
            f"SELECT {number}, count(*), min(id), {'NULL' if only_counted else listed}"
            f" FROM {_newest(number, within=within, sqlite=sqlite)}"
            for number, only_counted in enumerate(counted)
        )
    )


def _newest(number: int, *, within: bool, sqlite: bool) -> str:
    """The newest rows of the task's range that match."""
    if sqlite:
        ids, source = "search_fts.rowid", "search_fts"
        matches = f"search_fts MATCH :sought{number}"
    else:
        ids, source = "search_entry.id", "search_entry"
        matches = f"search_vector @@ to_tsquery('simple', :sought{number})"
    inside = f"{matches} AND {ids} BETWEEN :first AND :last"
    if within:
        if sqlite:
            source += " JOIN search_entry ON search_entry.id = search_fts.rowid"
        inside += " AND search_entry.step_number BETWEEN :first_step AND :last_step"
    return (
        f"(SELECT {ids} AS id FROM {source} WHERE {inside}"
        f" ORDER BY {ids} DESC LIMIT :limit{number}) AS sight{number}"
    )


@lru_cache(maxsize=2)
def _texts(*, sqlite: bool) -> TextClause:
    ids = "json_each(:ids)" if sqlite else "json_array_elements_text(CAST(:ids AS json))"
    return text(
        "SELECT entry.step_number, entry.kind, entry.text, entry.search_text"
        f" FROM {ids} AS one JOIN search_entry AS entry ON entry.id = CAST(one.value AS BIGINT)"
    )
