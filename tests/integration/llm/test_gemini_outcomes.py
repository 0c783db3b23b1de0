"""What docs/outcomes.md says of the model, over a real socket: its first three parts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from app.domain.config import ModelsConfig, RoleModel
from app.domain.events import ModelWaiting
from app.domain.messages import (
    Finish,
    Message,
    ModelReply,
    ModelRequest,
    Response,
    Role,
    ToolSpec,
    user,
)
from app.errors import (
    ModelError,
    ModelQuota,
    ModelRejected,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnavailable,
)
from app.llm.build import ModelHouse
from app.llm.gateway import Gateway
from tests.outcome_table import outcomes
from tests.stand_ins.gemini_server import (
    Behaviour,
    GeminiServer,
    blocked_answer,
    blocked_prompt,
    calls,
    connection_cut,
    daily_quota,
    empty_candidate,
    error,
    hang,
    malformed_call,
    no_candidate,
    quota,
    says,
    unavailable,
)

KEY = "AIza-test-key-4711"
MAIN, SPARE = "gemini-3.8-flash", "gemini-3.5-flash"
TOOLS = (ToolSpec(name="tap", description="Tap.", parameters={"type": "object"}),)


class FastClock:
    """Real time, but sleeps are only written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 12, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class World:
    """A gateway before a scripted server, and what it told."""

    def __init__(
        self,
        server: GeminiServer,
        *,
        model: str = MAIN,
        fallback: str = SPARE,
        clock: FastClock | None = None,
        **changes: Any,
    ) -> None:
        role = RoleModel(model=model, fallback=fallback, timeout=changes.pop("timeout", 5.0))
        settings: dict[str, Any] = {
            "provider": "gemini",
            "gemini_api_key": SecretStr(KEY),
            "gemini_base_url": server.url,
            "roles": {Role.OPERATOR: role, Role.SUMMARIZER: role},
            "max_attempts": 3,
            **changes,
        }
        self.clock = clock or FastClock()
        self.waits: list[ModelWaiting] = []
        self.waiting = asyncio.Event()
        self.house = ModelHouse(ModelsConfig(**settings), self.clock)
        self.gateway: Gateway = self.house.build(self._on_wait)

    async def _on_wait(self, waiting: ModelWaiting) -> None:
        self.waits.append(waiting)
        self.waiting.set()

    async def ask(self, *messages: Message, **changes: Any) -> ModelReply:
        request = ModelRequest(
            role=changes.pop("role", Role.OPERATOR),
            system="You operate a phone.",
            messages=messages or (user("# GOAL\nTap it."),),
            tools=TOOLS,
            **changes,
        )
        try:
            return await self.gateway.generate(request)
        finally:
            await self.house.close()


@dataclass(frozen=True)
class Row:
    """What the server does and what must come of it."""

    script: tuple[Behaviour, ...]
    raises: type[ModelError] | None = None
    finish: Finish = Finish.STOP
    model: str = MAIN
    requests: int = 1
    waits: int = 0
    fallback: str = ""
    also: Callable[[ModelReply], bool] = field(default=lambda reply: True)


OK = calls(("tap", {"element": 3}), thought="I see a button.", text="Tapping.")

