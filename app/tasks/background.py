"""The one owner of background work: keeps it, logs its failures, drains it at shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from app.memory.background import BESIDE

log = structlog.get_logger(__name__)


class BackgroundWork:
    """Implements the Background port; work runs beside the tasks and never blocks them."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def submit(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Starts work and returns at once."""
        task = asyncio.create_task(self._guarded(name, work), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _guarded(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        BESIDE.set(True)
        try:
            await work()
        except Exception:  # a background worker's loop: log and go on
            log.exception("background_work_failed", work=name)

    async def flush(self, seconds: float) -> None:
        """Waits for running work, as far as the time goes; nothing is cancelled."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=seconds)

    async def drain(self, seconds: float) -> None:
        """Waits for running work, then cancels what is left."""
        if not self._running:
            return
        _, late = await asyncio.wait(set(self._running), timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
