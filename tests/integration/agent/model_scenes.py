"""Parts 1 to 3 of docs/outcomes.md: what the model's service does, at the operator's first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.domain.events import ModelCalled, ModelWaiting, ToolServed
from app.domain.tasks import Task
from tests.integration.agent.house import MAIN, SPARE, act, answer, finish, plan, tap
from tests.integration.agent.scene import OPERATOR, Scene, Stage, around
from tests.stand_ins.gemini_server import (
    CORRUPTED,
    MISSING,
    Behaviour,
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

Make = Callable[[], Behaviour]


def scene(make: Make, *, times: int = 1, ends: bool = True, **more: Any) -> Scene:
    """The behaviour `times` times, then a normal end; and without end."""
    return Scene(
        script=lambda: around(*(make() for _ in range(times))),
        for_ever=(lambda: [plan(), *(make() for _ in range(60))]) if ends else None,
        **more,
    )


async def _ran_once(stage: Stage, task: Task) -> None:
    touches = stage.phone.sent("/actions")
    assert len(touches) == 1, "only the first of two actions may run"
    assert "not executed: one action a turn" in stage.prompt(OPERATOR + 1)
    [first, *_] = await stage.house.steps(stage.task_id)
    assert first.action_text == "tap [Next]"


async def _lists_functions(stage: Stage, task: Task) -> None:
    [served] = await stage.house.events(stage.task_id, ToolServed)
    assert served.name == "fly" and "tap, long_press" in stage.prompt(OPERATOR + 1)


async def _longer_now(stage: Stage, task: Task) -> None:
    limits = [
        r.body["generationConfig"]["maxOutputTokens"]
        for r in stage.server.requests[OPERATOR : OPERATOR + 3]
    ]
    assert limits[1] > limits[0] == limits[2], limits
    assert not stage.phone.sent("/actions")


async def _less_screen(stage: Stage, task: Task) -> None:
    first, second = stage.prompt(OPERATOR), stage.prompt(OPERATOR + 1)
    assert len(second) <= len(first) and "# NOW" in second


async def _says_what_was_wrong(stage: Stage, task: Task) -> None:
    assert "Call exactly one function now" in stage.prompt(OPERATOR + 1)


async def _honoured(stage: Stage, task: Task) -> None:
    [waiting] = await stage.house.events(stage.task_id, ModelWaiting)
    assert 47.4 <= waiting.seconds <= 47.4 * 1.05 and waiting.attempt == 2
    assert (waiting.role, waiting.model, waiting.step_number) == ("operator", MAIN, 1)
    assert any(abs(s - waiting.seconds) < 0.001 for s in stage.house.clock.slept)


async def _spare_answered(stage: Stage, task: Task) -> None:
    called = await stage.house.events(stage.task_id, ModelCalled)
    spare = [c.call for c in called if c.call.model == SPARE]
    assert spare and all(c.fallback for c in spare)


async def _kept_signature(stage: Stage, task: Task) -> None:
    told = stage.prompt(OPERATOR + 2)
    assert "I called tap" in told and '"functionCall"' not in told


async def _nothing_sent(stage: Stage, task: Task) -> None:
    assert not stage.phone.sent("/actions")


async def _cancel(stage: Stage) -> None:
    await stage.house.request(OPERATOR + 1)
    await stage.house.service.cancel(stage.task_id)


async def _aborted(stage: Stage, task: Task) -> None:
    outcomes = [c.call.outcome for c in await stage.house.events(stage.task_id, ModelCalled)]
    assert outcomes == ["ok", "cancelled"]
    await _nothing_sent(stage, task)


def _broken() -> Behaviour:
    return calls(("tap", ["element", 1]), signature=b"broken")


def _two() -> Behaviour:
    return calls(("tap", {"element": 1}), ("tap", {"element": 2}), signature=b"two")


def _with_signed_turn(make: Make) -> Scene:
    """The refusal comes when an earlier call is in the prompt."""
    return Scene(
        script=lambda: [plan(), tap(), make(), finish(), answer()],
        for_ever=lambda: [plan(), tap(), *(make() for _ in range(8))],
        also=_kept_signature,
    )


def _refused(text: str) -> Make:
    return lambda: error(400, "INVALID_ARGUMENT", text)


LONG = error(429, "RESOURCE_EXHAUSTED", "later", {"retryDelay": "600s"})
FAST = {"timeout": 0.8}

SCENES: dict[str, Scene] = {
    "ok": Scene(),
    "text-only": scene(lambda: says("I would tap it."), also=_says_what_was_wrong),
    "two-calls": Scene(script=lambda: around(_two()), also=_ran_once),
    "unknown-tool": scene(lambda: act("fly", to="the moon"), also=_lists_functions),
    "broken-arguments": scene(_broken, spec={"limits": {"steps": 2}}, also=_nothing_sent),
    "malformed-call": scene(malformed_call),
    "cut-at-limit": scene(lambda: says("I would ta", "MAX_TOKENS"), also=_longer_now),
    "cut-but-whole": scene(
        lambda: Behaviour(
            parts=[{"functionCall": {"name": "tap", "args": {"element": 1}}}], finish="MAX_TOKENS"
        ),
        also=_longer_now,
    ),
    "safety": scene(blocked_answer, also=_less_screen),
    "blocked-prompt": scene(blocked_prompt, also=_less_screen),
    "no-candidate": scene(no_candidate),
    "empty-candidate": scene(empty_candidate),
    "unknown-finish": scene(lambda: says("tea?", "TEA_BREAK")),
    "odd-json": scene(lambda: Behaviour(body='["no object"]')),
    "not-json": scene(lambda: Behaviour(body="<html>proxy</html>")),
    "quota-delay": scene(lambda: quota("47.4s"), also=_honoured),
    "quota-no-delay": scene(quota),
    "quota-long": scene(lambda: quota("600s"), also=_spare_answered),
    "quota-daily": scene(daily_quota, also=_spare_answered),
    "quota-endless": Scene(script=lambda: [plan(), *(quota() for _ in range(8))]),
    "overloaded": scene(unavailable),
    "overloaded-long": scene(unavailable, times=2, ends=False, also=_spare_answered),
    "overloaded-endless": Scene(script=lambda: [plan(), *(unavailable() for _ in range(8))]),
    "time-out": scene(hang, house=FAST),
    "connection-cut": scene(connection_cut),
    "deadline": Scene(script=lambda: [plan(), hang()], house={"deadline": 0.5}),
    "cancelled": Scene(script=lambda: [plan(), hang()], meanwhile=_cancel, also=_aborted),
    "unreachable": Scene(house={"model_url": "http://127.0.0.1:1"}, also=_nothing_sent),
    "bad-key": Scene(script=lambda: [plan(), error(401, "UNAUTHENTICATED", "no access")]),
    "forbidden": Scene(script=lambda: [plan(), error(403, "PERMISSION_DENIED", "no")]),
    "no-such-model": scene(lambda: error(404, "NOT_FOUND", "not found"), also=_spare_answered),
    "rejected": Scene(script=lambda: [plan(), error(400, "INVALID_ARGUMENT", "Unknown field.")]),
    "signature-missing": _with_signed_turn(_refused(MISSING.format(name="tap", position=3))),
    "signature-corrupted": _with_signed_turn(_refused(CORRUPTED)),
    "signature-finish": _with_signed_turn(lambda: says("", "MISSING_THOUGHT_SIGNATURE")),
}
