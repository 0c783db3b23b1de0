"""Everything that happens in a task, as one tagged union.

An event is stored in the same transaction as the rows it changes, numbered per task
(1, 2, 3 … without gaps) and then announced. Pictures and other large things are
referenced, never carried.

Longer than most modules: it is the one list of everything that can happen.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from app.domain.actions import Action, Receipt, Verdict
from app.domain.memory import Departure, WorldState, ZoneTokens
from app.domain.messages import JsonObject, Message
from app.domain.plans import Check, Plan
from app.domain.screens import ArtifactRef, Observation, ScreenDiff
from app.domain.summaries import HistoryChunk, Refusal, StepSummary, SummaryStatus
from app.domain.tasks import (
    Instruction,
    ModelCallRecord,
    Note,
    Question,
    Recovery,
    StepState,
    TaskSpec,
    TaskState,
)
from app.domain.values import Value


class TaskCreated(Value):
    """A task was submitted."""

    type: Literal["task_created"] = "task_created"
    spec: TaskSpec


class TaskStateChanged(Value):
    """A task moved to another state."""

    type: Literal["task_state_changed"] = "task_state_changed"
    state: TaskState
    previous: TaskState
    reason: str = ""
    code: str = ""
    answer: str = ""
    answer_data: JsonObject | list[object] | str | float | bool | None = None
    cited_steps: tuple[int, ...] = ()


class SessionOpened(Value):
    """A device session began."""

    type: Literal["session_opened"] = "session_opened"
    device: str
    description: str
    again: bool = False
    """The former session was lost."""


class SessionLostEvent(Value):
    """A device session ended by itself."""

    type: Literal["session_lost"] = "session_lost"
    device: str
    reason: str
    step_number: int


class PrefixStored(Value):
    """The stable zone's bytes, written once at the task's start."""

    type: Literal["prefix_stored"] = "prefix_stored"
    stable_ref: ArtifactRef
    offline: bool = False


class PlanRevised(Value):
    """The Planner wrote a revision."""

    type: Literal["plan_revised"] = "plan_revised"
    plan: Plan
    step_number: int


class ChecksChanged(Value):
    """Required checks were extracted, or an observation closed one."""

    type: Literal["checks_changed"] = "checks_changed"
    checks: tuple[Check, ...]
    step_number: int


class TurnStarted(Value):
    """The screen was observed; a step with this number may follow."""

    type: Literal["turn_started"] = "turn_started"
    step_number: int
    observation: Observation
    hint: str = ""
    """The similarity hint shown to the model, if any."""


class ModelCalled(Value):
    """A model answered, or could not."""

    type: Literal["model_called"] = "model_called"
    call: ModelCallRecord


class ModelWaiting(Value):
    """A model call waits before it is tried again."""

    type: Literal["model_waiting"] = "model_waiting"
    role: str
    model: str
    reason: str
    seconds: float
    attempt: int
    step_number: int = 0


class ToolServed(Value):
    """An in-turn tool was called and answered."""

    type: Literal["tool_served"] = "tool_served"
    step_number: int
    name: str
    args: JsonObject
    result: str
    """What the model was shown, at most 2,000 characters here."""
    result_ref: ArtifactRef | None = None
    """The whole result where it was larger."""
    tokens: int = 0
    trigger: str = ""
    """For recall_history: which trigger of the rules it had; empty is counted."""


class NoteWritten(Value):
    """A note was saved or extended; `note.text` is the whole new text."""

    type: Literal["note_written"] = "note_written"
    note: Note


class Remembered(Value):
    """Values were put into the believed state."""

    type: Literal["remembered"] = "remembered"
    values: dict[str, str]
    step_number: int


class InstructionInjected(Value):
    """A person told the agent something; applied at this step."""

    type: Literal["instruction_injected"] = "instruction_injected"
    instruction: Instruction
    receipt_id: str = ""


class ControlRequested(Value):
    """A person or program asked for something; its receipt id links what follows."""

    type: Literal["control_requested"] = "control_requested"
    receipt_id: str
    control: Literal["pause", "resume", "cancel", "inject", "answer", "approve", "deny", "look"]
    text: str = ""
    by: str = ""


class ControlApplied(Value):
    """What became of a control: applied at a step, or refused with the reason."""

    type: Literal["control_applied"] = "control_applied"
    receipt_id: str
    control: Literal["pause", "resume", "cancel", "inject", "answer", "approve", "deny", "look"]
    applied: bool
    step_number: int
    reason: str = ""


class QuestionAsked(Value):
    """The task waits for a person."""

    type: Literal["question_asked"] = "question_asked"
    question: Question


class QuestionAnswered(Value):
    """A person answered a question or decided an approval."""

    type: Literal["question_answered"] = "question_answered"
    question_id: str
    question: str
    answer: str
    approved: bool | None = None
    """For approvals."""
    by: str = ""
    step_number: int


class ActionRefused(Value):
    """The Execution check refused a call; the model was told why in the same turn."""

    type: Literal["action_refused"] = "action_refused"
    step_number: int
    name: str
    args: JsonObject
    reason: str
    refusal: int
    """1, 2, 3: the third one in a turn writes a blocked step."""


class StepDecided(Value):
    """The operator decided; the device has not been touched yet."""

    type: Literal["step_decided"] = "step_decided"
    step_id: str
    step_number: int
    started_at: datetime
    offset: float
    observation: Observation
    action: Action | None
    action_text: str
    thinking: str = ""
    native_thinking: str = ""
    messages_ref: ArtifactRef | None = None
    """JSON list of Message: the turn as it was, images by reference."""
    messages: tuple[Message, ...] = Field(default=(), exclude=True, repr=False)
    """The same in memory; stored through messages_ref only."""
    plan_revision: int = 0
    subgoal_hash: str = ""
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    remembered: dict[str, str] = Field(default_factory=dict)
    irreversible: bool = False
    approved_by: str = ""


class StepFinished(Value):
    """The Validator's word on a step."""

    type: Literal["step_finished"] = "step_finished"
    step_id: str
    step_number: int
    state: StepState
    receipt: Receipt | None = None
    verdict: Verdict
    verdict_reason: str = ""
    diff: ScreenDiff | None = None
    after: Observation | None = None
    recoveries: tuple[Recovery, ...] = ()
    world: WorldState | None = None
    ended_at: datetime


