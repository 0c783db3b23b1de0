"""Hands a finished step over to background work and returns at once."""

from __future__ import annotations

from app.agent.graph import Signal
from app.agent.run import Run


async def run(run: Run) -> Signal:
    """Queues; never waits, never fails the task."""
    if run.after_step is not None and run.recent:
        run.after_step(run.recent[-1])
    return Signal.DONE
