"""One thread per device session: calls stay in order and none can stop the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from app.errors import DeviceTimeout

T = TypeVar("T")


class SessionThread:
    """Runs a session's blocking calls, each with a deadline."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """Raises DeviceTimeout at the deadline; the thread may then still be at work."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"device-{self._name}")
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._executor, work)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            future.add_done_callback(_forget)
            raise DeviceTimeout(f"The device did not answer within {seconds:g} s.") from None
        except asyncio.CancelledError:
            future.add_done_callback(_forget)
            raise

    def abandon(self) -> None:
        """Leaves a stuck thread to its client time-out; the next call gets a fresh one."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


def _forget(future: asyncio.Future[T]) -> None:
    """Nobody waits for this result any more; its failure is no surprise."""
    if not future.cancelled():
        future.exception()
