"""What the Execution check refuses, and when it asks a person."""

import asyncio

import pytest

from app.agent.control import Reply
from app.agent.nodes.execution_check import is_irreversible
from app.domain.actions import Action, DoubleTap, InputText, Point, Swipe, Tap, Target, Verdict
from app.domain.config import AgentConfig, DeviceConfig, Platform
from app.domain.events import ActionRefused, ChecksChanged, QuestionAnswered
from app.domain.screens import Alert
from app.domain.tasks import Ability, StepState, TaskState
from tests.unit.agent.home import ALL, Home, Phone, Talker, call, calls, plan_of

POINT = Point(x=1, y=1)


@pytest.mark.parametrize(
    ("name", "args", "lacking"),
    [
        ("input_text", {"text": "a"}, Ability.TEXT),
        ("clear_text", {}, Ability.TEXT),
        ("press_key", {"key": "enter"}, Ability.KEYS),
        ("back", {}, Ability.BACK),
        ("home", {}, Ability.HOME),
        ("launch_app", {"app": "Shop"}, Ability.APPS),
        ("terminate_app", {"app": "Shop"}, Ability.APPS),
        ("open_url", {"url": "https://a.example"}, Ability.URLS),
        ("hide_keyboard", {}, Ability.KEYBOARD),
        ("set_orientation", {"orientation": "portrait"}, Ability.ORIENTATION),
        ("accept_alert", {}, Ability.ALERTS),
        ("dismiss_alert", {}, Ability.ALERTS),
    ],
)
async def test_an_ability_that_the_device_lacks(name: str, args: dict, lacking: Ability) -> None:
    home = Home(Talker(call(name, **args)), Phone(abilities=ALL - {lacking}))
    await home.to_end()
    [refused] = home.record.of(ActionRefused)
    assert refused.reason == f"this device cannot do {name} ({lacking.value})"
    assert not home.phone.performed
    able = Home(Talker(call(name, **args)))
    await able.to_end()
    assert [a.type for a in able.phone.performed] == [name]


async def test_the_third_identical_action_without_change_is_refused() -> None:
    home = Home(Talker(*[call("tap", element=0)] * 3), Phone(moves=False))
    await home.to_end()
    [refused] = home.record.of(ActionRefused)
    assert refused.reason == "tap [Next] brought no change 2 times; do something else"
    assert len(home.phone.performed) == 2
    assert "refused: tap [Next] brought no change" in home.talker.prompt(-1)


async def test_other_actions_and_changes_in_between_make_it_none() -> None:
    acts = [call("tap", element=0), call("tap", element=1)] * 2
    home = Home(Talker(*acts), Phone(moves=False))
    await home.to_end()
    assert not home.record.of(ActionRefused)
    moving = Home(Talker(*[call("tap", element=0)] * 5))
    await moving.to_end()
    assert len(moving.phone.performed) == 5


async def test_an_open_alert_comes_first() -> None:
    phone = Phone()
    alert = phone.view(alert=Alert(text="Allow?"))
    phone.views.extend([alert] * 2)
    home = Home(Talker(call("tap", element=0), call("wait", seconds=1)), phone)
    await home.to_end()
    [refused] = home.record.of(ActionRefused)
    assert refused.reason.startswith("an alert is open")


@pytest.mark.parametrize(
    ("platform", "name", "args", "refused"),
    [
        (Platform.ANDROID, "launch_app", {"app": "Shop"}, False),
        (Platform.ANDROID, "launch_app", {"app": "com.bank"}, True),
        (Platform.ANDROID, "open_url", {"url": "https://shop.example/cart"}, False),
        (Platform.ANDROID, "open_url", {"url": "https://bank.example"}, True),
        (Platform.CHROMIUM, "open_url", {"url": "file:///etc/passwd"}, True),
        (Platform.CHROMIUM, "open_url", {"url": "javascript:alert(1)"}, True),
    ],
)
async def test_only_allowed_apps_are_opened(
    platform: Platform, name: str, args: dict, refused: bool
) -> None:
    allowed = ("com.shop", "https://shop.example/")
    device = DeviceConfig(name="phone", platform=platform, allowed_apps=allowed)
    home = Home(Talker(call(name, **args)), device=device)
    await home.to_end()
    assert bool(home.record.of(ActionRefused)) is refused
    assert bool(home.phone.performed) is not refused


