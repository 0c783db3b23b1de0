"""What the task page shows of one task, read part by part from the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from app.console.figures import ContextView, context_view
from app.console.marks import (
    MARK_TYPES,
    RECEIPT_TYPES,
    Now,
    ReceiptView,
    marks_by_step,
    now,
    receipts,
)
from app.console.overlay import Overlay, overlay
from app.console.phrases import TASK_SIGNS, Sign, phrase, target_line
from app.console.templating import money, tokens
from app.console.turns import TurnView, offset, target_of, turn_view
from app.domain.events import StoredEvent, TurnStarted
from app.domain.plans import Check, Plan
from app.domain.screens import Observation
from app.domain.tasks import Note, Question, StepRecord, Task, TaskState
from app.storage.queries import Queries

WINDOW = 40
"""Turns shown at once; earlier ones come on demand."""
TAIL = 80
"""Newest events, from which the present activity is read."""
SPARK_CALLS = 200
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
    "notes",
    "spend",
)
"""Parts of the page that are replaced as a whole; `turns` are kept one by one."""


class Shown(NamedTuple):
    """The screen that is shown, with what was done on it."""

    observation: Observation
    overlay: Overlay | None
    label: str
    title: str
    target: str
    element: int | None
    step_number: int | None
    """A step whose element list can be asked for."""
    alt: str


class Meter(NamedTuple):
    """How much of a limit is used."""

    name: str
    used: str
    limit: str
    percent: float


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
        used = task.usage.total

        def meter(name: str, shown: str, limit: str, share: float) -> Meter:
            return Meter(name, shown, limit, round(min(1.0, max(0.0, share)) * 100, 1))

        return [
            meter("steps", str(task.steps), str(limits.steps), task.steps / limits.steps),
            meter("tokens", tokens(used), tokens(limits.tokens), used / limits.tokens),
            meter(
                "money",
                money(task.cost_usd),
                money(limits.cost_usd),
                task.cost_usd / limits.cost_usd,
            ),
        ]


class TaskReader:
    """Reads parts of one task's page. The task itself is read first, so that what is shown
    is never older than the number that the page resumes from."""

    def __init__(self, queries: Queries, task_id: str) -> None:
        self._queries = queries
        self._task_id = task_id

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
            calls = await self._queries.steps.calls(
                self._task_id, first_of_turn=True, limit=SPARK_CALLS
            )
            view.context = context_view([call.call for call in calls])
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
        first, last = min(numbers), max(numbers)
        window = await self._queries.steps.window(
            self._task_id, after=first - 1, limit=last - first + 1, newest_first=False
        )
        turns = await self._turns([s for s in window.steps if s.step_number in set(numbers)])
        view.turns = self._ordered(turns, view.order)

    async def _turns(self, steps: Sequence[StepRecord]) -> list[TurnView]:
        if not steps:
            return []
        events = await self._queries.tasks.events_of_steps(
            self._task_id,
            MARK_TYPES,
            first=steps[0].step_number,
            last=steps[-1].step_number,
            limit=20 * WINDOW,
        )
        marks = marks_by_step(events)
        return [turn_view(step, marks.get(step.step_number, ())) for step in steps]

    @staticmethod
    def _ordered(turns: list[TurnView], order: str) -> list[TurnView]:
        return turns if order == "oldest" else turns[::-1]

    async def _add_activity(self, view: TaskView, wanted: set[str]) -> None:
        after = max(0, view.task.last_seq - TAIL)
        tail = await self._queries.tasks.events(self._task_id, after=after, limit=TAIL * 2)
        view.now = now(tail, view.task.state)
        if "screen" not in wanted:
            return
        number = view.task.steps
        turn = _newest_turn(tail)
        if turn is not None and turn.step_number > number:
            view.shown = _shown_turn(turn)
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


def _shown_turn(turn: TurnStarted) -> Shown:
    return Shown(
        observation=turn.observation,
        overlay=None,
        label=f"step {turn.step_number}, deciding",
        title="Deciding what to do",
        target=turn.hint,
        element=None,
        step_number=None,
        alt=f"The screen at step {turn.step_number}: {turn.observation.page()}",
    )


def shown_step(step: StepRecord) -> Shown:
    """The screen a step decided on, with its action drawn."""
    title, target = str(phrase(step.action)), target_of(step)
    return Shown(
        observation=step.observation,
        overlay=overlay(step.observation, step.action),
        label=f"step {step.step_number}, before the action",
        title=title,
        target=target_line(target),
        element=target.element if target else None,
        step_number=step.step_number,
        alt=f"The screen before step {step.step_number}: {title}",
    )
