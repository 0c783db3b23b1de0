"""Background calls give way to operator calls, within bounds."""

from __future__ import annotations

import asyncio

from app.domain.messages import Role
from app.llm.lanes import LaneKey, Lanes

KEY = LaneKey("account", "model")


async def hold(lanes: Lanes, role: Role, release: asyncio.Event, inside: asyncio.Event) -> None:
    async with lanes.enter(KEY, role):
        inside.set()
        await release.wait()


async def test_background_waits_until_the_lane_is_free() -> None:
    lanes, release, inside, done = Lanes(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    operator = asyncio.create_task(hold(lanes, Role.OPERATOR, release, inside))
    await inside.wait()
    background = asyncio.create_task(hold(lanes, Role.SUMMARIZER, release, done))
    await asyncio.sleep(0.02)
    assert not done.is_set()
    release.set()
    await asyncio.gather(operator, background)
    assert lanes.admitted_busy == 0


async def test_after_its_patience_one_is_let_through_and_counted() -> None:
    lanes = Lanes(patience=0.05)
    release, inside = asyncio.Event(), asyncio.Event()
    operator = asyncio.create_task(hold(lanes, Role.OPERATOR, release, inside))
    await inside.wait()
    first, second = asyncio.Event(), asyncio.Event()
    one = asyncio.create_task(hold(lanes, Role.SUMMARIZER, release, first))
    two = asyncio.create_task(hold(lanes, Role.CHUNK_WRITER, release, second))
    await asyncio.wait_for(first.wait(), 1)
    assert lanes.admitted_busy == 1 and not second.is_set()
    release.set()
    await asyncio.gather(operator, one, two)


async def test_another_model_is_another_lane() -> None:
    lanes, release, inside, done = Lanes(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    operator = asyncio.create_task(hold(lanes, Role.OPERATOR, release, inside))
    await inside.wait()
    release.set()
    async with lanes.enter(LaneKey("account", "lite"), Role.SUMMARIZER):
        done.set()
    assert done.is_set()
    await operator


async def test_a_cancelled_waiter_leaves_the_lane_usable() -> None:
    lanes, release, inside = Lanes(), asyncio.Event(), asyncio.Event()
    operator = asyncio.create_task(hold(lanes, Role.OPERATOR, release, inside))
    await inside.wait()
    waiter = asyncio.create_task(hold(lanes, Role.SUMMARIZER, release, asyncio.Event()))
    await asyncio.sleep(0.01)
    waiter.cancel()
    release.set()
    await operator
    async with asyncio.timeout(1), lanes.enter(KEY, Role.SUMMARIZER):
        pass
    assert waiter.cancelled()
