"""Finds recorded texts of one task: the SearchIndex over either database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.memory import RecallQuery, RecallResult
from app.storage import tables
from app.storage.candidates import Candidates
from app.storage.db import Database
from app.storage.ranking import rank
from app.storage.recall import STEP, assemble, ledger
from app.storage.rows import AnyRow
from app.storage.sought import Sought


class Search:
    """Full-text search over one task. Any text is a legal query."""

    def __init__(self, db: Database, task_id: str) -> None:
        self._db = db
        self._task_id = task_id

    async def search(self, query: RecallQuery) -> RecallResult:
        """Best steps first; a range without a query gives that range's ledger, oldest first."""
        sought = Sought.of(query.query)
        async with self._db.read() as connection:
            if sought.terms:
                candidates = Candidates(connection, self._task_id, sqlite=self._db.is_sqlite)
                found = await candidates.find(sought, query.step_range)
                hits = rank(found.rows, sought, found.rarity, query.max_results)
                numbers = [hit.step_number for hit in hits]
                among = tables.step.c.step_number.in_(numbers)
                needed = hits and (query.include_details or query.include_images)
                steps = await self._steps(connection, among) if needed else ()
                return assemble(query, sought, hits, steps)
            if query.step_range is not None and not query.query.strip():
                first, last = min(query.step_range), max(query.step_range)
                inside = tables.step.c.step_number.between(first, last)
                return ledger(query, await self._steps(connection, inside))
        return RecallResult()

    async def _steps(self, connection: AsyncConnection, which: Any) -> Sequence[AnyRow]:
        step = tables.step.c
        query = select(*STEP).where(step.task_id == self._task_id, which)
        return (await connection.execute(query.order_by(step.step_number))).all()
