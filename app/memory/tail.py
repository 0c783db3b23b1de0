"""Zone T: plan, values since the last compaction, and the screen, built anew every turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.memory import WorldState
from app.domain.messages import Image
from app.domain.plans import Check, Milestone, MilestoneState, Plan
from app.domain.screens import Observation, TreeStatus
from app.memory.ledger import offset_text
from app.memory.tokens import cut_text

PATH_BEFORE = 2
PATH_AFTER = 4
"""Milestones shown before and after the active one."""
NOTE_KEYS = 20


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


def tail_text(facts: TailFacts, element_tokens: int) -> tuple[str, str]:
    """The text before the element list, and the element list with its title."""
    lines = [f"# NOW [Step {facts.step_number} · {offset_text(facts.offset)}]"]
    if facts.plan is not None:
        lines += plan_lines(facts.plan)
    open_checks = [c for c in facts.checks if c.closed_by_step is None]
    if open_checks:
        lines.append("## Required checks still open")
        lines += [f"- {c.number}. {quoted(cut_text(c.text, 60))}" for c in open_checks[:10]]
        if len(open_checks) > 10:
            lines.append(f"- and {len(open_checks) - 10} more")
    if facts.kept_since:
        lines += ["## Since the last compaction", *facts.kept_since]
    if facts.late:
        lines += ["## Late summaries", *facts.late]
    if facts.note_keys:
        keys = ", ".join(facts.note_keys[-NOTE_KEYS:])
        lines += ["## Notes", f"keys: {keys}"]
    if facts.world is not None and (facts.world.current_app or facts.world.current_page):
        app = cut_text(facts.world.current_app or "unknown", 30)
        page = cut_text(facts.world.current_page or "unknown", 30)
        lines += ["## Believed", f"app {app}; page {page}"]
    if facts.hint:
        lines += ["## Hint", facts.hint]
    if facts.background:
        lines.append(f"background: {facts.background}")
    lines += [f"! {r}" for r in facts.remarks]
    lines += screen_lines(facts.observation)
    return "\n".join(lines), _elements(facts, element_tokens)


def plan_lines(plan: Plan) -> list[str]:
    """The path around the active milestone."""
    done = sum(m.state is MilestoneState.DONE for m in plan.milestones)
    lines = [f"## Plan (revision {plan.revision}, {done} of {len(plan.milestones)} done)"]
    active = plan.active
    at = active.number - 1 if active is not None else len(plan.milestones) - 1
    first, last = max(0, at - PATH_BEFORE), at + PATH_AFTER + 1
    lines += [_milestone(m) for m in plan.milestones[first:last]]
    if last < len(plan.milestones):
        lines.append(f"… and {len(plan.milestones) - last} later milestones")
    return lines


def _milestone(milestone: Milestone) -> str:
    """One line; a long text never costs the progress behind it."""
    short = cut_text(milestone.text, 60)
    progress = cut_text(milestone.progress, 40)
    return milestone.model_copy(update={"text": short, "progress": progress}).line()


def screen_lines(seen: Observation) -> list[str]:
    """What is in front, and what could not be seen."""
    facts = [f"page {quoted(cut_text(seen.page(), 60))}"]
    if seen.package:
        facts.append(f"app {seen.package}")
    if seen.url:
        facts.append(f"url {cut_text(seen.url, 60)}")
    facts.append(f"{seen.window.width}x{seen.window.height} {seen.orientation}")
    if seen.keyboard_shown is not None:
        facts.append(f"keyboard {'shown' if seen.keyboard_shown else 'hidden'}")
    facts.append(f"windows {seen.windows}")
    lines = ["## Screen", "; ".join(facts)]
    if seen.alert is not None:
        lines.append(f"alert: {quoted(cut_text(seen.alert.text, 200))}")
    lines += [f"toast: {quoted(cut_text(t, 60))}" for t in seen.toasts[:5]]
    lines += [f"problem: {cut_text(p, 60)}" for p in seen.problems[:8]]
    lines += [f"note: {cut_text(n, 60)}" for n in seen.notes[:8]]
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
    return json.dumps(text, ensure_ascii=False)
