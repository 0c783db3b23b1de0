"""What the store answers: values made for reading."""

from __future__ import annotations

from datetime import datetime

from app.domain.config import DeviceConfig
from app.domain.events import StoredEvent
from app.domain.messages import Usage
from app.domain.plans import Plan
from app.domain.screens import Observation
from app.domain.summaries import HistoryChunk, Refusal, StepSummary, SummaryStatus
from app.domain.tasks import ModelCallRecord, Question, StepRecord, Task, TaskState
from app.domain.values import Value


class TaskPage(Value):
    """Part of the list of tasks, newest first."""

    tasks: tuple[Task, ...]
    next: str = ""
    """Where the next part begins; empty at the end."""
    total: int
    """Tasks that pass the filter."""


class TaskView(Value):
    """One task as its page shows it."""

    task: Task
    seconds_spent: float
    """In state running, up to `running_since`."""
    running_since: datetime | None
    turn: int
    """The step number of the newest observation."""
    observation: Observation | None
    """The newest observation, without its elements (see `tree_ref`)."""
    open_question: Question | None
    frozen_through: int

    def seconds(self, now: datetime) -> float:
        """Wall time so far, pauses not counted."""
        if self.running_since is None:
            return self.seconds_spent
        return self.seconds_spent + max(0.0, (now - self.running_since).total_seconds())


class StepsWindow(Value):
    """Some steps in the order asked for, without their messages and elements."""

    steps: tuple[StepRecord, ...]
    total: int
    """Steps of the task."""
    older: bool
    """There are some before the oldest of these."""
    newer: bool


class CallView(Value):
    """A model call and when it was made."""

    seq: int
    at: datetime
    call: ModelCallRecord


class StepView(Value):
    """One step whole, with its model calls."""

    step: StepRecord
    calls: tuple[CallView, ...]


class PlanRevision(Value):
    """A revision of the plan and when it was written."""

    plan: Plan
    step_number: int
    at: datetime


class RememberedValue(Value):
    """A value of the believed state and the step it was read in."""

    key: str
    value: str
    step_number: int


class AnsweredQuestion(Value):
    """What the task asked, with the answer if there is one."""

    question: Question
    asked_at: datetime
    answer: str | None
    approved: bool | None
    answered_by: str
    answered_at: datetime | None


class RoleSpend(Value):
    """What one role has cost."""

    role: str
    calls: int
    usage: Usage
    cost_usd: float
    unpriced_calls: int
    seconds: float

    @property
    def uncached(self) -> int:
        return self.usage.prompt - self.usage.cached


class EventGroup(Value):
    """Events of one type with the same text in one field."""

    value: str | None
    """None where events do not have the field."""
    count: int
    newest: StoredEvent


class DeviceUse(Value):
    """A device and what it is busy with."""

    device: DeviceConfig
    configured: bool
    """From the settings file, so not to be edited here."""
    task: Task | None
    queued: int


class TaskDisk(Value):
    """Bytes of the artifacts a task needs, those it shares with others included."""

    task_id: str
    bytes: int
    artifacts: int


class DiskUse(Value):
    """Bytes of all artifacts, and of the tasks that need the most."""

    bytes: int
    artifacts: int
    tasks: tuple[TaskDisk, ...]


class Health(Value):
    """Figures over the newest model calls of all tasks."""

    first_calls: int
    """First calls of a turn that are counted here."""
    first_call_p50: int
    """Prompt tokens."""
    first_call_p95: int
    first_call_max: int
    cached_share: float
    """Cached tokens of the prompt tokens."""
    latency_p50: float
    """Seconds of one call."""
    latency_p95: float
    waits: int
    """Times an operator waited for background work: 0."""
    failed_calls: int
    fallbacks: int
    by_state: dict[TaskState, int]
    """Tasks in each state."""


class SummaryView(Value):
    """The state of one step's summary, with versions oldest first."""

    step_number: int
    step_id: str
    status: SummaryStatus
    attempts: int
    """Of the last job."""
    refusals: tuple[Refusal, ...] = ()
    reason: str = ""
    changed_at: datetime
    versions: tuple[StepSummary, ...] = ()

    @property
    def newest(self) -> StepSummary | None:
        return self.versions[-1] if self.versions else None


class ChunkView(Value):
    """One chunk, with the versions of its capsule, oldest first."""

    chunk: HistoryChunk
    versions: tuple[HistoryChunk, ...] = ()
