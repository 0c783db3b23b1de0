"""Looks at an action that did not work and tries at most a few bounded recoveries."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from app.agent import stepping
from app.agent.calls import ask_json
from app.agent.graph import Signal
from app.agent.nodes.convergence import lose_session
from app.agent.nodes.execution_check import is_irreversible
from app.agent.performing import LOST_CODES, perform, settle
from app.agent.prompts import load
from app.agent.run import Attempted, Run
from app.agent.tools.actions import element_target
from app.domain.actions import (
    Action,
    Back,
    DismissAlert,
    InputText,
    LabelSource,
    LaunchApp,
    Outcome,
    ScrollTo,
    Tap,
    Verdict,
    describe,
)
from app.domain.messages import JsonObject, Role
from app.domain.screens import Observation
from app.domain.tasks import Ability, Recovery
from app.errors import DeviceUnreachable, ModelError, SessionLost
from app.memory.tail import screen_lines
from app.perception import hit, render, screen

ELEMENT_TOKENS = 1_200


class _Diagnosis(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    diagnosis: str = Field(max_length=2_000)
    recovery: Literal[
        "dismiss", "scroll_into_view", "other_locator", "back", "relaunch", "none"
    ] = "none"
    element: int | None = None
    text: str = ""


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "diagnosis": {"type": "string"},
        "recovery": {
            "type": "string",
            "enum": ["dismiss", "scroll_into_view", "other_locator", "back", "relaunch", "none"],
        },
        "element": {"type": "integer", "nullable": True},
        "text": {"type": "string"},
    },
    "required": ["diagnosis", "recovery"],
}


async def run(run: Run) -> Signal:
    """Diagnoses and recovers within bounds; everything it does is recorded with the step."""
    turn = run.current_turn()
    attempted = turn.attempted
    if attempted is None:
        raise RuntimeError("nothing was attempted")
    recoveries, lost = turn.recoveries, ""
    for _ in range(run.rules.agent.max_recoveries):
        recovery, lost = await _recover(run, attempted, recoveries)
        recoveries.append(recovery)
        if lost or recovery.action is None or recovery.verdict is Verdict.EXECUTED:
            break
    await stepping.finish_attempted(run, attempted)
    if lost:
        await lose_session(run, lost)
    return Signal.DONE


class Tried(NamedTuple):
    """One recovery, and why the session was lost over it, if it was."""

    recovery: Recovery
    lost: str = ""


async def _recover(run: Run, attempted: Attempted, before: list[Recovery]) -> Tried:
    seen = run.observation or attempted.after
    trigger = attempted.verdict.value
    try:
        found = await ask_json(
            run,
            Role.ANALYZER,
            load("analyzer"),
            _question(run, attempted, seen, before),
            _Diagnosis,
            SCHEMA,
        )
    except ModelError as error:
        run.fallback("analyzer", f"no diagnosis: {error.message}")
        return Tried(Recovery(trigger=trigger, diagnosis=f"no diagnosis: {error.message}"))
    action = _action(run, found, seen)
    if action is None:
        return Tried(Recovery(trigger=trigger, diagnosis=found.diagnosis))
    run.raise_if_cancelled()
    done = Recovery(
        trigger=trigger, diagnosis=found.diagnosis, action=action, verdict=Verdict.UNCERTAIN
    )
    try:
        receipt = await perform(run, action)
        done = done.model_copy(update={"receipt": receipt})
        if receipt.code in LOST_CODES:
            return Tried(done, receipt.message)
        settled = await settle(run)
    except (SessionLost, DeviceUnreachable) as error:
        return Tried(done, error.message)
    changed = screen.diff(seen, settled.observation).changed
    verdict = Verdict.EXECUTED if changed else Verdict.NO_VISIBLE_CHANGE
    if receipt.outcome is not Outcome.OK:
        verdict = Verdict.ERROR if receipt.outcome is Outcome.ERROR else Verdict.UNCERTAIN
    return Tried(done.model_copy(update={"verdict": verdict}))


def _question(run: Run, attempted: Attempted, seen: Observation, before: list[Recovery]) -> str:
    turn = run.current_turn()
    what = describe(turn.action) if turn.action is not None else "nothing"
    tried = "\n".join(
        f"tried: {describe(r.action)} → {r.verdict.value if r.verdict else 'unknown'}"
        for r in before
        if r.action is not None
    )
    listed = render.render(seen.tree, seen.window, ELEMENT_TOKENS, run.rules.perception.max_text)
    return (
        f"# TRIGGER\n{attempted.verdict.value}: {attempted.reason or 'the screen did not change'}\n"
        f"# ACTION\n{what}\n{tried}\n# SCREEN\n"
        + "\n".join(screen_lines(seen))
        + f"\n## Elements ({listed.shown} shown of {listed.total})\n{listed.text}"
    )


def _action(run: Run, found: _Diagnosis, seen: Observation) -> Action | None:
    """The recovery as an action; nothing with an outside effect."""
    abilities = run.ports.device.abilities
    match found.recovery:
        case "dismiss" if seen.alert is not None and Ability.ALERTS in abilities:
            return DismissAlert()
        case "dismiss" | "other_locator" if found.element is not None:
            return _tap(run, found.element, seen)
        case "scroll_into_view" if found.text.strip():
            return ScrollTo(text=found.text.strip()[:500], max_swipes=5)
        case "back" if Ability.BACK in abilities:
            return Back()
        case "relaunch" if run.world.state.current_app and Ability.APPS in abilities:
            return LaunchApp(app=run.world.state.current_app[:200])
        case _:
            return None


def _tap(run: Run, index: int, seen: Observation) -> Action | None:
    element = hit.resolve_element(seen.tree, index)
    if element is None or hit.target_problem(element, seen.tree, seen.window):
        return None
    tried = run.current_turn().action
    target = element_target(element, seen, LabelSource.INDEX)
    if isinstance(tried, InputText) and element.editable:
        return tried.model_copy(update={"target": target})
    action = Tap(target=target)
    return None if is_irreversible(action) else action
