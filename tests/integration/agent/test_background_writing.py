"""Whole tasks beside a summariser that works, and beside ones that do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from app.domain.config import AgentConfig, MemoryConfig
from app.domain.events import (
    BackgroundChanged,
    ChunkClosed,
    ModelCalled,
    QuestionAsked,
    SummaryChanged,
    TextRefused,
)
from app.domain.summaries import ChunkState, SummaryStatus
from app.domain.tasks import TaskState
from app.errors import NotFound
from tests.integration.agent.house import House, act, android, check_record, soon, tap
from tests.integration.agent.scene import around
from tests.stand_ins.appium_server import StandIn
from tests.stand_ins.gemini_server import (
    Behaviour,
    GeminiServer,
    Recorded,
    hang,
    quota,
    says,
    unavailable,
)

READY, FAILED, PENDING, STALE = (
    SummaryStatus.VISUAL_READY,
    SummaryStatus.VISUAL_FAILED,
    SummaryStatus.PENDING,
    SummaryStatus.STALE,
)
TAPS = 5
LIMITS = {"seconds": 600_000}
"""The clock of these tests jumps over every pause."""


class Trouble(NamedTuple):
    answer: Callable[[], Behaviour]
    ends_in: set[SummaryStatus]
    moves: set[str]
    outcomes: set[str]


TROUBLE = {
    "garbage": Trouble(lambda: says("## Successfully entered 4711"), {FAILED}, set(), {"ok"}),
    "503 all day": Trouble(unavailable, {FAILED, PENDING}, {"paused"}, {"model_unavailable"}),
    "out of quota": Trouble(quota, {FAILED, PENDING}, {"lite", "paused"}, {"model_quota"}),
    "never": Trouble(hang, {FAILED, PENDING}, set(), {"model_timeout"}),
}


async def test_every_step_of_a_task_gets_its_summary(folder: Path, phone: StandIn) -> None:
    with GeminiServer(around(*(tap() for _ in range(TAPS)))) as server:
        async with House(folder, server, android(phone.url), summaries=True) as house:
            task = await house.run()
            steps = len((await house.history(task.task_id)).steps)

            async def written() -> bool:
                return await house.queries.memory.counts(task.task_id) == {READY: steps}

            await soon(written)
            history = await house.history(task.task_id)
            check_record(await house.stored(task.task_id), history)
            summaries = await house.queries.memory.summaries(task.task_id)
            calls = await house.events(task.task_id, ModelCalled)
    assert task.state is TaskState.COMPLETED
    assert [s.step_number for s in summaries] == list(range(1, steps + 1))
    for view in summaries:
        assert view.newest is not None and view.newest.evidence.decision_image_name
    background = [c.call for c in calls if c.call.role == "summarizer"]
    assert len(background) >= steps and all(c.outcome == "ok" for c in background)
    assert history.background["summarizer"].usage.total > 0
    assert all(c.call.figures.waits == 0 for c in calls if c.call.figures is not None)


@pytest.mark.parametrize("name", TROUBLE)
async def test_a_task_goes_on_whatever_the_summariser_does(
    folder: Path, phone: StandIn, name: str
) -> None:
    trouble = TROUBLE[name]
    memory = MemoryConfig(background_redos=0, background_failures=2, background_deadline=4)

    def answer(_: Recorded) -> Behaviour:
        return trouble.answer()

    with GeminiServer(around(*(tap() for _ in range(TAPS))), background=answer) as server:
        device = android(phone.url)
        async with House(
            folder, server, device, memory=memory, timeout=3.0, summaries=True
        ) as house:
            task = await house.run(limits=LIMITS)
            task_id = task.task_id

            async def told() -> bool:
                counts = await house.queries.memory.counts(task_id)
                return FAILED in counts and set(counts) <= trouble.ends_in

            await soon(told)
            server.closing.set()
        async with House(folder, None, device) as later:
            history = await later.history(task_id)
            check_record(await later.stored(task_id), history)
            calls = [c.call for c in await later.events(task_id, ModelCalled)]
            moves = {m.state for m in await later.events(task_id, BackgroundChanged)}
    assert task.state is TaskState.COMPLETED, task.reason
    assert len(history.steps) == TAPS + 1
    assert set(history.summary_states) == set(range(1, TAPS + 2))
    assert set(history.summary_states.values()) <= trouble.ends_in | {READY}
    assert {c.outcome for c in calls if c.role == "summarizer"} >= trouble.outcomes
    assert trouble.moves <= moves
    assert all(c.figures.waits == 0 for c in calls if c.figures is not None)


async def test_what_was_left_pending_is_written_at_the_next_start(
    folder: Path, phone: StandIn
) -> None:
    device = android(phone.url)
    script = around(*(tap() for _ in range(TAPS)))
    memory = MemoryConfig(background_tokens=0)
    with GeminiServer(script) as server:
        async with House(folder, server, device, memory=memory, summaries=True) as house:
            task = await house.run()
            counts = await house.queries.memory.counts(task.task_id)
            (stopped,) = await house.events(task.task_id, BackgroundChanged)
            assert not server.background_requests
    assert counts == {PENDING: TAPS + 1} and stopped.state == "stopped"
    async with House(folder, None, device, summaries=True) as house:

        async def written() -> bool:
            return await house.queries.memory.counts(task.task_id) == {READY: TAPS + 1}

        await soon(written)


async def test_with_the_switch_off_nothing_is_expected_or_asked(
    folder: Path, phone: StandIn
) -> None:
    switches = {"visual_step_summary": False}
    with GeminiServer(around(tap(), tap())) as server:
        async with House(folder, server, android(phone.url), summaries=True) as house:
            task = await house.run(switches=switches)
            history = await house.history(task.task_id)
    assert history.summary_states == {} and not server.background_requests


async def test_a_closed_chunk_gets_its_capsule(folder: Path, phone: StandIn) -> None:
    with GeminiServer(around(*(tap() for _ in range(14)))) as server:
        agent = AgentConfig(identical_actions=100, keep_alive=0.05)
        device = android(phone.url)
        async with House(folder, server, device, agent=agent, summaries=True) as house:
            task = await house.run()

            async def written() -> bool:
                chunks = await house.queries.memory.chunks(task.task_id)
                return bool(chunks) and all(c.state is ChunkState.READY for c in chunks)

            await soon(written)
            chunk = (await house.queries.memory.chunks(task.task_id))[0]
            closed = await house.events(task.task_id, ChunkClosed)
            view = await house.queries.memory.chunk(task.task_id, chunk.start_step)
    assert chunk.version == 1 and chunk.refusals == () and chunk.digest.startswith("Steps 1-")
    assert closed[0].chunk.chunk_id == chunk.chunk_id and view.versions == (chunk,)
    assert chunk.capsule is not None and chunk.capsule.intervals[-1].end_step == chunk.end_step


async def summarised(house: House, task_id: str, number: int, versions: int) -> None:
    """Until a step's summary is ready in so many versions."""

    async def ready() -> bool:
        try:
            view = await house.queries.memory.summary(task_id, number)
        except NotFound:
            return False
        return view.status is READY and len(view.versions) == versions

    await soon(ready)


