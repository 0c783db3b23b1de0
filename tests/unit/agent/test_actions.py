"""Reading a model's call as an action on the present screen."""

from typing import Any

import pytest

from app.agent.tools.actions import Unreadable, read_action
from app.agent.tools.declarations import ACTION_NAMES, declare
from app.agent.tools.in_turn import IN_TURN_NAMES
from app.domain.actions import LabelSource, describe
from app.domain.messages import Call
from app.domain.screens import Bounds
from tests.unit.agent.home import element, observation

GOOD: dict[str, tuple[dict[str, Any], str]] = {
    "tap": ({"element": 1}, "tap [Page 0]"),
    "long_press": ({"x": 500, "y": 20, "seconds": 2}, "long press [Next]"),
    "double_tap": ({"element": 0.0}, "double tap [Next]"),
    "input_text": (
        {"text": "Ann", "element": 0, "mode": "append", "submit": True},
        "append text “Ann” into [Next] and submit",
    ),
    "clear_text": ({}, "clear the focused field"),
    "swipe": ({"direction": "up"}, "swipe (500, 750) → (500, 250)"),
    "scroll_to": ({"text": "Settings"}, "scroll to “Settings”"),
    "drag": ({"element": 0, "to_x": 500, "to_y": 1000}, "drag [Next] to [(500, 1000)]"),
    "press_key": ({"key": "enter"}, "press enter"),
    "back": ({}, "back"),
    "home": ({"why": "lost"}, "home"),
    "launch_app": ({"app": "Shop"}, "launch Shop"),
    "terminate_app": ({"app": "Shop"}, "terminate Shop"),
    "open_url": ({"url": "https://a.example"}, "open https://a.example"),
    "hide_keyboard": ({}, "hide the keyboard"),
    "set_orientation": ({"orientation": "landscape"}, "rotate to landscape"),
    "accept_alert": ({"text": "yes"}, "accept the alert with “yes”"),
    "dismiss_alert": ({}, "dismiss the alert"),
    "wait": ({"seconds": 2.5}, "wait 2.5 s"),
    "finish": ({"answer": "42"}, "finish: “42”"),
    "give_up": ({"reason": "closed"}, "give up: “closed”"),
}
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("tap", {}, "a target is an element index, or x and y"),
    ("tap", {"element": 290}, "element 290 is not on this screen"),
    ("tap", {"element": -1}, "element -1 is not on this screen"),
    ("tap", {"element": "first"}, "element: Input should be a valid integer"),
    ("tap", {"x": 500}, "a target is an element index"),
    ("tap", {"x": 1001, "y": 5}, "x: Input should be less than or equal to 1000"),
    ("tap", {"x": 5, "y": -0.5}, "y: Input should be greater than or equal to 0"),
    ("tap", {"x": float("nan"), "y": 5}, "x: Input should be"),
    ("tap", {"x": [0, 500, 1080, 1920], "y": 1}, "x: Input should be a valid number"),
    ("long_press", {"element": 0, "seconds": 99}, "seconds: Input should be less than"),
    ("input_text", {"element": 0}, "text: Field required"),
    ("input_text", {"text": "a" * 10_001}, "text: String should have at most 10000"),
    ("input_text", {"text": "a", "mode": "insert"}, "mode: Input should be 'replace'"),
    ("swipe", {"x": 1, "y": 2, "x2": 3}, "swipe needs a direction"),
    ("swipe", {"direction": "sideways"}, "direction: Input should be 'up'"),
    ("drag", {"element": 0}, "a target is an element index"),
    ("drag", {"element": 0, "to_element": 7}, "element 7 is not on this screen"),
    ("scroll_to", {"text": ""}, "text: String should have at least 1"),
    ("press_key", {}, "key: Field required"),
    ("launch_app", {"app": ["Shop"]}, "app: Input should be a valid string"),
    ("open_url", {"url": "x" * 2_001}, "url: String should have at most 2000"),
    ("set_orientation", {"orientation": "upside"}, "orientation: Input should be 'portrait'"),
    ("wait", {"seconds": 61}, "seconds: Input should be less than or equal to 60"),
    ("wait", {"seconds": 0}, "seconds: Input should be greater than 0"),
    ("finish", {}, "answer: Field required"),
    ("give_up", {"reason": ""}, "reason: String should have at least 1"),
    ("fly", {}, "there is no action 'fly'"),
]


@pytest.mark.parametrize("name", ACTION_NAMES)
def test_every_declared_action_is_read(name: str) -> None:
    args, told = GOOD[name]
    assert describe(read_action(Call(name=name, args=args), observation())) == told


@pytest.mark.parametrize(("name", "args", "told"), BAD)
def test_wrong_arguments_are_refused_with_the_reason(
    name: str, args: dict[str, Any], told: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        read_action(Call(name=name, args=args), observation())
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


def test_arguments_that_could_not_be_read_are_named() -> None:
    broken = Call(name="tap", problem="the arguments are not an object: list")
    with pytest.raises(Unreadable, match="could not be read: the arguments are not an object"):
        read_action(broken, observation())


def test_a_point_borrows_the_label_of_the_smallest_element_under_it() -> None:
    action = read_action(Call(name="tap", args={"x": 500, "y": 72.5}), observation())
    target = action.target  # type: ignore[union-attr]
    assert (target.text, target.label_source) == ("Page 0", LabelSource.HIT_TEST)
    assert (target.point.x, target.point.y) == (500, 72.5)


def test_an_element_that_a_finger_would_not_reach_is_refused() -> None:
    below = element(1, "Below").model_copy(
        update={"bounds": Bounds(left=0, top=2_100, right=10, bottom=2_200)}
    )
    seen = observation(element(0, "Behind", visible=False), below)
    for index, why in ((0, "it is not visible"), (1, "off the screen")):
        with pytest.raises(Unreadable, match=f"element {index} cannot be touched: .*{why}"):
            read_action(Call(name="tap", args={"element": index}), seen)


def test_declarations_are_the_same_every_time_and_name_each_function_once() -> None:
    everything = declare(recall=True, shell=True)
    names = [tool.name for tool in everything]
    assert len(names) == len(set(names))
    assert set(names) == {*ACTION_NAMES, *IN_TURN_NAMES}
    assert declare(recall=True, shell=True) == everything
    plain = {tool.name for tool in declare(recall=False, shell=False)}
    assert set(names) - plain == {"recall_history", "shell"}
    for tool in everything:
        assert set(tool.parameters.get("required", ())) <= set(tool.parameters["properties"])
