"""One step as a turn of the task page: what was thought, done, seen and mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.console.marks import Mark
from app.console.phrases import OUTCOME_SIGNS, Phrase, Sign, phrase, step_sign, target_line
from app.domain.actions import Outcome, Target
from app.domain.summaries import HistoryChunk
from app.domain.tasks import Recovery, StepRecord, StepState
from app.storage.queries import SummaryView


class TurnView(NamedTuple):
    """What the template shows of one step."""

    number: int
    offset: str
    phrase: Phrase
    sign: Sign
    thinking: str
    native_thinking: str
    target: str
    receipt: str
    """Empty where the device simply did it."""
    receipt_sign: Sign | None
    verdict_reason: str
    diff: str
    recoveries: tuple[str, ...]
    remembered: Mapping[str, str]
    notes: tuple[str, ...]
    marks: Sequence[Mark]
    problems: tuple[str, ...]
    """What could not be seen."""
    acting: bool
    approved_by: str
    summary: SummaryView | None = None
    chunk: HistoryChunk | None = None
    """The chunk that ends with this step."""


def turn_view(
    step: StepRecord,
    marks: Sequence[Mark] = (),
    summary: SummaryView | None = None,
    chunk: HistoryChunk | None = None,
) -> TurnView:
    """A step, the marks of its events and what the memory made of it, ready to render."""
    receipt, sign = "", None
    if step.receipt is not None:
        sign = OUTCOME_SIGNS[step.receipt.outcome]
        if step.receipt.outcome is not Outcome.OK:
            receipt = f"{sign.word}: {step.receipt.message}".strip(": ")
        else:
            receipt = f"{sign.word} in {step.receipt.seconds:.2f} s"
    return TurnView(
        number=step.step_number,
        offset=offset(step.offset),
        phrase=phrase_of(step),
        sign=step_sign(step.state, step.verdict),
        thinking=step.thinking,
        native_thinking=step.native_thinking,
        target=target_line(target_of(step)),
        receipt=receipt,
        receipt_sign=sign,
        verdict_reason=step.verdict_reason,
        diff=step.diff.line() if step.diff and step.diff.changed else "",
        recoveries=tuple(recovery_line(recovery) for recovery in step.recoveries),
        remembered=step.remembered,
        notes=step.notes,
        marks=marks,
        problems=step.observation.problems,
        acting=step.state is StepState.DECIDED,
        approved_by=step.approved_by,
        summary=summary,
        chunk=chunk,
    )


def phrase_of(step: StepRecord) -> Phrase:
    """What was done; a recorded run may tell of actions that are none of ours."""
    if step.action is None and step.action_text:
        return Phrase(step.action_text)
    return phrase(step.action)


def target_of(step: StepRecord) -> Target | None:
    """The place an action was meant for; a drag's is where it starts."""
    target = getattr(step.action, "target", None) or getattr(step.action, "start", None)
    return target if isinstance(target, Target) else None


def recovery_line(recovery: Recovery) -> str:
    """A recovery in one sentence."""
    parts = [f"{recovery.trigger}: {recovery.diagnosis}".strip(": ")]
    if recovery.action is not None:
        parts.append(str(phrase(recovery.action)))
    if recovery.verdict is not None:
        parts.append(recovery.verdict.value.replace("_", " "))
    return " → ".join(part for part in parts if part)


def offset(seconds: float) -> str:
    """`T+06:12`, with hours where there are any."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"T+{hours}:{minutes:02}:{rest:02}" if hours else f"T+{minutes:02}:{rest:02}"
