"""Zone T: plan, values since the last compaction, and the screen, built anew every turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.memory import WorldState
from app.domain.messages import Image
from app.domain.plans import Check, Milestone, MilestoneState, Plan
from app.domain.screens import Observation, TreeStatus
from app.memory.ledger import offset_text
from app.memory.tokens import cut_text

_LOOPS = (MilestoneState.LOOP, MilestoneState.LOOP_CONTINUOUS)


class Bounds(NamedTuple):
    """How much of each thing the tail says; tokens where it is about texts."""

    before: int = 2
    """Milestones shown before the active one."""
    after: int = 4
    milestone: int = 60
    progress: int = 40
    loops: int = 2
    """Loops with progress that are shown although they stand elsewhere in the plan."""
    checks: int = 10
    check: int = 60
    note_keys: int = 20
    key: int = 25
    lines: int = 8
    """Toasts, problems and notes of the screen, each."""
    line: int = 60
    alert: int = 200
    remarks: int = 6
    remark: int = 120


FULL = Bounds()
LEAN = Bounds(
    before=1,
    after=1,
    milestone=30,
    progress=30,
    loops=1,
    checks=3,
    check=30,
    note_keys=5,
    key=10,
    lines=2,
    line=30,
    alert=100,
    remarks=3,
    remark=60,
)
"""Where a whole tail would break the budget."""


@dataclass(frozen=True)
class Elements:
    """The element list at a bound of tokens."""

    render: Callable[[int], str]
    """Gives the lines within that many tokens."""
    counts: Callable[[int], tuple[int, int]]
    """Gives (shown, total) for that bound."""


@dataclass(frozen=True)
class TailFacts:
    """Everything the tail shows."""

    step_number: int
    offset: float
    observation: Observation
    elements: Elements
    plan: Plan | None = None
    checks: tuple[Check, ...] = ()
    kept_since: tuple[str, ...] = ()
    """Lines of the kept block that are newer than the last compaction."""
    note_keys: tuple[str, ...] = ()
    world: WorldState | None = None
    hint: str = ""
    remarks: tuple[str, ...] = ()
    """Loop notices, refusals, what the runtime wants said."""
    image: Image | None = None
    late: tuple[str, ...] = ()
    """Summaries that came after their steps had left A without them."""
    background: str = ""
    """What waits in the background, in counts."""
    unsettled: tuple[str, ...] = ()
    """Uncertain steps, a recovery under way, open points: only what applies."""


def tail_text(facts: TailFacts, element_tokens: int, bounds: Bounds = FULL) -> tuple[str, str]:
    """The text before the element list, and the element list with its title."""
    lines = [f"# NOW [Step {facts.step_number} · {offset_text(facts.offset)}]"]
    if facts.plan is not None:
        lines += plan_lines(facts.plan, bounds)
    lines += _check_lines(facts, bounds)
    if facts.kept_since:
        lines += ["## Since the last compaction", *facts.kept_since]
    if facts.late:
        lines += ["## Late summaries", *facts.late]
    if facts.note_keys:
        keys = (cut_text(key, bounds.key) for key in facts.note_keys[-bounds.note_keys :])
        lines += ["## Notes", f"keys: {', '.join(keys)}"]
    if facts.world is not None and (facts.world.current_app or facts.world.current_page):
        app = cut_text(facts.world.current_app or "unknown", 30)
        page = cut_text(facts.world.current_page or "unknown", 30)
        lines += ["## Believed", f"app {app}; page {page}"]
    if facts.hint:
        lines += ["## Hint", facts.hint]
    if facts.unsettled:
        lines.append(f"open: {'; '.join(facts.unsettled)}")
    if facts.background:
        lines.append(f"background: {facts.background}")
    lines += [f"! {cut_text(r, bounds.remark)}" for r in facts.remarks[-bounds.remarks :]]
    lines += screen_lines(facts.observation, bounds)
    return "\n".join(lines), _elements(facts, element_tokens)


def _check_lines(facts: TailFacts, bounds: Bounds) -> list[str]:
    waiting = [c for c in facts.checks if c.closed_by_step is None]
    if not waiting:
        return []
    shown = waiting[: bounds.checks]
    lines = [f"- {c.number}. {quoted(cut_text(c.text, bounds.check))}" for c in shown]
    if len(waiting) > len(shown):
        lines.append(f"- and {len(waiting) - len(shown)} more")
    return ["## Required checks still open", *lines]


def plan_lines(plan: Plan, bounds: Bounds = FULL) -> list[str]:
    """The path around the active milestone, and loops under way elsewhere."""
    done = sum(m.state is MilestoneState.DONE for m in plan.milestones)
    lines = [f"## Plan (revision {plan.revision}, {done} of {len(plan.milestones)} done)"]
    active = plan.active
    at = active.number - 1 if active is not None else len(plan.milestones) - 1
    first, last = max(0, at - bounds.before), at + bounds.after + 1
    elsewhere = (*plan.milestones[:first], *plan.milestones[last:])
    loops = [m for m in elsewhere if m.state in _LOOPS and m.progress][: bounds.loops]
    lines += [_milestone(m, bounds) for m in (*loops, *plan.milestones[first:last])]
    if last < len(plan.milestones):
        lines.append(f"… and {len(plan.milestones) - last} later milestones")
    return lines


def _milestone(milestone: Milestone, bounds: Bounds) -> str:
    """One line; a long text never costs the progress behind it."""
    short = cut_text(milestone.text, bounds.milestone)
    progress = cut_text(milestone.progress, bounds.progress)
    return milestone.model_copy(update={"text": short, "progress": progress}).line()


def screen_lines(seen: Observation, bounds: Bounds = FULL) -> list[str]:
    """What is in front, and what could not be seen."""
    facts = [f"page {quoted(cut_text(seen.page(), 60))}"]
    if seen.package:
        facts.append(f"app {cut_text(seen.package, 30)}")
    if seen.url:
        facts.append(f"url {cut_text(seen.url, 60)}")
    facts.append(f"{seen.window.width}x{seen.window.height} {seen.orientation}, x,y 0-1000")
    if seen.keyboard_shown is not None:
        facts.append(f"keyboard {'shown' if seen.keyboard_shown else 'hidden'}")
    facts.append(f"windows {seen.windows}")
    lines = ["## Screen", "; ".join(facts)]
    if seen.alert is not None:
        lines.append(f"alert: {quoted(cut_text(seen.alert.text, bounds.alert))}")
    lines += [f"toast: {quoted(cut_text(t, bounds.line))}" for t in seen.toasts[: bounds.lines]]
    lines += [f"problem: {cut_text(p, bounds.line)}" for p in seen.problems[: bounds.lines]]
    lines += [f"note: {cut_text(n, bounds.line)}" for n in seen.notes[: bounds.lines]]
    return lines


def _elements(facts: TailFacts, tokens: int) -> str:
    tree = facts.observation.tree
    if tree.status is TreeStatus.FAILED:
        return f"## Elements: none (dump failed: {cut_text(tree.reason, 60)})"
    if not tree.elements:
        return "## Elements: none (the screen has no elements)"
    shown, total = facts.elements.counts(tokens)
    return f"## Elements ({shown} shown of {total})\n{facts.elements.render(tokens)}"


def quoted(text: str) -> str:
    """A text from outside, as a JSON string: data, whatever it says."""
    # The store holds no NUL either: what is read back must give the same bytes.
    return json.dumps(text.replace("\0", "\ufffd"), ensure_ascii=False)
