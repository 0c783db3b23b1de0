"""Everything the pages and the interfaces read; the only part of storage they know."""

from __future__ import annotations

from app.domain.ports import Artifacts
from app.storage.db import Database
from app.storage.queries.figures import FigureQueries
from app.storage.queries.memory import MemoryQueries
from app.storage.queries.steps import StepQueries
from app.storage.queries.task_figures import TaskFigureQueries, TaskFigures
from app.storage.queries.tasks import TaskQueries
from app.storage.queries.views import (
    AnsweredQuestion,
    CallView,
    ChunkView,
    DeviceUse,
    DiskUse,
    EventGroup,
    Health,
    PlanRevision,
    RememberedValue,
    RoleSpend,
    StepsWindow,
    StepView,
    SummaryView,
    TaskDisk,
    TaskPage,
    TaskView,
)

__all__ = [
    "AnsweredQuestion",
    "CallView",
    "ChunkView",
    "DeviceUse",
    "DiskUse",
    "EventGroup",
    "FigureQueries",
    "Health",
    "MemoryQueries",
    "PlanRevision",
    "Queries",
    "RememberedValue",
    "RoleSpend",
    "StepQueries",
    "StepView",
    "StepsWindow",
    "SummaryView",
    "TaskDisk",
    "TaskFigureQueries",
    "TaskFigures",
    "TaskPage",
    "TaskQueries",
    "TaskView",
]


class Queries:
    """All questions to the store, by what they are about."""

    def __init__(self, db: Database, artifacts: Artifacts) -> None:
        self.tasks = TaskQueries(db)
        self.steps = StepQueries(db, artifacts)
        self.memory = MemoryQueries(db)
        self.figures = FigureQueries(db)
        self.task_figures = TaskFigureQueries(db)
