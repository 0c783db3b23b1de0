"""What people asked for reaches a task once, also when its first process died."""

from typing import Literal

import pytest

from app.agent.control import Control, Injected
from app.domain.events import ControlRequested

Name = Literal["pause", "resume", "cancel", "inject", "answer", "approve", "deny", "look"]


def asked(control: Name, receipt: str = "r1", text: str = "") -> ControlRequested:
    return ControlRequested(receipt_id=receipt, control=control, text=text)


def test_an_instruction_is_heard_after_a_restart() -> None:
    control = Control()
    assert control.ask_again(asked("inject", text="use the blue one"))
    assert control.take_instructions() == (Injected("r1", "use the blue one"),)


def test_a_request_that_is_told_twice_is_taken_once() -> None:
    control = Control()
    control.ask_again(asked("inject", text="once"))
    control.inject("r1", "once")
    control.look("r2")
    control.ask_again(asked("look", "r2"))
    assert len(control.take_instructions()) == 1
    assert control.take_receipts("look") == ("r2",)


@pytest.mark.parametrize("after", [True, False])
def test_pause_and_resume_come_in_their_order(after: bool) -> None:
    control = Control()
    names: list[Name] = ["resume", "pause"] if after else ["pause", "resume"]
    for name in names:
        control.ask_again(asked(name, name))
    assert control.paused is after
    assert control.take_receipts("pause") == ("pause",)
    assert control.take_receipts("resume") == ("resume",)


def test_a_cancel_stays_one() -> None:
    control = Control()
    assert control.ask_again(asked("cancel"))
    assert control.cancelled.is_set()
    assert control.take_receipts("cancel") == ("r1",)


@pytest.mark.parametrize("name", ["answer", "approve", "deny"])
def test_an_answer_to_a_question_of_a_dead_process_is_too_late(name: Name) -> None:
    control = Control()
    assert not control.ask_again(asked(name, text="yes"))
    assert control.take_replies() == ()
