"""Turns the goal into a milestone plan at the start; revisions come from `planning`."""

from __future__ import annotations

from app.agent import planning
from app.agent.graph import Signal
from app.agent.run import Run
from app.errors import ModelError, ModelUnauthorized


async def run(run: Run) -> Signal:
    """Writes the first plan; without a usable answer the goal itself is the plan."""
    if run.plan is not None:
        return Signal.READY
    try:
        await planning.plan(run, planning.FIRST_REQUEST, world=run.world.state)
    except ModelUnauthorized:
        raise
    except ModelError as error:
        planning.plain_plan(run)
        run.fallback("plan", f"the planner gave no usable plan: {error.message}")
    await run.write()
    return Signal.READY
