"""What a viewer of a task gets: stored events after a number, then live ones, each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from app.domain.events import StoredEvent
from app.tasks.bus import Bus, Subscription

PAGE = 500
"""Events read from the store at a time."""


class ReadEvents(Protocol):
    """Reads the events of a task that follow a number, in order."""

    async def __call__(
        self, task_id: str, *, after: int = 0, limit: int = PAGE
    ) -> Sequence[StoredEvent]: ...


async def follow(
    bus: Bus, read: ReadEvents, task_id: str, after: int, *, queue: int
) -> AsyncGenerator[list[StoredEvent]]:
    """Batches in order without gap or repetition; ends when the bus closes, raises Lagged.

    Use it inside `aclosing`, so that its subscription ends with its viewer. It subscribes
    before it reads, so that nothing falls between the two. A batch holds all that waited, so
    that a viewer catches up in one go.
    """
    with bus.subscribe(task_id, queue) as subscription:
        while page := list(await read(task_id, after=after, limit=PAGE)):
            after = page[-1].seq
            yield page
        while batch := await _next_batch(subscription):
            batch = [event for event in batch if event.seq > after]
            if batch and batch[0].seq > after + 1:
                # Announced out of order by two writers: the store has the order.
                batch = list(await read(task_id, after=after, limit=PAGE))
            if batch:
                after = batch[-1].seq
                yield batch


async def _next_batch(subscription: Subscription) -> list[StoredEvent]:
    """Waits for one event and takes what else is there; empty when the bus is closed."""
    first = await subscription.next()
    if first is None:
        return []
    batch = [first]
    while len(batch) < PAGE:
        # A task of its own would be needed to peek; a zero time-out asks the queue the same.
        try:
            async with asyncio.timeout(0):
                event = await subscription.next()
        except TimeoutError:
            break
        if event is None:
            break
        batch.append(event)
    return batch
