"""Whole turns in memory: sessions, recoveries, loops, limits, controls, ends."""

import asyncio
import json
from collections import deque
from typing import Any

import pytest

from app.domain.actions import Outcome, Receipt, Verdict
from app.domain.config import AgentConfig
from app.domain.events import (
    ControlApplied,
    LoopNoticed,
    ModelCalled,
    SessionLostEvent,
    SessionOpened,
    StepFinished,
    ToolServed,
)
from app.domain.messages import Finish, ModelReply, ModelRequest, Role
from app.domain.screens import DeviceView
from app.domain.tasks import StepState, TaskState
from app.errors import DeviceUnreachable, SessionLost
from tests.unit.agent.home import Home, Phone, Talker, call, says

ERROR = Receipt(outcome=Outcome.ERROR, code="device_error", message="the button is gone")
UNKNOWN = Receipt(outcome=Outcome.UNKNOWN, code="device_timeout", message="no answer")


def taps(count: int) -> list[ModelReply]:
    return [call("tap", element=0) for _ in range(count)]


def diagnosis(recovery: str, **more: Any) -> ModelReply:
    return says(json.dumps({"diagnosis": "a dialog covers it", "recovery": recovery, **more}))


async def test_losses_far_apart_do_not_add_up() -> None:
    phone = Phone()
    good = Receipt(outcome=Outcome.OK)
    for _ in range(5):
        phone.receipts.extend([SessionLost("gone"), good])
    home = Home(Talker(*taps(10)), phone)
    end = await home.to_end()
    assert end.state is TaskState.COMPLETED, end.reason
    assert len(home.record.of(SessionLostEvent)) == 5
    assert [o.again for o in home.record.of(SessionOpened)] == [False] + [True] * 5


async def test_losses_in_a_row_end_the_task() -> None:
    phone = Phone()
    phone.views.extend([SessionLost("gone")] * 9)
    home = Home(Talker(*taps(3)), phone)
    end = await home.to_end()
    assert (end.code, phone.opened, home.record.steps) == ("session_lost", 3, 0)


async def test_a_device_that_cannot_be_opened_says_what_to_do() -> None:
    phone = Phone()
    phone.opens.append(DeviceUnreachable("No answer.", hint="Start it."))
    end = await Home(phone=phone).to_end()
    assert (end.code, end.reason) == ("device_unreachable", "No answer. Start it.")


async def test_an_unknown_outcome_is_uncertain_and_not_repeated() -> None:
    phone = Phone(moves=False)
    phone.receipts.append(UNKNOWN)
    home = Home(Talker(*taps(1)), phone)
    await home.to_end()
    first = home.record.of(StepFinished)[0]
    assert (first.verdict, first.state) == (Verdict.UNCERTAIN, StepState.DONE)
    assert len(phone.performed) == 1


async def test_recoveries_are_bounded_and_recorded() -> None:
    phone = Phone(moves=False)
    phone.receipts.append(ERROR)
    talker = Talker(*taps(1))
    talker.others[Role.ANALYZER] = deque([diagnosis("back")] * 9)
    home = Home(talker, phone)
    await home.to_end()
    first = home.record.of(StepFinished)[0]
    assert [r.action.type for r in first.recoveries] == ["back"] * 3
    assert first.verdict is Verdict.ERROR and len(phone.performed) == 4


@pytest.mark.parametrize(
    ("found", "performed"),
    [
        (diagnosis("other_locator", element=2), []),
        (diagnosis("dismiss", element=1), ["tap"]),
        (diagnosis("dismiss"), []),
        (diagnosis("scroll_into_view", text=" "), []),
        (diagnosis("scroll_into_view", text="Next"), []),
        (diagnosis("none"), []),
        (diagnosis("other_locator", element=99), []),
    ],
)
async def test_a_recovery_never_has_an_outside_effect(
    found: ModelReply, performed: list[str]
) -> None:
    phone = Phone(moves=False)
    phone.receipts.append(ERROR)
    talker = Talker(*taps(1))
    talker.others[Role.ANALYZER] = deque([found])
    home = Home(talker, phone, agent=AgentConfig(max_recoveries=1, keep_alive=0.01))
    await home.to_end()
    assert [a.type for a in phone.performed[1:]] == performed


async def test_a_session_lost_over_a_recovery_keeps_the_recovery() -> None:
    phone = Phone()
    phone.receipts.extend([ERROR, SessionLost("gone")])
    talker = Talker(*taps(1))
    talker.others[Role.ANALYZER] = deque([diagnosis("back")])
    home = Home(talker, phone)
    end = await home.to_end()
    assert end.state is TaskState.COMPLETED
    [recovery] = home.record.of(StepFinished)[0].recoveries
    assert recovery.verdict is Verdict.UNCERTAIN and recovery.receipt.outcome is Outcome.UNKNOWN


async def test_a_cancel_while_the_analyzer_thinks_finishes_the_step_first() -> None:
    phone = Phone()
    phone.receipts.append(ERROR)

    class Slow(Talker):
        async def generate(self, request: ModelRequest) -> ModelReply:
            if request.role is Role.ANALYZER:
                home.control.cancel("c1")
                await asyncio.Event().wait()
            return await super().generate(request)

    home = Home(Slow(*taps(1)), phone)
    end = await home.to_end()
    assert end.state is TaskState.CANCELLED
    [finished] = home.record.of(StepFinished)
    assert (finished.verdict, finished.receipt.message) == (Verdict.ERROR, ERROR.message)
    assert home.record.of(ModelCalled)[-1].call.outcome == "cancelled"
    [applied] = home.record.of(ControlApplied)
    assert (applied.receipt_id, applied.applied) == ("c1", True)


