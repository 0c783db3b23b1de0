"""Lets background calls wait while an operator call to the same model is in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from app.domain.messages import Role

BACKGROUND = frozenset({Role.SUMMARIZER, Role.CHUNK_WRITER})
PATIENCE = 30.0
"""Seconds after which one background call is let through a busy lane."""


BUSY_LANE = "busy_lane"
"""How a reply names that it was let through."""


class LaneKey(NamedTuple):
    """Calls that compete for one quota."""

    account: str
    model: str


class Lane:
    """The calls of one account and model."""

    def __init__(self, patience: float, concurrency: int) -> None:
        self._patience = patience
        self._background = asyncio.Semaphore(concurrency)
        self._in_flight = 0
        self._free = asyncio.Event()
        self._free.set()
        self._turn = asyncio.Lock()
        self.admitted_busy = 0
        """Background calls let through because the lane stayed busy."""

    @asynccontextmanager
    async def foreground(self) -> AsyncIterator[None]:
        self._in_flight += 1
        self._free.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._free.set()

    @asynccontextmanager
    async def background(self) -> AsyncIterator[bool]:
        """Holds a place for a background call once the lane is free. Waiters go one by one.

        Gives whether it was let through beside an operator call.
        """
        async with self._background:
            async with self._turn:
                pressed = False
                try:
                    async with asyncio.timeout(self._patience):
                        # Another operator call may have begun before this waiter came to run.
                        while self._in_flight:
                            await self._free.wait()
                except TimeoutError:
                    pressed = True
                    self.admitted_busy += 1
            yield pressed


class Lanes:
    """All lanes of a process."""

    def __init__(self, patience: float = PATIENCE, concurrency: int = 1) -> None:
        self._patience = patience
        self._concurrency = concurrency
        self._lanes: dict[LaneKey, Lane] = {}

    def lane(self, key: LaneKey) -> Lane:
        return self._lanes.setdefault(key, Lane(self._patience, self._concurrency))

    @property
    def admitted_busy(self) -> int:
        return sum(lane.admitted_busy for lane in self._lanes.values())

    @asynccontextmanager
    async def enter(self, key: LaneKey, role: Role) -> AsyncIterator[bool]:
        """Gives whether a background call was let through a busy lane."""
        lane = self.lane(key)
        if role in BACKGROUND:
            async with lane.background() as pressed:
                yield pressed
        else:
            async with lane.foreground():
                yield False
