"""Performs the action, waits for the screen to settle, and says what was seen."""

from __future__ import annotations

from app.agent import stepping
from app.agent.graph import Signal
from app.agent.nodes.convergence import lose_session
from app.agent.performing import LOST_CODES, Settled, perform, settle
from app.agent.run import Attempted, Run
from app.domain.actions import Action, Outcome, Receipt, ScrollTo, Verdict, Wait
from app.domain.screens import ScreenDiff
from app.domain.tasks import StepState
from app.errors import DeviceUnreachable, SessionLost
from app.perception import screen

CALM = (Wait, ScrollTo)
"""Actions that are executed even where nothing changes."""


async def run(run: Run) -> Signal:
    """Writes the step as decided, acts, and judges what the screen shows; never the task."""
    turn = run.current_turn()
    action = turn.action
    if action is None:
        raise RuntimeError("nothing was allowed")
    run.raise_if_cancelled()
    await stepping.decide(run)
    await _still_wanted(run)
    try:
        receipt = await perform(run, action)
        if receipt.code in LOST_CODES:
            return await _lost(run, receipt)
        settled = await settle(run)
    except (SessionLost, DeviceUnreachable) as error:
        lost = Receipt(outcome=Outcome.UNKNOWN, code=error.code, message=error.message)
        return await _lost(run, lost)
    diff = screen.diff(turn.observation, settled.observation)
    verdict, reason = judge(action, receipt, diff, settled)
    if needs_analysis(run, verdict):
        turn.attempted = Attempted(receipt, verdict, reason, diff, settled.observation)
        return Signal.TROUBLE
    await stepping.finish(
        run,
        state=StepState.DONE,
        verdict=verdict,
        reason=reason,
        receipt=receipt,
        diff=diff,
        after=settled.observation,
    )
    return Signal.DONE


async def _still_wanted(run: Run) -> None:
    """A cancel that came while the decision was written: the device is not touched."""
    if run.control.cancelled.is_set():
        await stepping.finish(
            run,
            state=StepState.BLOCKED,
            verdict=Verdict.BLOCKED,
            reason="cancelled before it began",
        )
        run.raise_if_cancelled()


def judge(
    action: Action, receipt: Receipt, diff: ScreenDiff, settled: Settled
) -> tuple[Verdict, str]:
    """The verdict of docs/outcomes.md, and its reason."""
    if receipt.outcome is Outcome.ERROR:
        return Verdict.ERROR, receipt.message
    if receipt.outcome is Outcome.UNKNOWN:
        return Verdict.UNCERTAIN, receipt.message
    if isinstance(action, CALM):
        return Verdict.EXECUTED, receipt.message
    if settled.observation.screenshot is None and not settled.observation.tree.usable:
        if settled.observation.alert is not None:
            return Verdict.EXECUTED, "an alert is open"
        return Verdict.UNCERTAIN, "nothing could be seen after it"
    if not diff.changed:
        return Verdict.NO_VISIBLE_CHANGE, ""
    return Verdict.EXECUTED, "the screen was still changing" if settled.moving else ""


def needs_analysis(run: Run, verdict: Verdict) -> bool:
    """On an error, and on the second step in a row without visible change."""
    if verdict is Verdict.ERROR:
        return True
    last = run.recent[-1].verdict if run.recent else None
    return verdict is Verdict.NO_VISIBLE_CHANGE and last is Verdict.NO_VISIBLE_CHANGE


async def _lost(run: Run, receipt: Receipt) -> Signal:
    """The session went away in mid-step: it may have happened, the next turn looks afresh."""
    await stepping.finish(
        run,
        state=StepState.INTERRUPTED,
        verdict=Verdict.UNCERTAIN,
        reason=receipt.message,
        receipt=receipt,
    )
    await lose_session(run, receipt.message)
    return Signal.LOST
