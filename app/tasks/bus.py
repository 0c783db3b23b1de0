"""Announces stored events to live viewers inside this process.

A viewer has a bounded queue. One that lags behind is told so (`Lagged`) and dropped: it
reconnects with the number of the last event it saw and reads the rest from the store. A
slow viewer therefore never slows a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType

from app.domain.events import StoredEvent

QUEUE = 500
"""Events a viewer may lag behind."""


class Lagged(Exception):
    """The viewer is too slow; it must resume from the store."""


class Subscription:
    """The events of one task (or of all, with an empty task id) from now on."""

    def __init__(self, bus: Bus, task_id: str, size: int) -> None:
        self._bus = bus
        self.task_id = task_id
        self._queue: asyncio.Queue[StoredEvent | None] = asyncio.Queue(size)
        self._lagged = False
        self._closed = False

    def offer(self, event: StoredEvent) -> None:
        """Called by the bus; never blocks."""
        if self._lagged or self._closed:
            return
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._lagged = True

    def close(self) -> None:
        """Ends the iteration after what is queued."""
        self._closed = True
        try:
            self._queue.put_nowait(None)
        except asyncio.QueueFull:
            self._lagged = True

    async def next(self) -> StoredEvent | None:
        """The next event, or None when the bus is closed; raises Lagged."""
        if self._lagged:
            raise Lagged
        if self._closed and self._queue.empty():
            return None
        return await self._queue.get()

    async def __aiter__(self) -> AsyncIterator[StoredEvent]:
        while (event := await self.next()) is not None:
            yield event

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bus.drop(self)


class Bus:
    """Fan-out of stored events."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def publish(self, event: StoredEvent) -> None:
        """Hands an event to every viewer it concerns."""
        for subscription in tuple(self._subscriptions):
            if subscription.task_id in ("", event.task_id):
                subscription.offer(event)

    def subscribe(self, task_id: str = "", size: int = QUEUE) -> Subscription:
        """Use as a context manager, subscribe first, then read the store, then iterate."""
        subscription = Subscription(self, task_id, size)
        self._subscriptions.add(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """Ends every subscription, at shutdown."""
        for subscription in tuple(self._subscriptions):
            subscription.close()

    @property
    def viewers(self) -> int:
        return len(self._subscriptions)
