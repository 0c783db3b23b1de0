"""A whole task through the Gemini adapter: many turns, signatures checked at every request."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

from pydantic import SecretStr

from app.domain.config import ModelsConfig
from app.domain.events import ModelWaiting
from app.domain.messages import Message, ModelReply, ModelRequest, Role, user
from app.llm.build import ModelHouse
from tests.stand_ins.gemini_server import GeminiServer, either, offline_brain
from tests.unit.llm.phones import Screen, Session, line


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def no_wait(waiting: ModelWaiting) -> None:
    raise AssertionError(f"nothing should wait: {waiting}")


def page(number: int) -> Screen:
    lines = [
        line(0, "text", f"Code: C-{number:03}"),
        line(1, "button", "Next"),
        line(2, "field", "Code", 'value=""'),
    ]
    on = {"tap:1": lambda _: page(number + 1), "input_text": lambda _: page(number)}
    return Screen(lines, page=f"Page {number}", on=on)


GOAL = """read "Code" as first
repeat 12 times { tap "Next" }
type "{first}" into "Code"
check "C-013"
answer "{first}"
"""


async def test_every_signature_returns_byte_for_byte_over_many_turns() -> None:
    with GeminiServer(brain=offline_brain, key="k") as server:
        config = ModelsConfig(
            provider="gemini", gemini_api_key=SecretStr("k"), gemini_base_url=server.url
        )
        house = ModelHouse(config, RealClock())
        gateway, loop = house.build(no_wait), asyncio.get_running_loop()
        replies: list[ModelReply] = []

        def answer(request: ModelRequest) -> Message:
            # As after a restart: what is sent back has been through the store.
            stored = ModelRequest.model_validate_json(request.model_dump_json())
            reply = asyncio.run_coroutine_threadsafe(gateway.generate(stored), loop).result(20)
            replies.append(reply)
            return reply.message

        session = Session(GOAL, page(1), hot_turns=30, answer=answer)
        result = await asyncio.to_thread(session.run)
        await house.close()
    assert result == ("finish", "C-001")
    assert len(replies) == len(server.requests) == 15
    assert all(len(reply.attempts) == 1 and not reply.fallback for reply in replies)
    last = server.requests[-1].body["contents"]
    sent = [
        p for c in last if c["role"] == "model" for p in c["parts"] if either(p, "functionCall")
    ]
    assert len(sent) == 14 and all(either(p, "thoughtSignature") for p in sent)
    assert gateway.meter.of(Role.OPERATOR).calls == 15


async def test_the_planner_answers_through_the_same_door() -> None:
    with GeminiServer(brain=offline_brain) as server:
        config = ModelsConfig(
            provider="gemini", gemini_api_key=SecretStr("k"), gemini_base_url=server.url
        )
        house = ModelHouse(config, RealClock())
        text = f"# GOAL\n{GOAL}\n# DEVICE\nphone\n# PLAN\nnone\n# REQUEST\nWrite it."
        reply = await house.build(no_wait).generate(
            ModelRequest(role=Role.PLANNER, system="", messages=(user(text),))
        )
        await house.close()
    assert len(json.loads(reply.message.text)["milestones"]) == 3


async def test_offline_needs_no_server_and_costs_nothing() -> None:
    gateway = ModelHouse(ModelsConfig(), RealClock()).build(no_wait)
    request = ModelRequest(role=Role.OPERATOR, system="", messages=(user("# GOAL\nback"),))
    reply = await gateway.generate(request)
    assert (reply.offline, reply.cost_usd, reply.provider) == (True, 0.0, "offline")
    assert [attempt.outcome for attempt in reply.attempts] == ["ok"]