class FallbackUsed(Value):
    """Something second best was used instead; never silent."""

    type: Literal["fallback_used"] = "fallback_used"
    kind: str
    """`model`, `signature_dropped`, `prompt_excerpt`, `no_screenshot`, `no_tree`, `plan`, …"""
    detail: str
    step_number: int


class Compacted(Value):
    """The frozen history was rewritten."""

    type: Literal["compacted"] = "compacted"
    step_number: int
    before: ZoneTokens
    after: ZoneTokens
    departures: tuple[Departure, ...] = ()
    frozen_ref: ArtifactRef | None = None
    frozen_through: int = 0


class TextRead(Value):
    """The text in a step's picture was read in the background, or why it was not."""

    type: Literal["text_read"] = "text_read"
    step_number: int
    screenshot: ArtifactRef
    text_ref: ArtifactRef | None = None
    """JSON of PictureText; None when the picture was not read."""
    lines: int = 0
    seconds: float = 0.0
    """What the reading took; the same picture in another step is not read again."""
    problem: str = ""
    again: bool = False
    """It may be read another time: there was no reader, or no room."""


class LoopNoticed(Value):
    """The same action on the same screen came again without effect."""

    type: Literal["loop_noticed"] = "loop_noticed"
    step_number: int
    detail: str


class SummaryChanged(Value):
    """A step's summary moved to another state; with a version when one was written."""

    type: Literal["summary_changed"] = "summary_changed"
    step_id: str
    step_number: int
    status: SummaryStatus
    summary: StepSummary | None = None
    attempts: int = 0
    refusals: tuple[Refusal, ...] = ()
    reason: str = ""
    pictures: tuple[ArtifactRef, ...] = ()
    """The pictures that were really sent, the action marked on the first."""


class TextRefused(Value):
    """An answer of a background writer broke rules and was not taken."""

    type: Literal["text_refused"] = "text_refused"
    kind: Literal["summaries", "chunks"]
    step_number: int
    """Of a chunk, its last one."""
    model: str
    refusals: tuple[Refusal, ...]


class ChunkClosed(Value):
    """A range of steps became a chunk; its capsule is still to be written."""

    type: Literal["chunk_closed"] = "chunk_closed"
    chunk: HistoryChunk


class ChunkChanged(Value):
    """A capsule was written (a new version), or could not be."""

    type: Literal["chunk_changed"] = "chunk_changed"
    chunk: HistoryChunk
    reason: str = ""


class BackgroundChanged(Value):
    """Background work of a kind started, switched to lite, paused, stopped at its ceiling, …"""

    type: Literal["background_changed"] = "background_changed"
    kind: Literal["summaries", "chunks", "ocr"]
    state: Literal["running", "lite", "paused", "stopped"]
    reason: str


Event = Annotated[
    TaskCreated
    | TaskStateChanged
    | SessionOpened
    | SessionLostEvent
    | PrefixStored
    | PlanRevised
    | ChecksChanged
    | TurnStarted
    | ModelCalled
    | ModelWaiting
    | ToolServed
    | NoteWritten
    | Remembered
    | InstructionInjected
    | ControlRequested
    | ControlApplied
    | QuestionAsked
    | QuestionAnswered
    | ActionRefused
    | StepDecided
    | StepFinished
    | FallbackUsed
    | Compacted
    | TextRead
    | LoopNoticed
    | SummaryChanged
    | TextRefused
    | ChunkClosed
    | ChunkChanged
    | BackgroundChanged,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class StoredEvent(Value):
    """An event with its number in its task."""

    seq: int
    task_id: str
    at: datetime
    event: Event
