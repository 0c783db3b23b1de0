"""The milestone plan: a markdown checklist with revisions, and required checks."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from pydantic import Field

from app.domain.values import Value


class MilestoneState(StrEnum):
    """The box in front of a milestone."""

    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"
    LOOP = "loop"
    """[Loop]: repeated until its own condition holds."""
    LOOP_CONTINUOUS = "loop_continuous"
    """[Loop:continuous]: goes on until a person or a limit ends it."""


BOX = {
    MilestoneState.OPEN: "[ ]",
    MilestoneState.ACTIVE: "[/]",
    MilestoneState.DONE: "[x]",
    MilestoneState.LOOP: "[Loop]",
    MilestoneState.LOOP_CONTINUOUS: "[Loop:continuous]",
}


class Milestone(Value):
    """One line of the plan."""

    number: int
    """1-based position in its revision."""
    text: str = Field(min_length=1, max_length=1_000)
    state: MilestoneState = MilestoneState.OPEN
    progress: str = ""
    """Candidates or rounds done, for loops."""

    def line(self) -> str:
        tail = f" ({self.progress})" if self.progress else ""
        return f"- {BOX[self.state]} {self.number}. {self.text}{tail}"


class Plan(Value):
    """One revision of a task's plan."""

    revision: int
    """1, 2, 3 … per task."""
    milestones: tuple[Milestone, ...]
    reason: str = ""
    """Why this revision was written."""

    @property
    def active(self) -> Milestone | None:
        """The milestone being worked on: the one marked, else the first open one."""
        marked = (MilestoneState.ACTIVE, MilestoneState.LOOP, MilestoneState.LOOP_CONTINUOUS)
        for wanted in (marked[:1], marked[1:], (MilestoneState.OPEN,)):
            for milestone in self.milestones:
                if milestone.state in wanted:
                    return milestone
        return None

    @property
    def open(self) -> tuple[Milestone, ...]:
        """Milestones that keep `finish` from being accepted."""
        return tuple(
            m
            for m in self.milestones
            if m.state in (MilestoneState.OPEN, MilestoneState.ACTIVE, MilestoneState.LOOP)
        )

    def subgoal_hash(self) -> str:
        """Stamped on steps; the same text gives the same hash in every revision."""
        active = self.active
        return hashlib.sha256(active.text.encode()).hexdigest()[:16] if active else ""

    def markdown(self) -> str:
        return "\n".join(m.line() for m in self.milestones)


class Check(Value):
    """Something the screen must have shown before `finish` is accepted."""

    number: int
    text: str = Field(min_length=1, max_length=1_000)
    """Quoted text that must stand on a screen, compared without case and spacing."""
    milestone: int = 0
    """Counts only once this milestone is active or done; 0 counts from the start."""
    closed_by_step: int | None = None
    """The step whose observation showed it."""