ROWS: dict[str, Row] = {
    "ok": Row((OK,), also=lambda r: r.message.calls[0].args == {"element": 3}),
    "text-only": Row((says("I am done."),), also=lambda r: not r.message.calls),
    "two-calls": Row(
        (calls(("tap", {"element": 1}), ("back", {})),),
        also=lambda r: [c.name for c in r.message.calls] == ["tap", "back"],
    ),
    "unknown-tool": Row(
        (calls(("fly", {"to": "moon"})),), also=lambda r: r.message.calls[0].name == "fly"
    ),
    "broken-arguments": Row(
        (calls(("tap", "element three")),),
        also=lambda r: "element three" in r.message.calls[0].problem,
    ),
    "malformed-call": Row((malformed_call(),), finish=Finish.MALFORMED_CALL),
    "cut-at-limit": Row(
        (says('{"milestones": [{"text": "Op', "MAX_TOKENS"),),
        finish=Finish.LENGTH,
        also=lambda r: r.message.text.startswith('{"milestones"'),
    ),
    "cut-but-whole": Row((says('{"answer": "42"}', "MAX_TOKENS"),), finish=Finish.LENGTH),
    "safety": Row(
        (blocked_answer(),),
        finish=Finish.SAFETY,
        also=lambda r: "DANGEROUS_CONTENT" in r.finish_detail,
    ),
    "blocked-prompt": Row(
        (blocked_prompt(),),
        finish=Finish.SAFETY,
        also=lambda r: "PROHIBITED_CONTENT" in r.finish_detail,
    ),
    "no-candidate": Row((no_candidate(),), finish=Finish.EMPTY, also=lambda r: r.usage.prompt == 7),
    "empty-candidate": Row((empty_candidate(),), finish=Finish.EMPTY),
    "unknown-finish": Row((says("Hm.", "TEA_BREAK"),), finish=Finish.OTHER),
    "odd-json": Row((Behaviour(body=["what"]), OK), requests=2, waits=1),
    "not-json": Row((Behaviour(body="<html>proxy</html>"), OK), requests=2, waits=1),
    "quota-delay": Row((quota("7s"), OK), requests=2, waits=1),
    "quota-no-delay": Row((quota(), OK), requests=2, waits=1),
    "quota-long": Row((quota("900s"), OK), requests=2, model=SPARE, fallback="model_quota"),
    "quota-daily": Row((daily_quota(), OK), requests=2, model=SPARE, fallback="model_quota"),
    "quota-endless": Row((quota("1s"),) * 6, raises=ModelQuota, requests=6, waits=4),
    "overloaded": Row((unavailable(),) * 2 + (OK,), requests=3, waits=2),
    "overloaded-long": Row(
        (unavailable(),) * 3 + (OK,), requests=4, waits=2, model=SPARE, fallback="model_unavailable"
    ),
    "overloaded-endless": Row((unavailable(),) * 6, raises=ModelUnavailable, requests=6, waits=4),
    "connection-cut": Row((connection_cut(), OK), requests=2, waits=1),
    "bad-key": Row(
        (error(401, "UNAUTHENTICATED", f"no access with {KEY}"),), raises=ModelUnauthorized
    ),
    "forbidden": Row((error(403, "PERMISSION_DENIED", "no"),), raises=ModelUnauthorized),
    "no-such-model": Row(
        (error(404, "NOT_FOUND", "not found"), OK),
        requests=2,
        model=SPARE,
        fallback="model_rejected",
    ),
    "rejected": Row((error(400, "INVALID_ARGUMENT", "Unknown field."),), raises=ModelRejected),
    "signature-finish": Row(
        (says("", "MISSING_THOUGHT_SIGNATURE"), OK), requests=2, fallback="signature_dropped"
    ),
}

OTHER_TESTS = {
    "signature-missing",
    "signature-corrupted",
    "time-out",
    "unreachable",
    "deadline",
    "cancelled",
}
"""Rows of the document that need more than a script; each has a test below."""


def test_the_document_and_the_tests_name_the_same_rows() -> None:
    rows = [outcome.row for outcome in outcomes().values() if outcome.part <= 3]
    assert sorted(rows) == sorted({*ROWS, *OTHER_TESTS})


