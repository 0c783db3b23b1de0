"""Writes plan revisions and closes required checks; the only place that does."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field

from app.agent.calls import ask_json
from app.agent.prompts import load
from app.agent.run import Run
from app.domain.actions import InputText
from app.domain.events import ChecksChanged, PlanRevised
from app.domain.memory import TextKind, WorldState
from app.domain.messages import JsonObject, Role
from app.domain.plans import Check, Milestone, MilestoneState, Plan
from app.domain.screens import Observation

FIRST_REQUEST = "Write the first plan."
MAX_MILESTONES = 60


class PlanRefused(Exception):
    """The plan cannot be changed like that; the text tells the model what to change."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    text: str = Field(min_length=1, max_length=1_000)
    state: MilestoneState = MilestoneState.OPEN
    progress: str = Field(default="", max_length=300)


class _Check(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    text: str = Field(min_length=1, max_length=1_000)
    milestone: int = 0


class _Written(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    milestones: tuple[_Line, ...] = Field(min_length=1, max_length=MAX_MILESTONES)
    checks: tuple[_Check, ...] = ()
    reason: str = Field(default="", max_length=1_000)


class _Update(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    done: tuple[int, ...] = ()
    active: int | None = None
    progress: str = Field(default="", max_length=300)
    request: str = Field(default="", max_length=5_000)


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "milestones": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "state": {"type": "string", "enum": [s.value for s in MilestoneState]},
                    "progress": {"type": "string"},
                },
                "required": ["text", "state"],
            },
        },
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "milestone": {"type": "integer"}},
                "required": ["text", "milestone"],
            },
        },
        "reason": {"type": "string"},
    },
    "required": ["milestones", "checks", "reason"],
}


async def plan(run: Run, request: str, *, world: WorldState | None = None) -> None:
    """Has the Planner write a revision; raises ModelError."""
    believed = f"\n# BELIEVED\n{world.current_page}" if world and world.current_page else ""
    apps = ", ".join(run.ports.device.apps) or "none listed"
    question = (
        f"# GOAL\n{run.task.spec.goal}\n"
        f"# DEVICE\n{run.ports.device.description}; apps: {apps}\n"
        f"# PLAN\n{run.plan.markdown() if run.plan else 'none'}{believed}\n"
        f"# REQUEST\n{request}"
    )
    written = await ask_json(run, Role.PLANNER, load("planner"), question, _Written, SCHEMA)
    milestones = tuple(
        Milestone(number=i, text=m.text, state=m.state, progress=m.progress)
        for i, m in enumerate(written.milestones, 1)
    )
    first = run.plan is None
    revise(run, milestones, written.reason or request)
    if first:
        run.checks = tuple(
            Check(number=i, text=c.text, milestone=max(0, min(c.milestone, len(milestones))))
            for i, c in enumerate(written.checks, 1)
        )
        if run.checks:
            run.note(ChecksChanged(checks=run.checks, step_number=run.step_number))


def plain_plan(run: Run) -> None:
    """The plan when the Planner cannot answer: the goal itself."""
    text = " ".join(run.task.spec.goal.split())[:300]
    milestone = Milestone(number=1, text=text, state=MilestoneState.ACTIVE)
    revise(run, (milestone,), "the planner could not answer")


def revise(run: Run, milestones: tuple[Milestone, ...], reason: str) -> None:
    """Appends a revision; earlier ones are kept in the store."""
    number = run.plan.revision + 1 if run.plan else 1
    run.plan = Plan(revision=number, milestones=milestones, reason=reason[:500])
    run.note(PlanRevised(plan=run.plan, step_number=run.step_number))
    run.index(TextKind.PLAN, f"plan revision {number}: {run.plan.markdown()}")


async def update(run: Run, args: JsonObject) -> str:
    """`update_plan`: ticks are mechanical, a request goes to the Planner."""
    read = _Update.model_validate(args)
    if read.request.strip():
        if read.done or read.active is not None:
            _tick(run, read)
        await plan(run, read.request, world=run.world.state)
    elif read.done or read.active is not None or read.progress:
        _tick(run, read)
    else:
        raise PlanRefused("say which milestones are done, which one is active, or a request")
    close_checks(run, run.current_turn().observation)
    return run.plan.markdown() if run.plan else "no plan"


def _tick(run: Run, read: _Update) -> None:
    if run.plan is None:
        raise PlanRefused("there is no plan yet; give a request")
    numbers = {m.number for m in run.plan.milestones}
    unknown = sorted({*read.done, *([read.active] if read.active is not None else [])} - numbers)
    if unknown:
        raise PlanRefused(
            f"there is no milestone {unknown[0]}; the plan has {len(numbers)} milestones"
        )
    after = tuple(_ticked(m, read) for m in run.plan.milestones)
    if after != run.plan.milestones:
        revise(run, after, _tick_text(read))


def _tick_text(read: _Update) -> str:
    parts = [f"milestone {n} done" for n in read.done]
    parts += [f"milestone {read.active} active"] if read.active is not None else []
    parts += [f"progress: {read.progress}"] if read.progress else []
    return ", ".join(parts)


def _ticked(milestone: Milestone, read: _Update) -> Milestone:
    state, progress = milestone.state, milestone.progress
    if milestone.number in read.done:
        state = MilestoneState.DONE
    elif milestone.number == read.active and state in (MilestoneState.OPEN, MilestoneState.DONE):
        state = MilestoneState.ACTIVE
    elif read.active is not None and state is MilestoneState.ACTIVE:
        state = MilestoneState.OPEN if milestone.number != read.active else state
    target = read.active if read.active is not None else None
    if read.progress and (milestone.number == target or (target is None and _worked_on(milestone))):
        progress = read.progress
    return milestone.model_copy(update={"state": state, "progress": progress})


def _worked_on(milestone: Milestone) -> bool:
    return milestone.state in (
        MilestoneState.ACTIVE,
        MilestoneState.LOOP,
        MilestoneState.LOOP_CONTINUOUS,
    )


def close_checks(run: Run, seen: Observation) -> None:
    """Closes required checks, in their order, whose text this observation shows."""
    active = run.plan.active if run.plan else None
    reached = active.number if active else MAX_MILESTONES
    texts = None
    after: list[Check] = []
    waiting = False
    for check in run.checks:
        if check.closed_by_step is None and not waiting and check.milestone <= reached:
            texts = texts if texts is not None else visible_text(seen, _typed(run))
            if _plain(check.text) in texts:
                check = check.model_copy(update={"closed_by_step": run.step_number})
        waiting = waiting or check.closed_by_step is None
        after.append(check)
    if tuple(after) != run.checks:
        run.checks = tuple(after)
        run.note(ChecksChanged(checks=run.checks, step_number=run.step_number))


def visible_text(seen: Observation, typed: frozenset[str] = frozenset()) -> str:
    """Everything readable on a screen, compared without case and spacing.

    A field that holds just what the agent `typed` proves nothing and is left out.
    """
    alert = [seen.alert.text] if seen.alert is not None else []
    elements = (
        t
        for e in seen.tree.elements
        if e.visible
        for t in (e.text, "" if e.editable and _plain(e.value) in typed else e.value)
    )
    return _plain(" \n ".join([seen.title, *alert, *seen.toasts, *elements]))


def _typed(run: Run) -> frozenset[str]:
    """What the agent typed lately."""
    actions = (step.action for step in run.recent)
    return frozenset(_plain(a.text) for a in actions if isinstance(a, InputText))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
