"""What happened inside a turn besides its action, one line each, and the receipts of controls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from app.domain import events as ev
from app.domain.events import StoredEvent
from app.domain.memory import Departure
from app.domain.messages import JsonObject, Role
from app.domain.tasks import TaskState

MARK_TYPES = (
    "tool_served",
    "instruction_injected",
    "fallback_used",
    "loop_noticed",
    "compacted",
    "session_lost",
    "action_refused",
    "question_asked",
    "question_answered",
    "plan_revised",
    "text_read",
    "model_called",
)
"""Event types of which a turn shows something."""

RECEIPT_TYPES = (
    "control_requested",
    "control_applied",
    "instruction_injected",
    "question_answered",
)

BACKGROUND_ROLES = frozenset({Role.SUMMARIZER.value, Role.CHUNK_WRITER.value})
SHOWN_RECEIPTS = 6
SHOWN_ARGS = 160


class Mark(NamedTuple):
    """One line of a turn; `body` opens on demand."""

    shape: str
    tone: str
    title: str
    quote: str = ""
    body: str = ""


def mark(event: ev.Event) -> Mark | None:
    """What a turn shows of an event, if anything."""
    match event:
        case ev.ToolServed(name=name, args=args, result=result, tokens=tokens, trigger=trigger):
            size = f" · {tokens} tokens" if tokens else ""
            why = f" · {trigger}" if trigger else ""
            return Mark("tool", "idle", f"{name}({_args(args)}){size}{why}", body=result)
        case ev.InstructionInjected(instruction=instruction):
            return Mark("say", "ask", "A person said:", instruction.text)
        case ev.FallbackUsed(kind=kind, detail=detail):
            return Mark("swap", "warn", f"Second best used ({kind.replace('_', ' ')}): {detail}")
        case ev.LoopNoticed(detail=detail):
            return Mark("loop", "warn", f"Going in circles: {detail}")
        case ev.Compacted(before=before, after=after, departures=departures):
            title = f"Context compacted from {before.total:,} to {after.total:,} tokens"
            return Mark("fold", "idle", title, body="\n".join(map(departure_line, departures)))
        case ev.TextRead(problem=problem) if problem:
            return Mark("half", "warn", f"The picture's text was not read: {problem}")
        case ev.SessionLostEvent(reason=reason):
            return Mark("broken", "warn", f"The device session was lost: {reason}")
        case ev.ActionRefused(name=name, reason=reason, refusal=refusal):
            return Mark("stop", "warn", f"{name} refused ({refusal} of 3): {reason}")
        case ev.PlanRevised(plan=plan) if plan.revision > 1:
            return Mark("plan", "run", f"Plan revision {plan.revision}: {plan.reason}".strip(": "))
        case _:
            return _mark_of_question_or_model(event)


def _mark_of_question_or_model(event: ev.Event) -> Mark | None:
    match event:
        case ev.QuestionAsked(question=question):
            return Mark("hand", "ask", "Asked a person:", question.text)
        case ev.QuestionAnswered(answer=answer, approved=approved):
            if approved is not None:
                return Mark("hand", "ask", "A person approved" if approved else "A person refused")
            return Mark("hand", "ask", "A person answered:", answer)
        case ev.ModelCalled(call=call) if call.role in BACKGROUND_ROLES:
            return None  # told by the summary and the background's state, beside the turn
        case ev.ModelCalled(call=call) if call.outcome not in ("ok", "stop"):
            what = call.outcome.replace("_", " ")
            return Mark("cross", "warn", f"{call.role}: {what}. {call.detail}".strip())
        case _:
            return None


def departure_line(gone: Departure) -> str:
    """`turn of step 7: became a line (1,820 tokens)`."""
    return f"{gone.what}: {gone.why} ({gone.tokens:,} tokens)"


def step_of(event: ev.Event) -> int | None:
    """The step an event belongs to, or None."""
    match event:
        case ev.ModelCalled(call=call):
            return call.step_number
        case ev.InstructionInjected(instruction=instruction):
            return instruction.step_number
        case ev.QuestionAsked(question=question):
            return question.step_number
        case ev.NoteWritten(note=note):
            return note.step_number
    number = getattr(event, "step_number", None)
    return number if isinstance(number, int) else None


def marks_by_step(events: Iterable[StoredEvent]) -> dict[int, list[Mark]]:
    """All marks of some events, by the step they belong to."""
    marks: dict[int, list[Mark]] = {}
    for stored in events:
        number, shown = step_of(stored.event), mark(stored.event)
        if shown is not None and number is not None:
            marks.setdefault(number, []).append(shown)
    return marks


def _args(args: JsonObject) -> str:
    text = ", ".join(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for value in args.values()
    )
    return text if len(text) <= SHOWN_ARGS else text[: SHOWN_ARGS - 1] + "…"


CONTROL_WORDS = {
    "pause": "Pause",
    "resume": "Resume",
    "cancel": "Cancel",
    "inject": "Say",
    "answer": "Answer",
    "approve": "Approve",
    "deny": "Deny",
    "look": "Look again",
}


class ReceiptView(NamedTuple):
    """One control a person used, and how far it came."""

    receipt_id: str
    word: str
    text: str
    by: str
    at: datetime
    outcome: str
    """`delivered`, `applied at step 12`, or why not."""
    tone: str
    shape: str


def receipts(events: Sequence[StoredEvent], state: TaskState) -> list[ReceiptView]:
    """The newest controls first, each with what became of it."""
    ends: dict[str, tuple[str, str, str]] = {}
    for stored in events:
        match stored.event:
            case ev.ControlApplied(receipt_id=rid, applied=True, step_number=number):
                where = f"applied at step {number}" if number else "applied"
                ends[rid] = (where, "ok", "check")
            case ev.ControlApplied(receipt_id=rid, reason=reason):
                ends[rid] = (f"refused: {reason}", "bad", "cross")
            case ev.InstructionInjected(receipt_id=rid, instruction=instruction) if rid:
                ends.setdefault(rid, (f"applied at step {instruction.step_number}", "ok", "check"))
    waiting = ("delivered, not yet applied", "run", "clock")
    too_late = ("not applied: the task has ended", "warn", "stop")
    shown = [
        ReceiptView(
            request.receipt_id,
            CONTROL_WORDS[request.control],
            request.text,
            request.by,
            stored.at,
            *ends.get(request.receipt_id, too_late if state.ended else waiting),
        )
        for stored in events
        if isinstance(request := stored.event, ev.ControlRequested)
    ]
    return shown[-SHOWN_RECEIPTS:][::-1]


class Now(NamedTuple):
    """The turn that is going on and has no step yet."""

    number: int
    word: str
    since: datetime
    marks: list[Mark]


def now(tail: Sequence[StoredEvent], state: TaskState) -> Now | None:
    """What the agent is doing, read from the newest events; None when no turn is open."""
    if state is not TaskState.RUNNING:
        return None
    current: Now | None = None
    for stored in tail:
        event, at = stored.event, stored.at
        match event:
            case ev.SessionOpened(device=device):
                current = Now(0, f"Connected to {device}; reading the screen", at, [])
            case ev.TurnStarted(step_number=number):
                current = Now(number, "Looking at the screen and thinking", at, [])
            case ev.StepDecided():
                current = None
            case ev.StepFinished(step_number=number):
                current = Now(number + 1, "Waiting for the screen", at, [])
            case ev.ModelWaiting(model=model, reason=reason, seconds=seconds, attempt=attempt):
                number = current.number if current else event.step_number
                word = f"{model} is asked again in {seconds:.0f} s (try {attempt}): {reason}"
                current = Now(number, word, at, current.marks if current else [])
        shown = mark(event)
        if current and shown and step_of(event) in (current.number, None):
            current.marks.append(shown)
    return current
