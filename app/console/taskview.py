"""What the task page shows of one task, read part by part from the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.console.figures import (
    ContextView,
    Meter,
    context_view,
    count_meter,
    money_meter,
    token_meter,
)
from app.console.marks import (
    MARK_TYPES,
    RECEIPT_TYPES,
    Now,
    ReceiptView,
    marks_by_step,
    now,
    receipts,
)
from app.console.memory import FallbacksView, MemoryView, read_fallbacks, read_memory
from app.console.phrases import TASK_SIGNS, Sign
from app.console.shown import Shown, shown_step, shown_turn
from app.console.turns import TurnView, offset, turn_view
from app.domain.config import MemoryConfig
from app.domain.events import Compacted, StoredEvent, TurnStarted
from app.domain.plans import Check, Plan
from app.domain.summaries import HistoryChunk
from app.domain.tasks import Note, Question, StepRecord, Task, TaskState
from app.storage.queries import Queries, SummaryView

WINDOW = 40
"""Turns shown at once; earlier ones come on demand."""
TAIL = 80
"""Newest events, from which the present activity is read."""
SPARK_CALLS = 200
MARKS_A_TURN = 20
SHOWN_CONTROLS = 200

REGIONS = (
    "head",
    "controls",
    "ask",
    "outcome",
    "screen",
    "now",
    "receipts",
    "plan",
    "checks",
    "world",
    "context",
    "memory",
    "fallbacks",
    "notes",
    "spend",
)
"""Parts of the page that are replaced as a whole; `turns` are kept one by one."""


@dataclass
class TaskView:
    """Everything the templates of the task page read; parts not asked for stay empty."""

    task: Task
    seq: int
    order: str = "newest"
    question: Question | None = None
    shown: Shown | None = None
    now: Now | None = None
    receipts: Sequence[ReceiptView] = ()
    revisions: Sequence[Any] = ()
    checks: Sequence[Check] = ()
    world_app: str = ""
    world_page: str = ""
    remembered: Sequence[Any] = ()
    context: ContextView | None = None
    compaction: Compacted | None = None
    """The newest one."""
    memory: MemoryView | None = None
    fallbacks: FallbacksView | None = None
    notes: Sequence[Note] = ()
    spend: Sequence[Any] = ()
    turns: Sequence[TurnView] = ()
    earlier: int = 0
    """The oldest turn shown, when there are earlier ones."""
    problem: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def sign(self) -> Sign:
        return TASK_SIGNS[self.task.state]

    @property
    def plan(self) -> Plan | None:
        return self.revisions[-1].plan if self.revisions else None

    @property
    def closed_checks(self) -> int:
        return sum(check.closed_by_step is not None for check in self.checks)

    @property
    def cached_percent(self) -> int:
        usage = self.task.usage
        return round(100 * usage.cached / usage.prompt) if usage.prompt else 0

    @property
    def seconds(self) -> float:
        start = self.task.started_at
        return ((self.task.ended_at or self.at) - start).total_seconds() if start else 0.0

    @property
    def elapsed(self) -> str:
        return offset(self.seconds).removeprefix("T+") if self.task.started_at else "not started"

    @property
    def meters(self) -> list[Meter]:
        task, limits = self.task, self.task.spec.limits
        return [
            count_meter("steps", task.steps, limits.steps),
            token_meter("tokens", task.usage.total, limits.tokens),
            money_meter("money", task.cost_usd, limits.cost_usd),
        ]


class TaskReader:
    """Reads parts of one task's page. The task itself is read first, so that what is shown
    is never older than the number that the page resumes from."""

    def __init__(self, queries: Queries, task_id: str, config: MemoryConfig | None = None) -> None:
        self._queries = queries
        self._task_id = task_id
        self._config = config or MemoryConfig()

    async def page(self, order: str, before: int | None = None) -> TaskView:
        """The whole page with its window of turns."""
        view = await self.parts(REGIONS, order)
        await self.add_window(view, before)
        return view

    async def parts(self, regions: Collection[str], order: str = "newest") -> TaskView:
        """The task and the parts that these regions show."""
        task = await self._queries.tasks.get(self._task_id)
        view = TaskView(task=task, seq=task.last_seq, order=order)
        wanted = set(regions)
        if wanted & {"screen", "now"}:
            await self._add_activity(view, wanted)
        if "ask" in wanted and task.state is TaskState.WAITING:
            view.question = await self._queries.tasks.open_question(self._task_id)
        if "receipts" in wanted:
            await self.add_receipts(view)
        if "plan" in wanted:
            view.revisions = await self._queries.tasks.plan_revisions(self._task_id)
        if "checks" in wanted:
            view.checks = await self._queries.tasks.checks(self._task_id)
        if "notes" in wanted:
            view.notes = await self._queries.tasks.notes(self._task_id)
        if "world" in wanted:
            await self._add_world(view)
        if "context" in wanted:
            await self._add_context(view)
        if "memory" in wanted:
            view.memory = await read_memory(self._queries, task, self._config)
        if "fallbacks" in wanted:
            view.fallbacks = await read_fallbacks(self._queries, self._task_id)
        if "spend" in wanted:
            view.spend = await self._queries.figures.spend(self._task_id)
        return view

    async def add_receipts(self, view: TaskView) -> None:
        events = await self._queries.tasks.events_of(
            self._task_id, *RECEIPT_TYPES, limit=SHOWN_CONTROLS
        )
        view.receipts = receipts(events, view.task.state)

    async def add_window(self, view: TaskView, before: int | None = None) -> None:
        """The newest turns, or the ones before a number."""
        window = await self._queries.steps.window(
            self._task_id, before=before, limit=WINDOW, newest_first=False
        )
        view.turns = self._ordered(await self._turns(window.steps), view.order)
        view.earlier = window.steps[0].step_number if window.older else 0

    async def add_turns(self, view: TaskView, numbers: Collection[int]) -> None:
        """Some turns; numbers without a step are left out."""
        steps = await self._queries.steps.numbered(self._task_id, numbers)
        view.turns = self._ordered(await self._turns(steps), view.order)

    async def summaries(self, numbers: Collection[int]) -> dict[int, SummaryView]:
        """The state of some steps' summaries, by step, each with its newest version."""
        first, last = min(numbers), max(numbers)
        memory = self._queries.memory
        found = await memory.summaries(self._task_id, first=first, last=last, steps=numbers)
        return {summary.step_number: summary for summary in found}

    async def chunks(self, numbers: Collection[int]) -> dict[int, HistoryChunk]:
        """The chunks that end with some steps, by that step."""
        first, last = min(numbers), max(numbers)
        found = await self._queries.memory.chunks(self._task_id, first=first, last=last)
        return {chunk.end_step: chunk for chunk in found if chunk.end_step in numbers}

    async def _turns(self, steps: Sequence[StepRecord]) -> list[TurnView]:
        if not steps:
            return []
        numbers = frozenset(step.step_number for step in steps)
        events = await self._queries.tasks.events_of_steps(
            self._task_id,
            MARK_TYPES,
            first=min(numbers),
            last=max(numbers),
            limit=MARKS_A_TURN * len(numbers),
        )
        marks = marks_by_step(events)
        summaries, chunks = await self.summaries(numbers), await self.chunks(numbers)
        return [
            turn_view(
                step,
                marks.get(step.step_number, ()),
                summaries.get(step.step_number),
                chunks.get(step.step_number),
            )
            for step in steps
        ]

    @staticmethod
    def _ordered(turns: list[TurnView], order: str) -> list[TurnView]:
        return turns if order == "oldest" else turns[::-1]

    async def _add_context(self, view: TaskView) -> None:
        calls = await self._queries.steps.calls(
            self._task_id, first_of_turn=True, limit=SPARK_CALLS
        )
        view.context = context_view([call.call for call in calls], self._config)
        newest = await self._queries.tasks.events_of(self._task_id, "compacted", limit=1)
        view.compaction = next((e.event for e in newest if isinstance(e.event, Compacted)), None)

    async def _add_activity(self, view: TaskView, wanted: set[str]) -> None:
        after = max(0, view.task.last_seq - TAIL)
        tail = await self._queries.tasks.events(self._task_id, after=after, limit=TAIL * 2)
        view.now = now(tail, view.task.state)
        if "screen" not in wanted:
            return
        number = view.task.steps
        turn = _newest_turn(tail)
        if turn is not None and turn.step_number > number:
            view.shown = shown_turn(turn)
        elif number:
            view.shown = shown_step((await self._queries.steps.one(self._task_id, number)).step)

    async def _add_world(self, view: TaskView) -> None:
        view.remembered = await self._queries.tasks.remembered(self._task_id)
        world = await self._queries.steps.world(self._task_id)
        if world is not None:
            view.world_app = world.current_app or ""
            view.world_page = world.current_page or ""


def _newest_turn(tail: Sequence[StoredEvent]) -> TurnStarted | None:
    turns = (e.event for e in reversed(tail) if isinstance(e.event, TurnStarted))
    return next(turns, None)
