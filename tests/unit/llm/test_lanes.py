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


async def test_it_is_told_whether_it_was_let_through() -> None:
    lanes = Lanes(patience=0.02)
    release, inside = asyncio.Event(), asyncio.Event()
    async with lanes.enter(KEY, Role.SUMMARIZER) as pressed:
        assert not pressed
    operator = asyncio.create_task(hold(lanes, Role.OPERATOR, release, inside))
    await inside.wait()
    async with lanes.enter(KEY, Role.CHUNK_WRITER) as pressed:
        assert pressed
    release.set()
    await operator


async def test_an_operator_that_comes_back_at_once_is_waited_for_again() -> None:
    lanes, done = Lanes(), asyncio.Event()
    releases = [asyncio.Event(), asyncio.Event()]
    inside = [asyncio.Event(), asyncio.Event()]

    async def operate() -> None:
        for release, entered in zip(releases, inside, strict=True):
            await hold(lanes, Role.OPERATOR, release, entered)

    operator = asyncio.create_task(operate())
    await inside[0].wait()
    background = asyncio.create_task(hold(lanes, Role.SUMMARIZER, releases[1], done))
    await asyncio.sleep(0.01)
    releases[0].set()
    await inside[1].wait()
    await asyncio.sleep(0.01)
    assert not done.is_set()
    releases[1].set()
    await asyncio.gather(operator, background)
    assert done.is_set()


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
