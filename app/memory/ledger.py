"""Mechanical text about recorded steps: one line each, and the real messages of a turn.

No model is involved, and the same step always gives the same bytes.
"""

from __future__ import annotations

import json

from app.domain.actions import describe
from app.domain.messages import Call, Image, JsonObject, Message, Part, Response, Text
from app.domain.screens import Observation, TreeStatus
from app.domain.tasks import Recovery, StepRecord, StepState
from app.memory.envelopes import shortened
from app.memory.tokens import count_text, cut_text

PENDING: JsonObject = {"verdict": "pending"}
"""Stands for an action's result while the action runs; replaced when the step is done."""

TOOL_RESULT_TOKENS = 400
"""What one in-turn result keeps once its turn is history."""
CHANGE_TOKENS = 60
"""What an action's result in A says of the screen's change; the next screen shows all of it."""
LINE_TOKENS = 70
"""Bound of one ledger line."""


def offset_text(seconds: float) -> str:
    """`T+mm:ss` (or `T+h:mm:ss`) from the task's start: true for ever, unlike a clock."""
    total = max(0, int(seconds))
    minutes, rest = divmod(total, 60)
    if minutes < 60:
        return f"T+{minutes:02d}:{rest:02d}"
    return f"T+{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def step_line(step: StepRecord) -> str:
    """`Step 18 (T+12:40): tap [Sign in] → executed`, with recovery lines below it."""
    what = step.action_text or "no action"
    line = f"Step {step.step_number} ({offset_text(step.offset)}): {what} → {_outcome(step)}"
    lines = [cut_text(line, LINE_TOKENS).replace("\n", " ")]
    lines += [f"  {cut_text(recovery_line(r), LINE_TOKENS)}" for r in step.recoveries]
    return "\n".join(lines)


def recovery_line(recovery: Recovery) -> str:
    """What the failure analyzer saw and did, for the ledger and for people."""
    did = describe(recovery.action) if recovery.action is not None else "no action"
    verdict = f" → {recovery.verdict.value}" if recovery.verdict is not None else ""
    return f"recovery ({recovery.trigger}): {did}{verdict}".replace("\n", " ")


def _outcome(step: StepRecord) -> str:
    if step.state is StepState.INTERRUPTED:
        return "interrupted, outcome unknown"
    verdict = step.verdict.value if step.verdict is not None else "undecided"
    if step.diff is not None and step.diff.changed:
        return f"{verdict}; {step.diff.line()}"
    if step.verdict_reason:
        return f"{verdict}; {step.verdict_reason}"
    return verdict


def observation_line(step_number: int, offset: float, seen: Observation) -> str:
    """What stays of an observation once its turn is history: no picture, no elements."""
    place = f" ({seen.app()})" if seen.app() and seen.app() != seen.page() else ""
    if seen.tree.status is TreeStatus.FAILED:
        elements = "element dump failed"
    else:
        elements = f"{seen.element_count} elements"
    alert = f", alert “{cut_text(seen.alert.text, 40)}”" if seen.alert is not None else ""
    page = cut_text(seen.page(), 40)
    place = cut_text(place, 40)
    return f"[Step {step_number} · {offset_text(offset)}] Screen “{page}”{place}, {elements}{alert}"


def _change(text: str) -> str:
    short = cut_text(text, CHANGE_TOKENS)
    return short if short == text else f"{short}…"


def action_result(step: StepRecord) -> JsonObject:
    """The function response of the action that ended a turn."""
    result: JsonObject = {
        "verdict": step.verdict.value if step.verdict is not None else "uncertain",
        "change": _change(step.diff.line()) if step.diff is not None else "not observed",
    }
    message = step.verdict_reason or (step.receipt.message if step.receipt is not None else "")
    if step.state is StepState.INTERRUPTED:
        message = "interrupted; whether it happened is unknown, look before repeating it"
    if message:
        result["message"] = cut_text(message, 80)
    if step.recoveries:
        result["recovery"] = [cut_text(recovery_line(r), 60) for r in step.recoveries]
    return result


def turn_messages(step: StepRecord) -> tuple[Message, ...]:
    """A finished turn as it stands in zone A: the real messages, observation scrubbed."""
    header = Message(
        role="user",
        parts=(Text(text=observation_line(step.step_number, step.offset, step.observation)),),
    )
    result = action_result(step)
    return (header, *(_scrubbed(m, result) for m in step.messages))


def turn_text(step: StepRecord, tokens: int) -> tuple[Message, ...]:
    """A turn too large for real messages, as one excerpt of at most about `tokens`."""
    head = observation_line(step.step_number, step.offset, step.observation)
    number = step.step_number
    again = f"recall_history(step_range=[{number},{number}], include_details=true)"
    end = f"{step_line(step)}\n(more: {again})"
    said = step.thinking or step.native_thinking
    room = tokens - count_text(head) - count_text(end) - 8
    body = f"{head}\nI said (excerpt): {cut_text(said, max(50, room))}\n{end}"
    return (Message(role="user", parts=(Text(text=body),)),)


def turn_plain(step: StepRecord, tokens: int) -> tuple[Message, ...]:
    """A finished turn as text, for a prompt without a tail of real messages."""
    head = observation_line(step.step_number, step.offset, step.observation)
    result = action_result(step)
    lines = [f"{head}\nI said (excerpt): {step.thinking or step.native_thinking}"]
    for message in step.messages:
        for part in _scrubbed(message, result).parts:
            match part:
                case Call(name=name, args=args):
                    lines.append(f"I called {name} {json.dumps(args, ensure_ascii=False)}.")
                case Response(name=name, response=response):
                    lines.append(f"Result of {name}: {json.dumps(response, ensure_ascii=False)}")
                case _:
                    continue
    line = step_line(step)
    body = cut_text("\n".join(lines), tokens - count_text(line))
    return (Message(role="user", parts=(Text(text=f"{body}\n{line}"),)),)


def _scrubbed(message: Message, result: JsonObject) -> Message:
    if message.role == "model":
        return message
    return Message(role="user", parts=tuple(_scrubbed_part(p, result) for p in message.parts))


def _scrubbed_part(part: Part, result: JsonObject) -> Part:
    match part:
        case Image():
            return Text(text="[the picture was shown in that turn only]")
        case Response(response=response) if response == PENDING:
            return part.model_copy(update={"response": result})
        case Response(response=response):
            short = shortened(response, TOOL_RESULT_TOKENS)
            return part.model_copy(update={"response": short})
        case _:
            return part
