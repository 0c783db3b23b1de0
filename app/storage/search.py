"""Finds recorded texts of one task: the SearchIndex over either database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal_column, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.memory import RecallQuery, RecallResult
from app.storage import tables
from app.storage.db import Database
from app.storage.ranking import Sought, best_per_step, rank
from app.storage.recall import STEP, assemble, ledger
from app.storage.rows import AnyRow
from app.storage.search_text import Tokens, query_tokens, spell

CANDIDATES = 200  # rows best by the database's own ranking that are looked at closely
EXACT_CANDIDATES = 100  # further rows that hold the phrase, or an exact code
MAX_PHRASE = 16  # words beyond which nobody means a phrase


class Expression(NamedTuple):
    """A question to the index in its own language, and how many answers to look at."""

    text: str
    limit: int


class Search:
    """Full-text search over one task. Any text is a legal query."""

    def __init__(self, db: Database, task_id: str) -> None:
        self._db = db
        self._task_id = task_id

    async def search(self, query: RecallQuery) -> RecallResult:
        """Best steps first; a range without a query gives that range's ledger, oldest first."""
        tokens = query_tokens(query.query)
        async with self._db.read() as connection:
            if tokens.words:
                sought = Sought.of(query.query, tokens)
                found = [rank(row, sought) for row in await self._rows(connection, query, tokens)]
                hits = best_per_step(found)[: query.max_results]
                numbers = [hit.step_number for hit in hits]
                among = tables.step.c.step_number.in_(numbers)
                return assemble(query, sought, hits, await self._steps(connection, among))
            if query.step_range is not None and not query.query.strip():
                inside = _between(tables.step.c.step_number, query.step_range)
                return ledger(query, await self._steps(connection, inside))
        return RecallResult()

    async def _rows(
        self, connection: AsyncConnection, query: RecallQuery, tokens: Tokens
    ) -> list[AnyRow]:
        rows: dict[int, AnyRow] = {}
        for expression in _expressions(tokens, sqlite=self._db.is_sqlite):
            statement = self._matching(expression, query.step_range)
            for row in (await connection.execute(statement)).all():
                rows.setdefault(row.id, row)
        return list(rows.values())

    def _matching(self, expression: Expression, steps: tuple[int, int] | None) -> Select[Any]:
        entry = tables.search_entry.c
        columns = (entry.id, entry.step_number, entry.kind, entry.text)
        if self._db.is_sqlite:
            relevance: Any = literal_column("-bm25(search_fts)")
            matches: Any = text("search_fts MATCH :sought").bindparams(sought=expression.text)
            source: Any = tables.search_entry.join(
                text("search_fts"), text("search_fts.rowid = search_entry.id")
            )
        else:
            vector: Any = literal_column("search_entry.search_vector")
            sought = func.to_tsquery("simple", expression.text)
            # 1: long texts count less. Times ten gives about the size of bm25.
            relevance = 10 * func.ts_rank(vector, sought, 1)
            matches = vector.op("@@")(sought)
            source = tables.search_entry
        statement = select(*columns, relevance.label("relevance")).select_from(source)
        statement = statement.where(matches, entry.task_id == self._task_id)
        if steps is not None:
            statement = statement.where(_between(entry.step_number, steps))
        order = (text("relevance DESC"), entry.id.desc())
        return statement.order_by(*order).limit(expression.limit)

    async def _steps(self, connection: AsyncConnection, which: Any) -> Sequence[AnyRow]:
        step = tables.step.c
        query = select(*STEP).where(step.task_id == self._task_id, which)
        return (await connection.execute(query.order_by(step.step_number))).all()


def _expressions(tokens: Tokens, *, sqlite: bool) -> Iterator[Expression]:
    """The phrase, any exact code, any token. Spelled tokens are a-z and 0-9: no operators."""
    words = [spell(word) for word in tokens.words]
    codes = [spell(code) for code in tokens.codes]
    everything = list(dict.fromkeys([*codes, *words, *map(spell, tokens.forms)]))
    either = " OR " if sqlite else " | "
    if 1 < len(words) <= MAX_PHRASE:
        phrase = f'"{" ".join(words)}"' if sqlite else " <-> ".join(words)
        yield Expression(phrase, EXACT_CANDIDATES)
    if codes:
        yield Expression(either.join(_quoted(codes, sqlite)), EXACT_CANDIDATES)
    yield Expression(either.join(_quoted(everything, sqlite)), CANDIDATES)


def _quoted(tokens: Sequence[str], sqlite: bool) -> Sequence[str]:
    """In FTS5 a bare word could be one of its operators."""
    return [f'"{token}"' for token in tokens] if sqlite else tokens


def _between(column: ColumnElement[int], steps: tuple[int, int]) -> ColumnElement[bool]:
    return column.between(min(steps), max(steps))
