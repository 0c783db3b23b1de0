"""What is not settled at present, in a few words: uncertain steps, a recovery under way."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.actions import Verdict
from app.domain.tasks import StepRecord

LOOKED_AT = 8
"""Newest steps of which an uncertain one still counts as open."""
SHOWN = 3
UNFINISHED = frozenset({"scroll_to", "swipe", "input_text", "clear_text", "hide_keyboard", "wait"})
"""Kinds of action that are part of something longer: a search, a form, a wait."""


def unsettled(recent: Sequence[StepRecord]) -> tuple[str, ...]:
    """The open marks of the newest steps, oldest first; nothing where all went well."""
    steps = list(recent)[-LOOKED_AT:]
    marks = []
    for at, step in enumerate(steps):
        if step.verdict is Verdict.UNCERTAIN and not _done_since(step, steps[at + 1 :]):
            marks.append(f"step {step.step_number} is uncertain, look before repeating it")
    marks = marks[-SHOWN:]
    if steps and (tried := steps[-1].recoveries):
        worked = any(r.verdict is Verdict.EXECUTED for r in tried)
        how = "moved the screen" if worked else "changed nothing yet"
        marks.append(f"recovery under way since step {steps[-1].step_number}: it {how}")
    return tuple(marks)


def in_trouble(recent: Sequence[StepRecord]) -> bool:
    """Whether two turns must stay word for word.

    The last step did not work or needed recovery, or it left something unfinished that the one
    before it had begun.
    """
    steps = list(recent)[-2:]
    if not steps:
        return False
    last = steps[-1]
    if last.verdict is not Verdict.EXECUTED or last.recoveries:
        return True
    kinds = {step.action.type if step.action is not None else "" for step in steps}
    return len(steps) == 2 and kinds <= UNFINISHED


def _done_since(step: StepRecord, later: Sequence[StepRecord]) -> bool:
    """Whether the same action was executed after all."""
    return any(s.verdict is Verdict.EXECUTED and s.action_text == step.action_text for s in later)
