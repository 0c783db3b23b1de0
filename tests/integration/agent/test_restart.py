"""The row `restarted` of docs/outcomes.md, and signatures that come back from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.domain.actions import Verdict
from app.domain.config import MemoryConfig
from app.domain.events import Compacted, FallbackUsed, ModelCalled, SessionOpened
from app.domain.summaries import SummaryStatus
from app.domain.tasks import StepState, TaskState
from tests.integration.agent.house import (
    KEY,
    House,
    act,
    android,
    answer,
    check_record,
    plan,
    soon,
    tap,
)
from tests.integration.agent.scene import OPERATOR
from tests.outcome_table import outcomes
from tests.stand_ins.appium_server import Hang, StandIn
from tests.stand_ins.gemini_server import GeminiServer, decode, either


def signatures(body: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Every call of a request that is sent as a call, with the bytes it carries."""
    return list(_signed(body))


def _signed(body: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    for content in body["contents"]:
        for part in content["parts"]:
            if call := either(part, "functionCall"):
                yield call["name"], decode(either(part, "thoughtSignature"))


async def test_a_restarted_server_looks_afresh_and_goes_on(folder: Path, phone: StandIn) -> None:
    expected = outcomes()["restarted"]
    first, second = tap(), tap()
    with GeminiServer([plan(), first, second, act("finish", answer="bought"), answer()]) as server:
        async with House(folder, server, android(phone.url)) as house:
            task_id = await house.submit()
            await house.request(OPERATOR + 1)
            await house.touched(phone)
            phone.fail("/actions", Hang(1.0))
            await house.touched(phone, 2)
        async with House(folder, server, android(phone.url)) as house:
            task = await house.ended(task_id)
            history, stored = await house.history(task_id), await house.stored(task_id)
            opened = await house.events(task_id, SessionOpened)
            told = await house.told(task_id)
        check_record(stored, history)
        assert task.state is TaskState.COMPLETED
        step = history.steps[1]
        assert (step.verdict, step.state) == (Verdict.UNCERTAIN, StepState.INTERRUPTED)
        assert (expected.verdict, expected.step) == (step.verdict, step.state)
        assert len(phone.sent("/actions")) == 2, "nothing is repeated blindly"
        assert [o.again for o in opened] == [False, True]
        assert set(expected.events) <= {s.event.type for s in stored} and "interrupted" in told
        after = server.requests[OPERATOR + 2].body
        assert expected.message[0] in json.dumps(after)
        assert signatures(after) == [("tap", first.signature), ("tap", second.signature)]
        assert "signature_dropped" not in told


async def test_a_step_that_was_broken_off_gets_its_summary_too(
    folder: Path, phone: StandIn
) -> None:
    with GeminiServer([plan(), tap(), tap(), act("finish", answer="bought"), answer()]) as server:
        async with House(folder, server, android(phone.url), summaries=True) as house:
            task_id = await house.submit()
            await house.request(OPERATOR + 1)
            await house.touched(phone)
            phone.fail("/actions", Hang(1.0))
            await house.touched(phone, 2)
        async with House(folder, server, android(phone.url), summaries=True) as house:
            await house.ended(task_id)

            async def written() -> bool:
                counts = await house.queries.memory.counts(task_id)
                return counts == {SummaryStatus.VISUAL_READY: 3}

            await soon(written)
            history = await house.history(task_id)
            check_record(await house.stored(task_id), history)
    assert history.steps[1].state is StepState.INTERRUPTED


async def test_signatures_return_byte_for_byte_across_compactions(
    folder: Path, phone: StandIn
) -> None:
    acts = [tap() for _ in range(12)]
    memory = MemoryConfig(target_tokens=4_520, compacted_tokens=4_420)
    script = [plan(), *acts, act("finish", answer="bought"), answer()]
    with GeminiServer(script, key=KEY) as server:
        async with House(folder, server, android(phone.url), memory=memory) as house:
            task = await house.run()
            compacted = await house.events(task.task_id, Compacted)
            called = await house.events(task.task_id, ModelCalled)
            fallbacks = await house.events(task.task_id, FallbackUsed)
        assert task.state is TaskState.COMPLETED, task.reason
        totals = [c.call.figures.estimated for c in called if c.call.figures]
        assert len(compacted) >= 2, totals
        assert all(c.call.outcome == "ok" and c.call.attempts == 1 for c in called)
        assert not [f for f in fallbacks if f.kind == "model"]
        issued = [a.signature for a in acts]
        kept = [signatures(r.body) for r in server.requests[OPERATOR : OPERATOR + 13]]
        for number, sent in enumerate(kept):
            count = len(sent)
            assert [bytes_ for _, bytes_ in sent] == issued[number - count : number]
        assert kept[0] == [] and all(kept[1:])
        dropped = [n for n in range(1, 13) if len(kept[n]) <= len(kept[n - 1])]
        assert dropped, "no compaction took a turn out of the prompt"
