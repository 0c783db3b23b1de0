"""Beliefs about the phone: observed beats launched, nothing freezes, unknown stays unknown."""

from app.domain.actions import Back, LaunchApp, TerminateApp, Verdict
from app.domain.memory import WorldState
from app.world.model import HISTORY, MAX_VALUE, WorldModel
from tests.unit.agent.home import observation


def test_a_launch_is_believed_until_something_is_seen() -> None:
    world = WorldModel()
    assert world.state == WorldState()
    world.observe(1, None, LaunchApp(app="Shop"), Verdict.EXECUTED)
    assert world.state.current_app == "Shop"
    seen = observation(package="com.bank", activity=".Login")
    world.observe(2, seen, LaunchApp(app="Shop"), Verdict.EXECUTED)
    assert (world.state.current_app, world.state.current_page) == ("com.bank", ".Login")


def test_a_launch_that_failed_or_is_unknown_is_not_believed() -> None:
    world = WorldModel()
    for verdict in (Verdict.ERROR, Verdict.UNCERTAIN, Verdict.BLOCKED, Verdict.NO_VISIBLE_CHANGE):
        world.observe(1, None, LaunchApp(app="Shop"), verdict)
    assert world.state.current_app is None
    assert [e.success for e in world.state.history] == [False, None, False, False]


def test_a_terminated_app_is_no_longer_in_front() -> None:
    world = WorldModel(WorldState(current_app="Shop"))
    world.observe(1, None, TerminateApp(app="Bank"), Verdict.EXECUTED)
    assert world.state.current_app == "Shop"
    world.observe(2, None, TerminateApp(app="Shop"), Verdict.EXECUTED)
    assert world.state.current_app is None


def test_the_page_follows_what_is_seen_and_stays_where_nothing_is() -> None:
    world = WorldModel()
    world.observe(
        1, observation(title="Cart", url="http://shop/cart?x=1"), Back(), Verdict.EXECUTED
    )
    assert (world.state.current_app, world.state.current_page) == ("http://shop/cart", "Cart")
    world.observe(2, None, Back(), Verdict.UNCERTAIN)
    world.observe(3, observation(), None, Verdict.BLOCKED)
    assert world.state.current_page == "Cart"
    world.observe(4, observation(title="Pay"), Back(), Verdict.EXECUTED, semantic_page="Checkout")
    assert world.state.current_page == "Checkout"
    assert [e.action for e in world.state.history] == ["back", "back", "none", "back"]


def test_history_and_values_are_bounded_and_states_are_frozen_in_time() -> None:
    world = WorldModel()
    before = world.state
    for number in range(30):
        world.observe(number, None, Back(), Verdict.EXECUTED)
    world.remember({"a": "1", "long": "x" * 9_000})
    world.remember({"a": "2"})
    state = world.state
    assert [e.step_number for e in state.history] == list(range(30 - HISTORY, 30))
    assert state.variables["a"] == "2" and len(state.variables["long"]) == MAX_VALUE
    assert before == WorldState()
    again = WorldModel(state)
    assert again.state == state
