"""Tasks: what was asked for, under which limits, and in which state it is.

Longer than 300 lines: one task and all that is recorded of it, value by value.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from app.domain.actions import Action, Receipt, Verdict
from app.domain.memory import PromptFigures
from app.domain.messages import JsonObject, Message, Usage
from app.domain.plans import Check, Plan
from app.domain.screens import ArtifactRef, Observation, ScreenDiff
from app.domain.summaries import HistoryChunk, StepSummary, SummaryStatus
from app.domain.values import Value


class TaskState(StrEnum):
    """States of a task; `TRANSITIONS` says which may follow which."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting"
    """For a person: an approval or an answer."""
    INTERRUPTED = "interrupted"
    """The process died; a restarted server goes on or says what it left."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)

    @property
    def active(self) -> bool:
        """A device is held."""
        return self in (TaskState.RUNNING, TaskState.PAUSED, TaskState.WAITING)


_ENDS = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})
TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    TaskState.QUEUED: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.FAILED}),
    TaskState.RUNNING: _ENDS | {TaskState.PAUSED, TaskState.WAITING, TaskState.INTERRUPTED},
    TaskState.PAUSED: frozenset(
        {TaskState.RUNNING, TaskState.CANCELLED, TaskState.FAILED, TaskState.INTERRUPTED}
    ),
    TaskState.WAITING: frozenset(
        {TaskState.RUNNING, TaskState.CANCELLED, TaskState.FAILED, TaskState.INTERRUPTED}
    ),
    TaskState.INTERRUPTED: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.FAILED}),
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset(),
    TaskState.CANCELLED: frozenset(),
}


class StepState(StrEnum):
    """A step is written when decided, before the device is touched."""

    DECIDED = "decided"
    DONE = "done"
    BLOCKED = "blocked"
    """Refused by the Execution check three times."""
    INTERRUPTED = "interrupted"
    """The process died or the session was lost between decision and result."""


class Ability(StrEnum):
    """What a kind of device can do; one table per driver in devices/abilities.py."""

    TOUCH = "touch"
    TEXT = "text"
    KEYS = "keys"
    BACK = "back"
    HOME = "home"
    APPS = "apps"
    URLS = "urls"
    ORIENTATION = "orientation"
    KEYBOARD = "keyboard"
    """Can hide the on-screen keyboard."""
    ALERTS = "alerts"
    SHELL = "shell"


class Limits(Value):
    """Bounds of one task; the first one reached ends it."""

    steps: int = Field(default=200, ge=1, le=20_000)
    """Executed decisions of the operator."""
    seconds: float = Field(default=3_600, gt=0, le=7 * 86_400)
    """Wall time, pauses not counted."""
    tokens: int = Field(default=20_000_000, ge=1)
    """Prompt, thinking and output of all calls."""
    cost_usd: float = Field(default=10.0, gt=0)
    """Counts calls with a known price; a model without one is bounded by tokens alone."""


class Approval(StrEnum):
    """When a person must agree before an action runs."""

    NEVER = "never"
    IRREVERSIBLE = "irreversible"
    """Actions whose target names an outside effect (delete, send, pay, …)."""
    ALWAYS = "always"


class TaskSpec(Value):
    """What was asked for. Immutable once submitted."""

    goal: str = Field(min_length=1, max_length=20_000)
    device: str = Field(min_length=1, max_length=100)
    limits: Limits = Limits()
    approval: Approval = Approval.NEVER
    answer_schema: JsonObject | None = None
    """JSON schema the answer must fit."""
    switches: dict[str, bool] = Field(default_factory=dict)
    """Memory switches that differ from the configuration, by name."""
    models: str = Field(default="", max_length=20)
    """`offline`, `gemini` or empty for the configured default."""


class Task(Value):
    """A task as stored."""

    task_id: str
    spec: TaskSpec
    state: TaskState
    reason: str = ""
    """Why it is in this state, for people."""
    code: str = ""
    """An error code of errors.py where it failed, else empty."""
    answer: str = ""
    answer_data: JsonObject | list[object] | str | float | bool | None = None
    """The structured answer where a schema was given."""
    cited_steps: tuple[int, ...] = ()
    """Steps the answer rests on."""
    steps: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    """Calls of a model without a known price."""
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    last_seq: int = 0
    """Number of the newest event."""
    cancel_requested: bool = False
    pause_requested: bool = False
    offline: bool = False
    """The offline model drove it."""


class Recovery(Value):
    """One bounded diagnosis and the actions it took."""

    trigger: str
    diagnosis: str
    action: Action | None = None
    receipt: Receipt | None = None
    verdict: Verdict | None = None


class StepRecord(Value):
    """One executed operator decision with everything recorded about it."""

    step_id: str
    step_number: int
    state: StepState
    started_at: datetime
    """When its observation began."""
    offset: float
    """Seconds from the task's start."""
    decided_at: datetime | None = None
    ended_at: datetime | None = None
    plan_revision: int = 0
    subgoal_hash: str = ""
    observation: Observation
    thinking: str = ""
    """Visible reasoning beside the call."""
    native_thinking: str = ""
    action: Action | None = None
    """None in a blocked step whose action could not even be read."""
    action_text: str = ""
    """describe(action): one line."""
    messages: tuple[Message, ...] = ()
    """The turn's model messages and tool results, in order, images by reference."""
    receipt: Receipt | None = None
    verdict: Verdict | None = None
    verdict_reason: str = ""
    diff: ScreenDiff | None = None
    after: Observation | None = None
    """Independent post-action observation; None means there is no independent evidence."""
    recoveries: tuple[Recovery, ...] = ()
    remembered: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Keys of notes written in this step."""
    tools: tuple[str, ...] = ()
    """Names of in-turn tools served, in order."""
    irreversible: bool = False
    approved_by: str = ""


class Note(Value):
    """A long-term note of a task."""

    key: str = Field(min_length=1, max_length=100)
    text: str = Field(max_length=20_000)
    step_number: int


class Instruction(Value):
    """Something a person said to the agent; kept word for word."""

    number: int
    """1, 2, 3 … per task."""
    text: str = Field(min_length=1, max_length=5_000)
    step_number: int
    """The first step that could obey it."""


class Question(Value):
    """The agent asks a person; or wants an approval."""

    question_id: str
    kind: str
    """`question` or `approval`."""
    text: str
    step_number: int


class ModelCallRecord(Value):
    """One model call as stored: who, how much, how long, and the exact prompt."""

    call_id: str
    role: str
    step_number: int
    provider: str = ""
    model: str = ""
    offline: bool = False
    outcome: str = "ok"
    """`ok`, a Finish word, or an error code."""
    detail: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float = 0.0
    first_token_seconds: float | None = None
    attempts: int = 1
    fallback: str = ""
    first_of_turn: bool = False
    figures: PromptFigures | None = None
    prompt_ref: ArtifactRef | None = None
    """The request as sent: JSON of ModelRequest, images by reference."""
    reply_ref: ArtifactRef | None = None
    """The raw reply body."""


class Spent(Value):
    """What was used so far."""

    usage: Usage = Usage()
    cost_usd: float = 0.0


class TaskHistory(Value):
    """What a runner needs to go on: everything recorded so far."""

    task: Task
    steps: tuple[StepRecord, ...] = ()
    plan: Plan | None = None
    plan_revisions: int = 0
    checks: tuple[Check, ...] = ()
    notes: tuple[Note, ...] = ()
    remembered: dict[str, tuple[str, int]] = Field(default_factory=dict)
    """Key to value and the step it was read in."""
    instructions: tuple[Instruction, ...] = ()
    answers: tuple[tuple[str, str, int], ...] = ()
    """(question, answer, step number) in order."""
    stable_prefix: str = ""
    """S as stored at the task's start."""
    frozen: str = ""
    """F as stored at the last compaction."""
    frozen_through: int = 0
    """The newest step number that F covers."""
    last_first_call: ModelCallRecord | None = None
    """The newest first call of a turn that has figures: how far its estimate was off."""
    open_question: Question | None = None
    seconds_spent: float = 0.0
    summaries: dict[int, StepSummary] = Field(default_factory=dict)
    """The newest version by step number."""
    summary_states: dict[int, SummaryStatus] = Field(default_factory=dict)
    """By step number, of steps that were to be summarised."""
    chunks: tuple[HistoryChunk, ...] = ()
    """Closed chunks in order, each in its newest version."""
    background: dict[str, Spent] = Field(default_factory=dict)
    """What each background role has used so far; not counted against the task's limits."""

    def own_spent(self) -> Spent:
        """What counts against the task's limits: all but the background's."""
        used = [spent.usage for spent in self.background.values()]
        total = self.task.usage
        cost = sum(spent.cost_usd for spent in self.background.values())
        return Spent(
            usage=Usage(
                prompt=total.prompt - sum(u.prompt for u in used),
                cached=total.cached - sum(u.cached for u in used),
                thinking=total.thinking - sum(u.thinking for u in used),
                output=total.output - sum(u.output for u in used),
            ),
            cost_usd=self.task.cost_usd - cost,
        )
