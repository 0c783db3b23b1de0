"""Whatever models and devices do, a task ends in a legal state with every step finished.

The record of these runs (tests/unit/agent/home.py) refuses what no store would take: an event
after the end, a step decided twice or left open, a state that may not follow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agent.tools.declarations import ACTION_NAMES
from app.agent.tools.in_turn import IN_TURN_NAMES
from app.domain.actions import Outcome, Receipt
from app.domain.config import MemoryConfig
from app.domain.events import ModelCalled, StepDecided, StepFinished
from app.domain.messages import Finish, ModelReply, Role
from app.domain.screens import Alert, DeviceView, Dialect, UiSource
from app.domain.tasks import TaskState
from app.errors import (
    DeviceUnreachable,
    ModelError,
    ModelQuota,
    ModelTimeout,
    ModelUnavailable,
    SessionLost,
)
from tests.unit.agent.home import Home, Phone, Talker, call, calls, reply, says, source

NAMES = st.sampled_from([*ACTION_NAMES, *sorted(IN_TURN_NAMES), "fly", ""])
TEXTS = st.one_of(
    st.sampled_from(["Next", "Page 1", "secret:PIN", "{} %s <b>", "🏴‍☠️", "", "很" * 50]),
    st.text(max_size=30),
)
NUMBERS = st.one_of(
    st.integers(-5, 1_100), st.floats(allow_nan=True), st.none(), st.booleans(), TEXTS
)
KEYS = st.sampled_from(
    "element x y x2 y2 to_element to_x to_y text key app url seconds answer reason direction "
    "orientation op query question command values done active progress request step_range mode "
    "submit include_images max_results".split()
)
ARGS = st.dictionaries(KEYS, st.one_of(NUMBERS, st.lists(NUMBERS, max_size=3)), max_size=5)
USUAL = st.sampled_from(
    [
        ("tap", {"element": 0}),
        ("tap", {"element": 2}),
        ("swipe", {"direction": "up"}),
        ("scroll_to", {"text": "nowhere"}),
        ("back", {}),
        ("wait", {"seconds": 5}),
        ("remember", {"values": [{"key": "k", "value": "v"}]}),
        ("notes", {"op": "save", "key": "k", "text": "word " * 3_000}),
        ("notes", {"op": "read", "key": "k"}),
        ("update_plan", {"done": [1]}),
        ("update_plan", {"request": "anew"}),
        ("explore_ui", {"query": "Next"}),
        ("recall_history", {"query": "Next"}),
        ("finish", {"answer": "done 42"}),
    ]
)
REPLIES = st.one_of(
    USUAL.map(lambda made: calls(made, said="I look and act. " * 20)),
    USUAL.map(lambda made: calls(made)),
    st.tuples(NAMES, ARGS).map(lambda made: calls(made)),
    st.lists(st.tuples(NAMES, ARGS), min_size=2, max_size=4).map(lambda made: calls(*made)),
    st.sampled_from(list(Finish)).map(lambda finish: reply(finish=finish)),
    TEXTS.map(says),
    st.just(says('{"milestones": [{"text": "x"', Finish.LENGTH)),
)
ERRORS = st.sampled_from([ModelQuota("q"), ModelTimeout("t"), ModelUnavailable("u")])
RECEIPTS = st.one_of(
    st.just(Receipt(outcome=Outcome.OK)),
    st.sampled_from(
        [
            Receipt(outcome=Outcome.ERROR, code="device_error", message="refused"),
            Receipt(outcome=Outcome.UNKNOWN, code="device_timeout", message="silent"),
            Receipt(outcome=Outcome.UNKNOWN, code="session_lost", message="gone"),
            SessionLost("gone"),
        ]
    ),
)


def views(phone: Phone) -> st.SearchStrategy[DeviceView | SessionLost]:
    return st.sampled_from(
        [
            phone.view(),
            phone.view(source=source("Next", "Page 1")),
            phone.view(source=None, source_problem="refused"),
            phone.view(source=UiSource(dialect=Dialect.UIAUTOMATOR2, text="<hierarchy/>")),
            phone.view(source=UiSource(dialect=Dialect.UIAUTOMATOR2, text="<hier\ud83d")),
            phone.view(source=source(*(f"Row {n} " + "很" * 40 for n in range(300)))),
            phone.view(alert=Alert(text="Allow?")),
            phone.view(toasts=("saved",), windows=2, notes=("followed a new tab",)),
            SessionLost("gone"),
        ]
    )


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(data=st.data())
def test_any_run_ends_well(data: Any) -> None:
    phone = Phone(moves=data.draw(st.booleans()))
    operator = data.draw(st.lists(REPLIES, max_size=14))
    if data.draw(st.integers(0, 9)) == 0:
        operator.append(data.draw(ERRORS))
    talker = Talker(*operator, plan=data.draw(REPLIES))
    for role in (Role.ANALYZER, Role.OUTPUTTER, Role.PLANNER):
        queue: deque[ModelReply | ModelError] = talker.others.setdefault(role, deque())
        queue.extend(data.draw(st.lists(st.one_of(REPLIES, ERRORS), max_size=3)))
    phone.receipts.extend(data.draw(st.lists(RECEIPTS, max_size=8)))
    phone.views.extend(data.draw(st.lists(views(phone), max_size=12)))
    phone.opens.extend(data.draw(st.lists(st.just(DeviceUnreachable("away")), max_size=1)))
    cancel_at = data.draw(st.one_of(st.none(), st.integers(0, 12)))
    asyncio.run(_run(talker, phone, cancel_at))


async def _run(talker: Talker, phone: Phone, cancel_at: int | None) -> None:
    if cancel_at is not None:
        generate = talker.generate

        async def cancelling(request: Any) -> ModelReply:
            if len(talker.requests) == cancel_at:
                home.control.cancel("c")
            return await generate(request)

        talker.generate = cancelling  # type: ignore[method-assign]
    home = Home(talker, phone, limits={"steps": 12})
    home.run.rules = home.run.rules._replace(
        agent=home.run.rules.agent.model_copy(update={"question_timeout": 0.0})
    )
    end = await home.to_end()
    assert end.code != "internal", end.reason
    assert end.reason and home.record.state.ended and not home.record.open_step
    assert home.record.steps == len(home.record.of(StepFinished))
    assert home.record.steps == len(home.record.of(StepDecided)) <= 12
    assert phone.closed
    for called in home.record.of(ModelCalled):
        figures = called.call.figures
        assert figures is None or figures.estimated <= home.run.rules.memory.hard_tokens
    if end.state is TaskState.COMPLETED:
        assert end.answer


@pytest.mark.parametrize("hard", [9_000, 12_000])
async def test_the_hard_limit_holds_over_a_long_run(hard: int) -> None:
    rows = [f"Row {n} with some words" for n in range(250)]
    phone = Phone()
    for _ in range(600):
        phone.views.append(phone.view(source=source(*rows)))
    said = "I see the rows and think about each of them at some length. " * 60
    acts = [calls(("tap", {"element": n % 18}), said=said) for n in range(40)]
    notes = [call("remember", values=[{"key": f"k{n}", "value": "v" * 300}]) for n in range(40)]
    mixed = [x for pair in zip(notes, acts, strict=True) for x in pair]
    memory = MemoryConfig(
        target_tokens=hard - 2_000, compacted_tokens=hard - 3_000, hard_tokens=hard
    )
    home = Home(Talker(*mixed), phone, memory=memory)
    end = await home.to_end()
    assert end.state is TaskState.COMPLETED, end.reason
    figures = [c.call.figures for c in home.record.of(ModelCalled) if c.call.figures is not None]
    assert len(figures) == 41 and any(f.compacted for f in figures)
    assert max(f.estimated for f in figures) <= hard
