"""One task under way: its ports, its rules, and everything a node may look at or change."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from app.agent.control import Control, Reply
from app.agent.flow import EndTask, failed
from app.domain.actions import Action, Receipt, Verdict
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, OcrConfig, PerceptionConfig
from app.domain.events import (
    ControlApplied,
    Event,
    FallbackUsed,
    QuestionAnswered,
    QuestionAsked,
    TaskStateChanged,
)
from app.domain.memory import BackgroundState, PromptFigures, SearchEntry, TextKind
from app.domain.messages import Call, Message, Usage
from app.domain.plans import Check, Plan
from app.domain.ports import Artifacts, Background, Clock, Device, Model, Ocr, Recorder, SearchIndex
from app.domain.screens import Observation, ScreenDiff
from app.domain.tasks import Note, Question, Recovery, StepRecord, Task, TaskState
from app.memory.hints import ScreenHistory
from app.memory.traffic import Traffic
from app.memory.transcript import Transcript
from app.world.model import WorldModel

RECENT = 24
"""Finished steps kept at hand for the loop checks."""


class Ports(NamedTuple):
    """The outside, handed in."""

    device: Device
    model: Model
    recorder: Recorder
    artifacts: Artifacts
    search: SearchIndex
    background: Background
    clock: Clock
    new_id: Callable[[], str]
    ocr: Ocr | None = None


class Rules(NamedTuple):
    """The sections of the settings that a run uses."""

    agent: AgentConfig
    memory: MemoryConfig
    perception: PerceptionConfig
    device: DeviceConfig
    offline: bool = False
    """The offline model drives."""
    ocr: OcrConfig = OcrConfig()


class Attempted(NamedTuple):
    """An action that was performed and did not work, for the failure analyzer."""

    receipt: Receipt
    verdict: Verdict
    reason: str
    diff: ScreenDiff
    after: Observation


@dataclass
class Turn:
    """What belongs to one turn only."""

    step_number: int
    step_id: str
    offset: float
    observation: Observation
    traffic: Traffic
    proposal: Call | None = None
    """The call that may become the turn's action."""
    action: Action | None = None
    tools: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remembered: dict[str, str] = field(default_factory=dict)
    refusals: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    thinking: list[str] = field(default_factory=list)
    native_thinking: list[str] = field(default_factory=list)
    irreversible: bool = False
    approved_by: str = ""
    less_screen: bool = False
    """Ask with less screen text: the former answer was blocked."""
    hint: str = ""
    prompt: tuple[Message, ...] = ()
    """The first prompt's messages; empty until it is built."""
    figures: PromptFigures | None = None
    attempted: Attempted | None = None
    recoveries: list[Recovery] = field(default_factory=list)
    record: StepRecord | None = None
    """The step as decided, until it is finished."""
    remarks: tuple[str, ...] = ()
    """What the runtime says in this turn's prompt."""
    cut: bool = False
    """The former answer was cut at its output limit."""