async def test_the_third_refusal_of_a_turn_writes_a_blocked_step() -> None:
    home = Home(Talker(*[call("tap", element=290)] * 3))
    await home.to_end()
    assert [r.refusal for r in home.record.of(ActionRefused)] == [1, 2, 3]
    [first, _] = home.run.recent
    assert (first.state, first.verdict) == (StepState.BLOCKED, Verdict.BLOCKED)
    assert first.action is None and first.action_text == "tap (not performed)"


async def test_the_third_refused_finish_ends_the_task_with_the_open_list() -> None:
    plan = plan_of("Order", "Pay", checks=["Order placed"])
    home = Home(Talker(*[call("finish", answer="ok")] * 9, plan=plan))
    end = await home.to_end()
    assert (end.state, end.code) == (TaskState.FAILED, "finish_refused")
    assert end.reason == (
        "finish was refused 3 times; still open: "
        "milestone 1 “Order”; milestone 2 “Pay”; check “Order placed”"
    )
    assert home.run.recent[-1].state is StepState.BLOCKED
    assert len(home.talker.asked(home.talker.requests[-1].role)) == 3


async def test_finishes_are_counted_over_turns_but_their_number_is_a_setting() -> None:
    acts = [call("finish", answer="1"), call("tap", element=0)] * 2
    rules = AgentConfig(max_finish_refusals=2)
    home = Home(Talker(*acts, plan=plan_of("Order")), agent=rules)
    assert (await home.to_end()).code == "finish_refused"
    assert len(home.phone.performed) == 1


async def test_a_check_closes_when_a_screen_shows_its_text() -> None:
    plan = plan_of("Order", state="loop_continuous", checks=["page  1", "Page 2"])
    acts = [call("finish", answer="no"), call("tap", element=0), call("tap", element=0)]
    home = Home(Talker(*acts, plan=plan))
    end = await home.to_end()
    assert end.state is TaskState.COMPLETED
    closed = home.record.of(ChecksChanged)[-1].checks
    assert [c.closed_by_step for c in closed] == [2, 3]


async def test_a_person_decides_before_an_action_with_an_outside_effect() -> None:
    home = Home(
        Talker(call("tap", element=0), call("tap", element=2), call("tap", element=2)),
        approval="irreversible",
    )
    running = asyncio.create_task(home.to_end())
    for approved, why in ((False, "not yet"), (True, "")):
        question = await asked(home)
        home.control.reply(question, Reply("r", why, approved, "Ann"))
    await running
    assert [a.target.text for a in home.phone.performed] == ["Next", "Send order"]
    assert [q.approved for q in home.record.of(QuestionAnswered)] == [False, True]
    [refused] = home.record.of(ActionRefused)
    assert refused.reason == "a person denied it: not yet"
    sent = home.run.recent[1]
    assert (sent.irreversible, sent.approved_by) == (True, "Ann")


async def asked(home: Home) -> str:
    async with asyncio.timeout(5):
        while home.control.open_question is None:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)
    question_id, kind = home.control.open_question
    assert kind == "approval"
    home.control.open_question = None
    return question_id


@pytest.mark.parametrize(
    ("action", "irreversible"),
    [
        (Tap(target=Target(point=POINT, text="Send order")), True),
        (Tap(target=Target(point=POINT, text="Sender")), False),
        (DoubleTap(target=Target(point=POINT, resource_id="com.shop:id/buyNow")), True),
        (Tap(target=Target(point=POINT, text="Läden")), False),
        (InputText(text="hi", submit=True, target=Target(point=POINT, text="Message")), True),
        (InputText(text="delete", submit=True, target=Target(point=POINT, text="Search")), False),
        (InputText(text="hi", target=Target(point=POINT, text="Message")), False),
        (Swipe(start=POINT, end=POINT), False),
    ],
)
def test_words_of_an_outside_effect(action: Action, irreversible: bool) -> None:
    assert is_irreversible(action) is irreversible


async def test_arguments_are_kept_within_bounds() -> None:
    args = {"element": 290, "why": "x" * 9_000, **{f"k{i}": i for i in range(50)}}
    home = Home(Talker(calls(("tap", args))))
    await home.to_end()
    [refused] = home.record.of(ActionRefused)
    assert len(refused.args) == 20 and len(refused.args["why"]) == 500
