"""A viewer's events: none missing, none twice, in order, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from app.domain.events import LoopNoticed, StoredEvent
from app.tasks.bus import Bus, Lagged
from app.tasks.follow import PAGE, follow

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """Stored events; announces each after it was stored, as the store does."""

    def __init__(self, number: int = 0) -> None:
        self.bus = Bus()
        self.events: list[StoredEvent] = []
        self.reads = 0
        for _ in range(number):
            self.add(announce=False)

    def add(self, *, announce: bool = True) -> StoredEvent:
        seq = len(self.events) + 1
        event = StoredEvent(
            seq=seq, task_id="t", at=AT, event=LoopNoticed(step_number=1, detail=str(seq))
        )
        self.events.append(event)
        if announce:
            self.bus.publish(event)
        return event

    async def read(
        self, task_id: str, *, after: int = 0, limit: int = PAGE
    ) -> Sequence[StoredEvent]:
        self.reads += 1
        await asyncio.sleep(0)
        return self.events[after : after + limit]


async def collected(log: Log, after: int, wanted: int, queue: int = 500) -> list[int]:
    numbers: list[int] = []
    async with asyncio.timeout(5):
        async for batch in follow(log.bus, log.read, "t", after, queue=queue):
            numbers += [event.seq for event in batch]
            if len(numbers) >= wanted:
                break
    return numbers


@pytest.mark.parametrize("after", [0, 1, 499, 500, 1_203])
async def test_the_replay_is_complete(after: int) -> None:
    log = Log(1_204)
    assert await collected(log, after, 1_204 - after) == list(range(after + 1, 1_205))


async def test_events_stored_while_replaying_come_once() -> None:
    log = Log(3)
    real_read = log.read

    async def read(task_id: str, *, after: int = 0, limit: int = PAGE) -> Sequence[StoredEvent]:
        page = await real_read(task_id, after=after, limit=limit)
        if len(log.events) < 6:
            log.add()  # between reading and the live part
        return page

    numbers: list[int] = []
    async with asyncio.timeout(5):
        async for batch in follow(log.bus, read, "t", 0, queue=500):
            numbers += [event.seq for event in batch]
            if len(numbers) == 7:
                break
            if len(log.events) == 6 and numbers[-1] == 6:
                log.add()
    assert numbers == [1, 2, 3, 4, 5, 6, 7]


async def test_an_event_announced_too_early_is_put_in_order() -> None:
    log = Log(1)
    task = asyncio.create_task(collected(log, 1, 3))
    await asyncio.sleep(0.02)
    second, third, fourth = (log.add(announce=False) for _ in range(3))
    for event in (third, second, fourth):
        log.bus.publish(event)
    assert await task == [2, 3, 4]


async def test_what_waits_comes_in_one_batch() -> None:
    log = Log()
    stream = follow(log.bus, log.read, "t", 0, queue=500)
    first = asyncio.create_task(anext(stream))
    await asyncio.sleep(0.02)
    for _ in range(20):
        log.add()
    assert [event.seq for event in await first] == list(range(1, 21))
    await stream.aclose()
    assert log.bus.viewers == 0


async def test_a_viewer_that_lags_is_told_so() -> None:
    log = Log()
    stream = follow(log.bus, log.read, "t", 0, queue=2)
    first = asyncio.create_task(anext(stream))
    await asyncio.sleep(0.02)
    log.add()
    await first
    for _ in range(4):
        log.add()
    with pytest.raises(Lagged):
        await anext(stream)
    assert log.bus.viewers == 0


async def test_a_closed_bus_ends_the_stream() -> None:
    log = Log(2)
    task = asyncio.create_task(collected(log, 0, 99))
    await asyncio.sleep(0.02)
    log.bus.close()
    assert await task == [1, 2]