async def test_a_cancel_between_decision_and_action_leaves_the_device_alone() -> None:
    home = Home(Talker(*taps(3)))
    record = home.record.record

    async def cancelling(*events: Any, index: Any = ()) -> None:
        await record(*events, index=index)
        if any(e.type == "step_decided" for e in events):
            home.control.cancel("c1")

    home.record.record = cancelling  # type: ignore[method-assign]
    end = await home.to_end()
    assert end.state is TaskState.CANCELLED and not home.phone.performed
    [finished] = home.record.of(StepFinished)
    assert (finished.state, finished.verdict) == (StepState.BLOCKED, Verdict.BLOCKED)


async def test_every_receipt_gets_its_answer() -> None:
    home = Home(Talker(*taps(2)))
    control = home.control
    control.pause("p1")
    control.resume("r1")
    control.look("l1")
    control.inject("i1", "take the blue one")

    class Late(Talker):
        async def generate(self, request: ModelRequest) -> ModelReply:
            if request.role is Role.OUTPUTTER:
                control.pause("p2")
                control.cancel("c1")
                control.cancel("c2")
                control.inject("i2", "too late")
                await asyncio.sleep(0.01)
            return await super().generate(request)

    late = Late(*taps(2))
    home.run.ports = home.run.ports._replace(model=late)
    end = await home.to_end()
    applied = {a.receipt_id: a.applied for a in home.record.of(ControlApplied)}
    on_time = dict.fromkeys(("p1", "r1", "l1", "i1"), True)
    cancelled = end.state is TaskState.CANCELLED
    assert applied == on_time | {"p2": False, "i2": False, "c1": cancelled, "c2": cancelled}


async def test_a_loop_is_noticed_once_per_window_and_said_to_the_model() -> None:
    acts = [call("tap", element=n % 2) for n in range(17)]
    home = Home(Talker(*acts), Phone(moves=False))
    await home.to_end()
    assert [n.step_number for n in home.record.of(LoopNoticed)] == [9, 17]
    assert "You are going round in a circle" in home.talker.prompt(8)
    assert "circle" not in home.talker.prompt(9).rpartition("# NOW")[2]


async def test_steps_that_lead_somewhere_are_no_loop() -> None:
    home = Home(Talker(*taps(20)))
    await home.to_end()
    assert not home.record.of(LoopNoticed)


async def test_unknown_functions_without_end_are_bounded() -> None:
    home = Home(Talker(*[call("fly", n=n) for n in range(99)]))
    end = await home.to_end()
    assert end.code == "no_decision" and len(home.talker.asked(Role.OPERATOR)) == 25
    served = home.record.of(ToolServed)
    assert {s.name for s in served} == {"fly"}
    assert home.talker.asked(Role.OPERATOR)[-1].allowed_tools is not None


async def test_unusable_answers_count_only_in_a_row() -> None:
    bad = says("hm")
    home = Home(Talker(bad, bad, bad, *taps(1), bad, bad, bad, *taps(1)))
    assert (await home.to_end()).state is TaskState.COMPLETED
    worse = Home(Talker(*[bad] * 4))
    assert (await worse.to_end()).code == "no_usable_answer"


async def test_a_cut_answer_is_asked_for_with_more_room() -> None:
    home = Home(Talker(says("I wou", Finish.LENGTH), *taps(1)))
    await home.to_end()
    first, second, third, *_ = home.talker.asked(Role.OPERATOR)
    assert "max_output_tokens" not in first.model_fields_set
    assert second.max_output_tokens > first.max_output_tokens
    assert "max_output_tokens" not in third.model_fields_set


async def test_a_remark_survives_an_answer_that_was_blocked() -> None:
    phone = Phone()
    phone.receipts.append(SessionLost("gone"))
    home = Home(Talker(*taps(1), says("", Finish.SAFETY)), phone)
    await home.to_end()
    for number in (1, 2):
        assert "opened anew; look where you are" in home.talker.prompt(number)


@pytest.mark.parametrize(
    ("limits", "code", "steps"),
    [
        ({"steps": 3}, "limit_steps", 3),
        ({"seconds": 100}, "limit_seconds", 2),
        ({"tokens": 400}, "limit_tokens", 3),
    ],
)
async def test_limits_end_a_task(limits: dict[str, Any], code: str, steps: int) -> None:
    acts = [call("wait", seconds=60) for _ in range(9)]
    home = Home(Talker(*acts), limits=limits)
    end = await home.to_end()
    assert (end.state, end.code, home.record.steps) == (TaskState.FAILED, code, steps)


async def test_a_pause_does_not_count_as_time_and_keeps_the_session_alive() -> None:
    home = Home(Talker(*taps(1)), limits={"seconds": 50})
    home.control.pause("p1")
    running = asyncio.create_task(home.to_end())
    async with asyncio.timeout(5):
        while home.record.state is not TaskState.PAUSED or not home.phone.kept_alive:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    home.clock.seconds += 1_000
    home.control.resume("r1")
    assert (await running).state is TaskState.COMPLETED


async def test_three_writes_a_step() -> None:
    one, five = Home(Talker(*taps(1))), Home(Talker(*taps(5)))
    await one.to_end()
    await five.to_end()
    assert five.record.writes - one.record.writes == 4 * 3


async def test_a_view_without_anything_is_uncertain() -> None:
    phone = Phone()
    nothing = DeviceView.model_validate(phone.view(source=None).model_dump())
    phone.views.append(phone.view())
    phone.views.extend([nothing] * 3)
    home = Home(Talker(*taps(1)), phone)
    await home.to_end()
    assert home.record.of(StepFinished)[0].verdict_reason == "nothing could be seen after it"
