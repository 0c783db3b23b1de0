"""Plans: ticks, rewrites, checks."""

from typing import Any

import pytest

from app.agent import planning
from app.domain.messages import Role
from app.domain.plans import Check, Milestone, MilestoneState
from app.errors import ModelUnauthorized, ModelUnavailable
from tests.unit.agent.home import Home, Talker, call, element, observation, plan_of, says

OPEN, ACTIVE, DONE = MilestoneState.OPEN, MilestoneState.ACTIVE, MilestoneState.DONE


def home_with(*states: MilestoneState) -> Home:
    home = Home()
    home.in_turn()
    planning.revise(
        home.run,
        tuple(Milestone(number=i, text=f"M{i}", state=s) for i, s in enumerate(states, 1)),
        "first",
    )
    return home


@pytest.mark.parametrize(
    ("before", "args", "after"),
    [
        ((ACTIVE, OPEN), {"done": [1]}, (DONE, OPEN)),
        ((ACTIVE, OPEN), {"done": [1], "active": 2}, (DONE, ACTIVE)),
        ((ACTIVE, OPEN), {"active": 2}, (OPEN, ACTIVE)),
        ((DONE, OPEN), {"active": 1}, (ACTIVE, OPEN)),
        ((MilestoneState.LOOP, OPEN), {"active": 1}, (MilestoneState.LOOP, OPEN)),
        ((MilestoneState.LOOP,), {"done": [1]}, (DONE,)),
        ((ACTIVE, OPEN), {"done": [1, 2]}, (DONE, DONE)),
    ],
)
async def test_ticks(before: Any, args: dict[str, Any], after: Any) -> None:
    home = home_with(*before)
    await planning.update(home.run, args)
    assert home.run.plan is not None
    assert tuple(m.state for m in home.run.plan.milestones) == after
    assert home.run.plan.revision == (1 if before == after else 2)
    assert not home.talker.requests, "a tick asks nobody"


async def test_progress_belongs_to_the_named_or_the_active_milestone() -> None:
    home = home_with(DONE, ACTIVE, OPEN)
    await planning.update(home.run, {"progress": "3 of 7"})
    await planning.update(home.run, {"active": 3, "progress": "begun"})
    assert home.run.plan is not None
    assert [m.progress for m in home.run.plan.milestones] == ["", "3 of 7", "begun"]


@pytest.mark.parametrize(
    ("args", "told"),
    [({"done": [3]}, "there is no milestone 3"), ({}, "say which"), ({"active": 0}, "milestone 0")],
)
async def test_what_cannot_be_ticked_is_said(args: dict[str, Any], told: str) -> None:
    home = home_with(ACTIVE, OPEN)
    with pytest.raises(planning.PlanRefused, match=told):
        await planning.update(home.run, args)


async def test_a_request_goes_to_the_planner_after_the_ticks() -> None:
    home = home_with(ACTIVE, OPEN)
    home.talker.others[Role.PLANNER].clear()
    home.talker.others[Role.PLANNER].append(plan_of("A", "B", "C"))
    told = await planning.update(home.run, {"done": [1], "request": "split it"})
    [request] = home.talker.asked(Role.PLANNER)
    asked = request.messages[0].text
    assert "- [x] 1. M1" in asked and "# REQUEST\nsplit it" in asked and "# GOAL\nBuy" in asked
    assert home.run.plan is not None and home.run.plan.revision == 3
    assert told.count("- [ ]") == 3


async def test_a_plan_that_does_not_fit_is_asked_for_once_more() -> None:
    home = Home(Talker(plan=says('{"milestones": []}')))
    home.talker.others[Role.PLANNER].append(plan_of("Buy it", state="loop_continuous"))
    await home.to_end()
    first, second = home.talker.asked(Role.PLANNER)
    assert "# CORRECTION" not in first.messages[0].text
    assert "# CORRECTION" in second.messages[0].plain()


async def test_without_a_planner_the_goal_is_the_plan() -> None:
    home = Home(Talker(call("update_plan", done=[1])))
    home.talker.others[Role.PLANNER].clear()
    home.talker.others[Role.PLANNER].append(ModelUnavailable("down"))  # type: ignore[arg-type]
    assert (await home.to_end()).answer == "bought"
    assert home.run.plan is not None and home.run.plan.milestones[0].text == "Buy the thing."


async def test_a_refused_key_ends_the_task_at_once() -> None:
    home = Home()
    home.talker.others[Role.PLANNER].clear()
    home.talker.others[Role.PLANNER].append(ModelUnauthorized("401", hint="Check the key."))  # type: ignore[arg-type]
    end = await home.to_end()
    assert (end.code, end.reason) == ("model_unauthorized", "401. Check the key.")
    assert not home.talker.asked(Role.OPERATOR)


def test_checks_close_in_their_order_and_only_once_their_milestone_is_reached() -> None:
    home = home_with(DONE, ACTIVE, OPEN)
    home.run.checks = (
        Check(number=1, text="ORDER\nplaced", milestone=2),
        Check(number=2, text="later", milestone=3),
        Check(number=3, text="Next"),
    )
    seen = observation(element(0, "Next"), element(1, "Order  placed"), element(2, "later"))
    planning.close_checks(home.run, seen)
    assert [c.closed_by_step for c in home.run.checks] == [1, None, None]


def test_a_hidden_element_closes_no_check() -> None:
    home = home_with(ACTIVE)
    home.run.checks = (Check(number=1, text="Paid"),)
    planning.close_checks(home.run, observation(element(0, "Paid", visible=False)))
    assert home.run.checks[0].closed_by_step is None
