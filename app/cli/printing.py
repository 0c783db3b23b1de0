"""Lines for a terminal: one for each thing that happens, control characters taken out."""

from __future__ import annotations

import re
import sys

from app.domain.events import (
    ActionRefused,
    Compacted,
    FallbackUsed,
    InstructionInjected,
    LoopNoticed,
    ModelWaiting,
    PlanRevised,
    QuestionAsked,
    SessionLostEvent,
    SessionOpened,
    StepDecided,
    StepFinished,
    StoredEvent,
    TaskStateChanged,
    ToolServed,
)
from app.domain.plans import MilestoneState

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe(text: str, limit: int = 300) -> str:
    """Text from outside in one line: no escape sequences, no direction overrides."""
    flat = _CONTROL.sub("", " ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def say(text: str = "") -> None:
    """One line on standard output, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def event_lines(stored: StoredEvent) -> list[str]:
    """What a person following a task is told; most events say nothing."""
    event = stored.event
    match event:
        case TaskStateChanged(state=state, reason=reason):
            return [f"● {state.value}{f': {safe(reason)}' if reason else ''}"]
        case SessionOpened(device=device, description=description):
            return [f"  device {safe(device)}: {safe(description)}"]
        case SessionLostEvent(reason=reason):
            return [f"△ the device session was lost: {safe(reason)}"]
        case PlanRevised(plan=plan):
            done = sum(m.state is MilestoneState.DONE for m in plan.milestones)
            active = f", now: {safe(plan.active.text, 80)}" if plan.active else ""
            return [f"  plan revision {plan.revision}: {done}/{len(plan.milestones)} done{active}"]
        case StepDecided(step_number=number, action_text=text):
            return [f"{number:>4}  {safe(text)}"]
        case StepFinished(verdict=verdict, verdict_reason=reason, recoveries=recoveries):
            lines = [f"      → {verdict.value}{f' ({safe(reason)})' if reason else ''}"]
            return lines + [f"      ↻ {safe(r.diagnosis)}" for r in recoveries]
        case ToolServed(name=name, result=result):
            return [f"      · {name}: {safe(result, 120)}"]
        case ActionRefused(name=name, reason=reason):
            return [f"      ✕ {safe(name)} refused: {safe(reason)}"]
        case ModelWaiting(reason=reason, seconds=seconds):
            return [f"      … waiting {seconds:.0f} s: {safe(reason)}"]
        case FallbackUsed(kind=kind, detail=detail):
            return [f"      △ {kind}: {safe(detail)}"]
        case Compacted(before=before, after=after):
            return [f"      ≡ history compacted: {before.total:,} → {after.total:,} tokens"]
        case InstructionInjected(instruction=instruction):
            return [f"      ✎ I{instruction.number}: {safe(instruction.text)}"]
        case QuestionAsked(question=question):
            return [f"?     {safe(question.text)}"]
        case LoopNoticed(detail=detail):
            return [f"      ↺ {safe(detail)}"]
        case _:
            return []
