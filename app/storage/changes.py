"""The rows that a batch of events writes, collected before any of them is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Table

from app.storage import tables

Columns = dict[str, Any]


@dataclass
class TaskColumns:
    """The columns of a task's row that events change, named as in the table."""

    state: str
    reason: str
    code: str
    answer: str
    answer_data: str | None
    cited_steps: str
    steps: int
    prompt_tokens: int
    cached_tokens: int
    thinking_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    running_since: datetime | None
    seconds_spent: float
    last_seq: int
    cancel_requested: bool
    pause_requested: bool
    offline: bool
    stable_ref: str | None
    frozen_ref: str | None
    frozen_through: int
    turn: int
    observation: str | None
    search_entries: int


TASK_COLUMNS = tuple(tables.task.c[f.name] for f in fields(TaskColumns))


class Move(NamedTuple):
    """An update that only holds where the row is as it must be: of a summary, or of a chunk."""

    table: Table
    keys: Columns
    """What must be so, by the names of the statement's parameters."""
    values: Columns


@dataclass
class Changes:
    """Rows to write for a batch of events, grouped by table."""

    task_id: str
    before: Mapping[str, Any]
    task: TaskColumns
    inserts: dict[Table, list[Columns]] = field(default_factory=lambda: defaultdict(list))
    upserts: dict[Table, list[Columns]] = field(default_factory=lambda: defaultdict(list))
    finished_steps: list[Columns] = field(default_factory=list)
    answers: list[Columns] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)

    @classmethod
    def to(cls, task_id: str, row: Mapping[str, Any]) -> Changes:
        """No changes yet, to the task with this row."""
        return cls(task_id, row, TaskColumns(**row))

    def changed_columns(self) -> Columns:
        return {k: v for k, v in vars(self.task).items() if v != self.before[k]}

    def insert(self, table: Table, **columns: Any) -> None:
        self.inserts[table].append({"task_id": self.task_id, **columns})

    def upsert(self, table: Table, **columns: Any) -> None:
        self.upserts[table].append({"task_id": self.task_id, **columns})