@dataclass
class Run:
    """One task from its start, or from its interruption, to its end."""

    task: Task
    ports: Ports
    rules: Rules
    control: Control
    transcript: Transcript
    world: WorldModel
    started: float
    """Monotonic time of the start, moved by pauses."""
    seconds_before: float = 0.0
    """Seconds spent before the process was restarted."""
    plan: Plan | None = None
    checks: tuple[Check, ...] = ()
    notes: dict[str, Note] = field(default_factory=dict)
    instructions: int = 0
    screens: ScreenHistory = field(default_factory=ScreenHistory)
    recent: deque[StepRecord] = field(default_factory=lambda: deque(maxlen=RECENT))
    step_number: int = 1
    """Number of the turn under way or about to begin."""
    observation: Observation | None = None
    observed_at: float = 0.0
    """Monotonic time of the observation."""
    turn: Turn | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    bad_replies: int = 0
    finish_refusals: int = 0
    losses: int = 0
    session_open: bool = False
    background_state: Callable[[], BackgroundState] = BackgroundState
    """Counts what waits in the background; returns at once."""
    after_step: Callable[[StepRecord], None] | None = None
    """Takes each finished step for background work; returns at once."""
    remarks: list[str] = field(default_factory=list)
    """Said once, in the next prompt."""
    _waits: int = 0
    _events: list[Event] = field(default_factory=list)
    _index: list[SearchEntry] = field(default_factory=list)

    # --- time -------------------------------------------------------------------------------

    @property
    def offset(self) -> float:
        """Seconds from the task's start, pauses not counted."""
        return self.seconds_before + self.ports.clock.monotonic() - self.started

    # --- recording --------------------------------------------------------------------------

    def note(self, *events: Event) -> None:
        """Keeps events for the next write."""
        self._events.extend(events)

    def index(self, kind: TextKind, text: str, step_number: int | None = None) -> None:
        """Keeps a search text for the next write."""
        if text.strip():
            number = self.step_number if step_number is None else step_number
            self._index.append(SearchEntry(step_number=number, kind=kind, text=text))

    async def write(self, *events: Event) -> None:
        """Writes everything kept and these events in one transaction."""
        self.note(*events)
        batch, index = tuple(self._events), tuple(self._index)
        if not batch and not index:
            return
        await self.ports.recorder.record(*batch, index=index)
        self._events.clear()
        self._index.clear()

    def waits(self) -> int:
        """Waits for background work since this was asked last."""
        before, self._waits = self._waits, self.background_state().waits
        return self._waits - before

    def fallback(self, kind: str, detail: str) -> None:
        """Counts something second best; it shows in the console."""
        self.note(FallbackUsed(kind=kind, detail=detail[:500], step_number=self.step_number))

    # --- state ------------------------------------------------------------------------------

    async def change_state(self, state: TaskState, reason: str) -> None:
        """Moves between running, paused and waiting."""
        previous, self.task = self.task.state, self.task.model_copy(update={"state": state})
        await self.write(TaskStateChanged(state=state, previous=previous, reason=reason))

    def current_turn(self) -> Turn:
        """The turn under way; a node that needs one is only reached within one."""
        if self.turn is None:
            raise RuntimeError("no turn is under way")
        return self.turn

    async def ask_person(self, kind: str, text: str) -> Reply:
        """Waits for a person's answer or decision; the device session is kept alive."""
        question = Question(
            question_id=self.ports.new_id(), kind=kind, text=text, step_number=self.step_number
        )
        self.note(QuestionAsked(question=question))
        await self.change_state(TaskState.WAITING, text)
        waited_from = self.ports.clock.monotonic()
        self.control.open_question = (question.question_id, kind)
        try:
            reply = await self._reply(question, waited_from)
        finally:
            self.control.open_question = None
        self.started += self.ports.clock.monotonic() - waited_from
        self.note(
            ControlApplied.model_validate(
                {
                    "receipt_id": reply.receipt_id,
                    "control": {True: "approve", False: "deny", None: "answer"}[reply.approved],
                    "applied": True,
                    "step_number": self.step_number,
                }
            ),
            QuestionAnswered(
                question_id=question.question_id,
                question=text,
                answer=reply.text,
                approved=reply.approved,
                by=reply.by,
                step_number=self.step_number,
            ),
        )
        await self.change_state(TaskState.RUNNING, "answered")
        return reply

    async def _reply(self, question: Question, waited_from: float) -> Reply:
        limit = self.rules.agent.question_timeout
        while True:
            self.raise_if_cancelled()
            if (reply := self.control.take_reply(question.question_id)) is not None:
                return reply
            if self.ports.clock.monotonic() - waited_from > limit:
                raise failed(f"nobody answered within {limit:.0f} s: {question.text}", "no_answer")
            await self.stay_alive()

    async def stay_alive(self) -> None:
        """Waits for something to change, with a sign of life to the device now and then."""
        await self.control.wait_change(self.rules.agent.keep_alive)
        if self.session_open:
            await self.ports.device.keep_alive()

    def raise_if_cancelled(self) -> None:
        """Cancel ends the task here; an action in flight is never cut off."""
        if self.control.cancelled.is_set():
            raise EndTask(TaskState.CANCELLED, "cancelled by a person")

    async def sleep(self, seconds: float) -> None:
        """Sleeps; a cancel ends it early."""
        sleeper = asyncio.ensure_future(self.ports.clock.sleep(seconds))
        cancelled = asyncio.ensure_future(self.control.cancelled.wait())
        try:
            await asyncio.wait({sleeper, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            cancelled.cancel()
        self.raise_if_cancelled()
