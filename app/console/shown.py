"""The screen a page shows: as it was decided on, with the action drawn, or as it is now."""

from __future__ import annotations

from typing import NamedTuple

from app.console.overlay import Overlay, overlay
from app.console.phrases import target_line
from app.console.turns import phrase_of, target_of
from app.domain.events import TurnStarted
from app.domain.screens import Observation
from app.domain.tasks import StepRecord


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


def shown_turn(turn: TurnStarted) -> Shown:
    """The screen of a turn that has no step yet."""
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
    title, target = str(phrase_of(step)), target_of(step)
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