@pytest.mark.parametrize("name", ROWS)
async def test_outcome(name: str) -> None:
    row = ROWS[name]
    with GeminiServer(row.script) as server:
        world = World(server)
        if row.raises:
            with pytest.raises(row.raises) as caught:
                await world.ask()
            assert type(caught.value) is row.raises
            assert KEY not in f"{caught.value} {caught.value!r} {caught.value.__context__}"
            assert world.gateway.meter.of(Role.OPERATOR).failed == 1
        else:
            reply = await world.ask()
            assert (reply.finish, reply.model) == (row.finish, row.model)
            assert row.fallback in reply.fallback
            assert bool(row.fallback) == bool(reply.fallback)
            assert row.also(reply)
            assert len(reply.attempts) == row.requests
            assert reply.raw
        assert len(server.requests) == row.requests
        assert len(world.waits) == row.waits == len(world.clock.slept)


async def test_a_wait_honours_the_servers_delay_and_says_so() -> None:
    with GeminiServer([quota("47.4s"), OK]) as server:
        world = World(server)
        reply = await world.ask()
    [waiting] = world.waits
    assert 47.4 <= waiting.seconds <= 47.4 * 1.05
    assert (waiting.role, waiting.model, waiting.attempt) == ("operator", MAIN, 2)
    assert "RESOURCE_EXHAUSTED" in waiting.reason
    assert [a.outcome for a in reply.attempts] == ["model_quota", "ok"]
    assert reply.attempts[1].waited >= 47.4


async def test_the_retry_after_header_counts_too() -> None:
    late = error(503, "UNAVAILABLE", "later", headers={"Retry-After": "9"})
    with GeminiServer([late, OK]) as server:
        world = World(server)
        await world.ask()
    assert 9 <= world.clock.slept[0] <= 9.5


async def test_no_wait_is_begun_that_the_deadline_would_cut() -> None:
    with GeminiServer([quota("60s")]) as server:
        world = World(server, fallback="")
        with pytest.raises(ModelQuota, match="1 attempt"):
            await world.ask(deadline=20.0)
    assert not world.waits


async def test_time_out_of_an_attempt_is_retried_then_the_fallback_answers() -> None:
    with GeminiServer([hang(), hang(), OK]) as server:
        world = World(server, timeout=1.5, max_attempts=2)
        reply = await world.ask()
    assert reply.model == SPARE
    assert [a.outcome for a in reply.attempts] == ["model_timeout", "model_timeout", "ok"]


async def test_an_unreachable_service_is_unavailable() -> None:
    with GeminiServer() as server:
        world = World(server, fallback="")
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await world.ask()
    assert len(world.waits) == 2


async def test_the_deadline_holds_around_everything() -> None:
    with GeminiServer([hang()]) as server:
        world = World(server)
        with pytest.raises(ModelTimeout):
            await asyncio.wait_for(world.ask(deadline=0.5), 3)


async def test_a_cancelled_call_ends_at_once() -> None:
    with GeminiServer([hang()]) as server:
        world = World(server)
        task = asyncio.create_task(world.ask())
        assert await asyncio.to_thread(server.arrived.acquire, timeout=10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)


