"""One observation: what is on the screen now, parsed and stored before the operator sees it."""

from __future__ import annotations

from app.agent import planning
from app.agent.graph import Signal
from app.agent.nodes.convergence import lose_session
from app.agent.perceiving import index_screen, keep, look
from app.agent.run import Run, Turn
from app.domain.events import TurnStarted
from app.domain.plans import MilestoneState
from app.domain.screens import ElementSource, Observation, TreeStatus
from app.errors import DeviceUnreachable, SessionLost
from app.memory.traffic import Traffic

FRESH = 2.0
"""Seconds for which the validator's settled look still serves as the next observation."""


def _hint(run: Run, seen: Observation) -> str:
    """Names an earlier step with this screen, where the memory may and it is news."""
    memory = run.rules.memory
    if not (memory.pro_memory_enabled and memory.similarity_hint):
        return ""
    active = run.plan.active if run.plan is not None else None
    polling = active is not None and active.state is MilestoneState.LOOP_CONTINUOUS
    hint = run.screens.hint(seen, polling=polling)
    return hint if memory.operator_history_recall else hint.partition(" Use recall_history")[0]


async def run(run: Run) -> Signal:
    """Observes, closes required checks, and begins the turn."""
    clock = run.ports.clock
    seen = run.observation
    if seen is None or clock.monotonic() - run.observed_at > FRESH:
        try:
            view, interpreted = await look(run)
        except (SessionLost, DeviceUnreachable) as error:
            await lose_session(run, error.message)
            return Signal.LOST
        seen = await keep(run, view, interpreted)
        run.observation, run.observed_at = seen, clock.monotonic()
    if seen.tree.status is TreeStatus.FAILED:
        run.fallback("no_tree", seen.tree.reason or "the UI source could not be read")
    if count := sum(element.source is ElementSource.OCR for element in seen.tree.elements):
        run.fallback("ocr_elements", f"{count} texts were read from the picture")
    if seen.screenshot is None:
        run.fallback("no_screenshot", "; ".join(seen.problems) or "no picture")
    run.turn = Turn(
        step_number=run.step_number,
        step_id=run.ports.new_id(),
        offset=run.offset,
        observation=seen,
        traffic=Traffic(run.rules.memory, run.transcript.counter, 0),
    )
    planning.close_checks(run, seen)
    hint = _hint(run, seen)
    run.turn.hint = hint
    index_screen(run, seen)
    # Written with the turn's prompt, which follows at once.
    run.note(TurnStarted(step_number=run.step_number, observation=seen.light(), hint=hint))
    return Signal.SEEN
