"""The live bus: order, filters, viewers that lag, shutdown."""

from datetime import UTC, datetime

import pytest

from app.domain.events import LoopNoticed, StoredEvent
from app.tasks.bus import Bus, Lagged

AT = datetime(2026, 12, 1, tzinfo=UTC)


def event(seq: int, task: str = "a") -> StoredEvent:
    told = LoopNoticed(step_number=seq, detail="")
    return StoredEvent(seq=seq, task_id=task, at=AT, event=told)


async def test_a_viewer_gets_the_events_of_its_task_in_order() -> None:
    bus = Bus()
    with bus.subscribe("a") as one, bus.subscribe() as every:
        for seq, task in ((1, "a"), (1, "b"), (2, "a")):
            bus.publish(event(seq, task))
        bus.close()
        assert [e.seq async for e in one] == [1, 2]
        assert [e.task_id async for e in every] == ["a", "b", "a"]
    assert bus.viewers == 0


async def test_a_viewer_that_lags_is_told_and_slows_nobody() -> None:
    bus = Bus()
    with bus.subscribe("a", size=2) as slow, bus.subscribe("a", size=9) as fast:
        for seq in range(1, 5):
            bus.publish(event(seq))
        with pytest.raises(Lagged):
            await slow.next()
        assert [(await fast.next()).seq for _ in range(4)] == [1, 2, 3, 4]  # type: ignore[union-attr]


async def test_a_full_queue_at_shutdown_is_a_lag_not_a_hang() -> None:
    bus = Bus()
    with bus.subscribe("a", size=1) as viewer:
        bus.publish(event(1))
        bus.close()
        with pytest.raises(Lagged):
            await viewer.next()


async def test_nothing_reaches_a_viewer_that_left() -> None:
    bus = Bus()
    with bus.subscribe("a") as viewer:
        pass
    bus.publish(event(1))
    viewer.close()
    assert await viewer.next() is None
