"""What holds over a whole run: quota waits, secrets, the event loop, what a step writes."""

from __future__ import annotations

import asyncio
import itertools
import logging
from pathlib import Path

import pytest

from app.domain.config import AppiumConfig, MemoryConfig
from app.domain.events import ModelWaiting
from app.domain.tasks import TaskState
from tests.integration.agent.house import KEY, House, act, android, check_record, plan, tap
from tests.integration.agent.scene import OPERATOR, around
from tests.stand_ins.appium_server import Hang, Refusal, StandIn
from tests.stand_ins.gemini_server import Behaviour, GeminiServer, error, quota

MAX_GAP = 0.25
"""Seconds for which the event loop may be busy; a blocked one waits for a device's time-out."""
PASSWORD = "hunter2-correct-horse"


async def test_a_cancel_ends_a_wait_for_quota(folder: Path, phone: StandIn) -> None:
    with GeminiServer([plan(), quota("47.4s")]) as server:
        async with House(folder, server, android(phone.url)) as house:
            house.clock.holds = 30.0
            task_id = await house.submit()
            waiting = await house.until(task_id, ModelWaiting)
            assert waiting.seconds >= 47.4 and "RESOURCE_EXHAUSTED" in waiting.reason
            await house.clock.holding.wait()
            began = asyncio.get_running_loop().time()
            await house.service.cancel(task_id)
            task = await house.ended(task_id)
            assert task.state is TaskState.CANCELLED
            assert asyncio.get_running_loop().time() - began < 5
            check_record(await house.stored(task_id), await house.history(task_id))
        assert len(server.requests) == OPERATOR + 1


async def test_no_key_and_no_secret_reaches_store_log_or_event(
    folder: Path,
    phone: StandIn,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    leaky = error(429, "RESOURCE_EXHAUSTED", f"no quota for {KEY}", {"retryDelay": "1s"})
    script = around(leaky, act("input_text", element=1, text="secret:PIN"), tap())
    phone.fail("/actions", Hang(0), Refusal(f"no tap while {PASSWORD} is shown"))
    with GeminiServer([*script[:-2], *_wrong_key(), *script[-2:]], key=KEY) as server:
        options = {"secrets": {"PIN": PASSWORD}}
        async with House(folder, server, android(phone.url), **options) as house:
            task = await house.run()
            told = await house.told(task.task_id)
        assert all(r.key == KEY for r in server.requests)
        assert phone.text == PASSWORD, "the device got it"
    assert "secret:PIN" in told
    written = capfd.readouterr()
    places = {"events": told, "log": caplog.text, "output": written.out + written.err}
    places |= {str(p): p.read_bytes().decode("latin-1") for p in files(folder)}
    for place, text in places.items():
        assert KEY not in text, f"the key stands in {place}"
        assert PASSWORD not in text, f"the password stands in {place}"


def _wrong_key() -> list[Behaviour]:
    """An answer that repeats the key on the way to the analyzer."""
    return [error(400, "INVALID_ARGUMENT", f"bad request with {KEY}")]


def files(folder: Path) -> list[Path]:
    found = [p for p in folder.rglob("*") if p.is_file()]
    assert any(p.name.startswith("artemis.db") for p in found) and len(found) > 10
    return found


async def test_a_silent_device_never_blocks_the_event_loop(folder: Path, phone: StandIn) -> None:
    phone.fail("/actions", Hang(1.2))
    phone.fail("/source", Hang(0), Hang(1.2), Hang(1.2))
    appium = AppiumConfig(call_timeout=1.0, session_timeout=3)
    with GeminiServer(around(tap())) as server:
        async with House(folder, server, android(phone.url), appium=appium) as house:
            await house.run()  # the first use of a library is not what is measured
            task_id = await house.submit()
            phone.fail("/actions", Hang(1.2))
            server.add(*around(tap()))
            gaps: list[float] = []
            ticking = asyncio.create_task(_tick(gaps))
            await house.ended(task_id)
            ticking.cancel()
    assert gaps and max(gaps) < MAX_GAP + 0.5, sorted(gaps)[-3:]
    assert sorted(gaps)[len(gaps) * 99 // 100] < MAX_GAP


async def _tick(gaps: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        await asyncio.sleep(0.01)
        gaps.append(loop.time() - before - 0.01)


async def test_an_ordinary_step_takes_three_write_transactions(
    folder: Path, phone: StandIn
) -> None:
    with GeminiServer(around(*(tap() for _ in range(6)))) as server:
        # What is written in the background has transactions of its own, at any time.
        memory = MemoryConfig(visual_step_summary=False)
        async with House(folder, server, android(phone.url), memory=memory) as house:
            task = await house.run()
            history = await house.history(task.task_id)
    at = [count for kind, count in house.commits_at if kind == "step_decided"]
    assert len(at) == len(history.steps) == 7
    taken = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert taken == [3] * 6, taken
