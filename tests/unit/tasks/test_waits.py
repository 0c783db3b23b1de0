"""A task that waited for its own background work would say so in its figures."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.actions import DeviceAction, Receipt
from app.domain.config import MemoryConfig
from app.domain.events import ModelCalled
from app.domain.memory import BackgroundState
from app.domain.messages import Message, ModelReply, ModelRequest, Role, Text
from app.memory.background import Desk, Question
from app.memory.capsules import CapsuleWriter, Facts, Sources
from app.memory.summaries import Summaries
from app.tasks.background import BackgroundWork
from tests.unit.agent.home import Home, Phone, Talker, call
from tests.unit.memory.desk import ports

QUESTION = Question(system="", text="# STEP\n1", step_number=1)


class Model:
    async def generate(self, request: ModelRequest) -> ModelReply:
        message = Message(role="model", parts=(Text(text="I waited."),))
        return ModelReply(message=message, provider="p", model="m")


async def visit(door: str) -> Desk:
    """Waits at one of the places where background work is waited for; gives its desk."""
    made, *_ = ports(Model())
    memory, background = MemoryConfig(), BackgroundWork()
    desk = Desk(made, memory, Role.SUMMARIZER, "summaries")
    if door == "ask":
        await desk.ask(QUESTION)
    elif door == "opened":
        await desk.opened()
    elif door in ("settled", "flush"):
        summaries = Summaries(made, memory, background, lambda number, text: None)
        desk = summaries.desk
        await (summaries.settled(1, 3, 1) if door == "settled" else summaries.flush(1))
    else:
        capsules = CapsuleWriter(
            made,
            memory,
            background,
            Sources(_none, lambda first, last: Facts(), _none),
            lambda chunk: None,
        )
        desk = capsules.desk
        await capsules.flush(1)
    return desk


async def _none(first: int, last: int) -> tuple[()]:
    return ()


DOORS = ("ask", "opened", "settled", "flush", "flush of chunks")


@pytest.mark.parametrize("door", DOORS)
async def test_whoever_waits_for_background_work_is_counted(door: str) -> None:
    assert (await visit(door)).waits == 1
    nested = await asyncio.create_task(visit(door))
    assert nested.waits == 1, "so is one that lets another task wait"


@pytest.mark.parametrize("door", DOORS)
async def test_background_work_may_wait(door: str) -> None:
    desks: list[Desk] = []

    async def work() -> None:
        desks.append(await visit(door))
        desks.append(await asyncio.create_task(visit(door)))

    background = BackgroundWork()
    background.submit("work", work)
    await background.drain(10)
    assert [desk.waits for desk in desks] == [0, 0]


class SlowPhone(Phone):
    """A phone whose third action does not begin before the background is asked."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk

    async def perform(self, action: DeviceAction) -> Receipt:
        if len(self.performed) == 2:
            await self._desk.opened()
            await self._desk.ask(QUESTION)
        return await super().perform(action)


async def test_a_wait_stands_in_the_figures_of_the_prompt_that_follows() -> None:
    made, *_ = ports(Model())
    desk = Desk(made, MemoryConfig(), Role.SUMMARIZER, "summaries")
    home = Home(Talker(*(call("tap", element=0) for _ in range(4))), SlowPhone(desk))
    home.run.background_state = lambda: BackgroundState(waits=desk.waits)
    await home.to_end()
    figures = [e.call.figures for e in home.record.of(ModelCalled) if e.call.figures is not None]
    assert [f.waits for f in figures] == [0, 0, 0, 2, 0]