async def test_a_cancelled_wait_ends_at_once() -> None:
    class SlowClock(FastClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(seconds)

    with GeminiServer([quota("60s")]) as server:
        world = World(server, clock=SlowClock())
        task = asyncio.create_task(world.ask())
        await asyncio.wait_for(world.waiting.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)


# --- signatures ------------------------------------------------------------------------------

SIGNATURE = bytes(range(256))


def _result(name: str = "tap", **fields: Any) -> Message:
    return Message(role="user", parts=(Response(name=name, response=fields or {"result": "ok"}),))


async def test_signatures_return_byte_for_byte_also_after_storage() -> None:
    script = [calls(("tap", {"element": 1}), thought="Hm.", signature=SIGNATURE), OK]
    with GeminiServer(script) as server:
        world = World(server)
        first = await world.ask(user("go"))
        stored = Message.model_validate_json(first.message.model_dump_json())
        world = World(server)
        await world.ask(user("go"), stored, _result())
        sent = server.requests[1].body["contents"][1]["parts"]
    assert first.message.calls[0].signature == SIGNATURE
    assert first.message.thinking == "Hm."
    assert len(sent) == 2
    assert len(server.requests) == 2


async def test_signature_missing_is_mended_once_by_telling_the_calls_as_text() -> None:
    with GeminiServer([error(400, "INVALID_ARGUMENT", MISSING_TEXT), OK]) as server:
        world = World(server)
        whole = await _signed_turn(server)
        reply = await world.ask(user("go"), *whole)
        contents = server.requests[-1].body["contents"]
    assert reply.fallback.startswith("signature_dropped")
    assert [a.outcome for a in reply.attempts] == ["signature_missing", "ok"]
    assert "functionCall" not in json.dumps(contents)
    assert 'I called tap {"element": 1}.' in contents[1]["parts"][0]["text"]
    assert contents[2]["parts"][0]["text"] == 'Result: {"result": "ok"}'


MISSING_TEXT = "Function call is missing a thought_signature in functionCall parts."


async def _signed_turn(server: GeminiServer) -> tuple[Message, Message]:
    """A call as the model made it, and its result; the server gets one more behaviour first."""
    server.add(calls(("tap", {"element": 1}), signature=SIGNATURE), first=True)
    first = await World(server).ask(user("go"))
    return first.message, _result()


async def test_signature_missing_twice_is_a_rejection() -> None:
    refusal = error(400, "INVALID_ARGUMENT", MISSING_TEXT)
    with GeminiServer([refusal, refusal]) as server, pytest.raises(ModelRejected):
        await World(server).ask()
    assert len(server.requests) == 2


async def test_signature_corrupted_is_mended_the_same_way() -> None:
    with GeminiServer([OK]) as server:
        forged = Message.model_validate_json((await _forged(server)).model_dump_json())
        reply = await World(server).ask(user("go"), forged, _result())
    assert reply.fallback.startswith("signature_dropped")
    assert reply.attempts[0].detail.endswith("Corrupted thought signature.")


async def _forged(server: GeminiServer) -> Message:
    """A model message whose signature the server never gave."""
    message = (await _signed_turn(server))[0]
    assert message.provider is not None
    content = json.loads(json.dumps(message.provider.content))
    content["parts"][-1]["thoughtSignature"] = "Zm9yZ2Vk"
    return message.model_copy(
        update={"provider": message.provider.model_copy(update={"content": content})}
    )


async def test_a_fallback_model_gets_the_other_models_calls_as_text() -> None:
    with GeminiServer() as server:
        whole = await _signed_turn(server)
        server.add(error(404, "NOT_FOUND", "gone"), OK)
        reply = await World(server).ask(user("go"), *whole)
        body = json.dumps(server.requests[-1].body)
    assert reply.model == SPARE
    assert "model:" in reply.fallback and "signature_dropped" in reply.fallback
    assert "functionCall" not in body and "functionResponse" not in body


async def test_unknown_fields_are_kept_but_not_sent() -> None:
    part = {
        "functionCall": {"name": "tap", "args": {}, "mood": "good"},
        "thoughtSignature": "c2ln",
        "hologram": {"depth": 3},
    }
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    with GeminiServer([Behaviour(body={"candidates": [candidate]}), OK]) as server:
        server.knows(b"sig", MAIN)
        first = await World(server).ask(user("go"))
        assert first.message.provider is not None
        assert first.message.provider.content["parts"][0]["hologram"] == {"depth": 3}
        await World(server).ask(user("go"), first.message, _result())
        sent = server.requests[1].body["contents"][1]["parts"][0]
    assert sent["functionCall"]["name"] == "tap" and "hologram" not in sent


# --- what is sent ----------------------------------------------------------------------------


async def test_the_request_says_what_the_turn_wants() -> None:
    with GeminiServer([OK]) as server:
        await World(server).ask(
            thinking="high",
            allowed_tools=("tap",),
            require_call=True,
            media_resolution="medium",
            max_output_tokens=77,
        )
    [request] = server.requests
    config = request.body["generationConfig"]
    calling = request.body["toolConfig"]["functionCallingConfig"]
    assert (request.version, request.key) == ("v1beta", KEY)
    assert config["maxOutputTokens"] == 77
    assert config["mediaResolution"] == "MEDIA_RESOLUTION_MEDIUM"
    thinking = config["thinkingConfig"]
    assert thinking.get("thinking_level", thinking.get("thinkingLevel")) == "HIGH"
    assert calling["mode"] == "ANY"
    assert calling.get("allowedFunctionNames", calling.get("allowed_function_names")) == ["tap"]


async def test_json_is_asked_for_by_schema() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    with GeminiServer([says('{"answer": "x"}')]) as server:
        await World(server).ask(response_schema=schema)
    config = server.requests[0].body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == schema


async def test_usage_and_cost_are_metered_by_role() -> None:
    usage = {
        "promptTokenCount": 1_000_000,
        "cachedContentTokenCount": 400_000,
        "candidatesTokenCount": 1_000,
        "thoughtsTokenCount": 2_000,
    }
    content = {"role": "model", "parts": [{"text": "hi"}]}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    with GeminiServer([Behaviour(body=body)]) as server:
        world = World(server)
        reply = await world.ask()
    expected = 0.6 * 0.75 + 0.4 * 0.075 + 0.003 * 3.75
    assert reply.cost_usd == pytest.approx(expected)
    totals = world.gateway.meter.of(Role.OPERATOR)
    assert (totals.calls, totals.attempts, totals.unpriced_calls) == (1, 1, 0)
    assert totals.usage == reply.usage
    assert reply.usage.thinking == 2_000 and reply.usage.cached == 400_000


async def test_a_model_without_a_price_costs_none() -> None:
    with GeminiServer([OK]) as server:
        world = World(server, model="gemini-9-unheard-of")
        reply = await world.ask()
    assert reply.cost_usd is None
    assert world.gateway.meter.of(Role.OPERATOR).unpriced_calls == 1


async def test_lone_surrogates_do_not_get_in() -> None:
    body = '{"candidates":[{"content":{"role":"model","parts":[{"text":"a\\ud83cb"}]},'
    with GeminiServer([Behaviour(body=body + '"finishReason":"STOP"}]}')]) as server:
        reply = await World(server).ask()
    assert reply.message.text.encode("utf-8")


async def test_a_wrong_key_is_named_but_never_quoted() -> None:
    with GeminiServer(key="another") as server:
        world = World(server)
        with pytest.raises(ModelUnauthorized) as caught:
            await world.ask()
    assert "[key]" in str(caught.value) and KEY not in str(caught.value)
    assert KEY not in repr(vars(world.gateway)) and KEY not in repr(world.house)


async def test_a_background_call_waits_for_the_operator() -> None:
    slow = Behaviour(parts=[{"text": "slow"}], delay=1.5)
    with GeminiServer([slow, says("summary")]) as server:
        world = World(server)
        operator = asyncio.create_task(
            world.gateway.generate(
                ModelRequest(role=Role.OPERATOR, system="", messages=(user("a"),))
            )
        )
        assert await asyncio.to_thread(server.arrived.acquire, timeout=10)
        background = asyncio.create_task(world.ask(role=Role.SUMMARIZER))
        await asyncio.sleep(0.15)
        assert len(server.requests) == 1
        assert (await operator).message.text == "slow"
        assert (await background).message.text == "summary"
    assert world.house.lanes.admitted_busy == 0


async def test_the_key_stands_in_no_log_even_at_the_lowest_level(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    with GeminiServer([unavailable(), error(403, "PERMISSION_DENIED", KEY)]) as server:
        with pytest.raises(ModelUnauthorized):
            await World(server).ask()
    assert caplog.records, "nothing was logged, so nothing was checked"
    assert KEY not in caplog.text
    assert all(KEY not in repr(vars(record)) for record in caplog.records)
