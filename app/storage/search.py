"""Finds recorded texts of one task: the SearchIndex over either database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from app.domain.memory import RecallQuery, RecallResult
from app.storage import tables
from app.storage.candidates import find
from app.storage.db import Database
from app.storage.lookup import TaskIndex
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
        return await self._db.look(partial(self._answer, query))

    def _answer(self, query: RecallQuery, connection: Connection) -> RecallResult:
        sought = Sought.of(query.query)
        if sought.terms:
            found = find(TaskIndex(connection, self._task_id), sought, query.step_range)
            hits = rank(found, sought, query.max_results)
            numbers = [hit.step_number for hit in hits]
            among = tables.step.c.step_number.in_(numbers)
            needed = hits and (query.include_details or query.include_images)
            steps = self._steps(connection, among) if needed else ()
            return assemble(query, sought, hits, steps)
        if query.step_range is not None and not query.query.strip():
            first, last = min(query.step_range), max(query.step_range)
            inside = tables.step.c.step_number.between(first, last)
            return ledger(query, self._steps(connection, inside))
        return RecallResult()

    def _steps(self, connection: Connection, which: Any) -> Sequence[AnyRow]:
        step = tables.step.c
        query = select(*STEP).where(step.task_id == self._task_id, which)
        return connection.execute(query.order_by(step.step_number)).all()