async def test_a_running_tasks_summary_can_be_rejected(folder: Path, phone: StandIn) -> None:
    script = around(tap(), tap(), act("ask_user", question="Which one?"))
    with GeminiServer(script) as server:
        async with House(folder, server, android(phone.url), summaries=True) as house:
            task_id = await house.submit()
            asked = await house.until(task_id, QuestionAsked)
            await summarised(house, task_id, 1, versions=1)
            with pytest.raises(NotFound):
                await house.service.resummarise(task_id, steps=[1, 9], by="Anna")
            await house.service.resummarise(task_id, steps=[1], reason="no price", by="Anna")
            await summarised(house, task_id, 1, versions=2)
            await house.service.answer(task_id, asked.question.question_id, "the first")
            task = await house.ended(task_id)
            changes = await house.events(task_id, SummaryChanged)
            history = await house.history(task_id)
            check_record(await house.stored(task_id), history)
    assert task.state is TaskState.COMPLETED
    mine = [(c.status, c.reason) for c in changes if c.step_number == 1]
    assert mine[1:3] == [(READY, ""), (STALE, "rejected by Anna: no price")]
    assert mine[3][0] is READY and history.summaries[1].version == 2


async def test_an_ended_tasks_texts_can_be_rejected_and_what_is_left_goes_on_at_the_next_start(
    folder: Path, phone: StandIn
) -> None:
    device = android(phone.url)
    answers = {"good": True}

    def background(request: Recorded) -> Behaviour:
        text = (
            "I looked at the page and its rows." if answers["good"] else "I failed to look at it."
        )
        return says(text)

    memory = MemoryConfig(background_redos=0)
    with GeminiServer(around(tap(), tap()), background=background) as server:
        async with House(folder, server, device, memory=memory, summaries=True) as house:
            task = await house.run()
            await summarised(house, task.task_id, 2, versions=1)
            await house.service.resummarise(task.task_id, steps=[2], by="Anna")
            await summarised(house, task.task_id, 2, versions=2)
            answers["good"] = False
            await house.service.resummarise(task.task_id, steps=[1], by="Anna")

            async def refused() -> bool:
                return bool(await house.events(task.task_id, TextRefused))

            await soon(refused)
            assert (await house.queries.memory.summary(task.task_id, 1)).status is STALE
        answers["good"] = True
        async with House(folder, server, device, memory=memory, summaries=True) as house:
            await summarised(house, task.task_id, 1, versions=2)
            figures = await house.queries.task_figures.task(task.task_id)
    assert figures.summaries.refusals == {"judging_word": memory.background_attempts}
    assert figures.summaries.versions == 5 and figures.summaries.states == {"visual_ready": 3}


async def test_a_chunk_that_failed_is_tried_again_at_the_next_start(
    folder: Path, phone: StandIn
) -> None:
    device = android(phone.url)
    agent = AgentConfig(identical_actions=100, keep_alive=0.05)
    memory = MemoryConfig(background_redos=0)

    def garbage(request: Recorded) -> Behaviour:
        return says("I looked at the page and its rows.")

    with GeminiServer(around(*(tap() for _ in range(14))), background=garbage) as server:
        async with House(
            folder, server, device, agent=agent, memory=memory, summaries=True
        ) as house:
            task = await house.run()

            async def failed() -> bool:
                counts = await house.queries.memory.chunk_counts(task.task_id)
                return set(counts) == {ChunkState.FAILED}

            await soon(failed)
    async with House(folder, None, device, summaries=True) as house:

        async def written() -> bool:
            counts = await house.queries.memory.chunk_counts(task.task_id)
            return set(counts) == {ChunkState.READY}

        await soon(written)
        chunk = (await house.queries.memory.chunks(task.task_id))[0]
        await house.service.resummarise(task.task_id, chunk=chunk.end_step, by="Anna")

        async def anew() -> bool:
            return (await house.queries.memory.chunk(task.task_id, 1)).chunk.version == 2

        await soon(anew)
    assert chunk.version == 1 and chunk.attempts == 2 * memory.background_attempts + 1
