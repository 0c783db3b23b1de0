"""Which trigger a recall had, as recorded with it."""

from __future__ import annotations

from typing import Any

import pytest

from app.agent.prompts import load
from app.agent.tools import triggers
from app.agent.tools.in_turn import serve
from app.domain.actions import Verdict
from app.domain.events import ToolServed
from app.domain.memory import BackgroundState
from app.domain.messages import Call, user
from app.domain.plans import Milestone, Plan
from app.domain.tasks import Instruction, Recovery
from tests.unit.agent.home import Home
from tests.unit.memory.steps import step


def home(number: int = 12) -> Home:
    """A task of some steps that all worked, each on another screen."""
    made = Home(goal="Write down the amount of every order.")
    made.run.recent.extend(step(n) for n in range(1, number))
    made.run.step_number = number
    made.in_turn()
    return made


async def held(made: Home, **args: Any) -> str:
    await serve(made.run, Call(name="recall_history", args=args or {"query": "zebra crossing"}))
    await made.run.write()
    return str(made.record.of(ToolServed)[-1].trigger)


async def test_a_recall_without_a_trigger_says_so() -> None:
    assert await held(home()) == ""


async def test_a_screen_seen_before() -> None:
    made = home()
    made.run.current_turn().hint = "The screen closely resembles the one of step 3."
    assert await held(made) == triggers.SIMILAR


async def test_a_recovery_and_two_steps_without_progress() -> None:
    made = home()
    made.run.recent.append(step(11, verdict=Verdict.NO_VISIBLE_CHANGE))
    assert await held(made) == ""
    made.run.recent.append(step(12, verdict=Verdict.ERROR))
    assert await held(made) == triggers.NO_PROGRESS
    recovered = step(13).model_copy(
        update={"recoveries": (Recovery(trigger="error", diagnosis="a dialog"),)}
    )
    made.run.recent.append(recovered)
    assert await held(made) == triggers.RECOVERY


async def test_the_same_action_on_the_same_screen_twice() -> None:
    made = home()
    here = made.run.current_turn().observation
    again = step(11).model_copy(update={"observation": here})
    made.run.recent.append(again)
    assert await held(made) == ""
    made.run.recent.append(again.model_copy(update={"step_number": 12}))
    assert await held(made) == triggers.REPEATED


async def test_a_person_points_back() -> None:
    made = home()
    said = made.run.transcript.kept.instructions
    said.append(Instruction(number=1, text="As before, please.", step_number=10))
    assert await held(made) == ""
    said.append(Instruction(number=2, text="As before, please.", step_number=11))
    assert await held(made) == triggers.PERSON


async def test_a_summary_that_contradicts_the_validator() -> None:
    made = home()
    made.run.background_state = lambda: BackgroundState(conflicts=(9,))
    assert await held(made) == triggers.CONFLICT


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"query": "amount of order 7"}, triggers.OLD_VALUE),
        ({"query": "Telephone of Anna"}, triggers.OLD_VALUE),
        ({"query": "pin"}, triggers.OLD_VALUE),
        ({"step_range": [1, 3]}, triggers.OLD_VALUE),
        ({"query": "what was it", "step_range": [11, 11]}, ""),
        ({"query": "shown already"}, ""),
        ({"query": "!?"}, ""),
    ],
)
async def test_an_old_value_is_needed_where_the_task_names_it(
    args: dict[str, Any], expected: str
) -> None:
    made = home()
    for n in range(10, 12):
        made.run.transcript.add(step(n))
    made.run.plan = Plan(revision=1, milestones=(Milestone(number=1, text="Telephone known"),))
    made.run.transcript.kept.remember({"pin": "1234", "shown already": "1"}, 3)
    made.run.current_turn().prompt = (user('# KEPT\n- shown already = "1" (step 3)'),)
    assert await held(made, **args) == expected


async def test_nothing_is_old_in_the_first_step() -> None:
    assert await held(home(1), query="amount of order 7") == ""


async def test_a_recall_that_cannot_be_read_has_no_trigger() -> None:
    made = home()
    made.run.current_turn().hint = "The screen closely resembles the one of step 3."
    assert await held(made, query="x", max_results=99) == ""


def test_the_rules_name_every_trigger() -> None:
    rules = load("operator")
    [line] = [line for line in rules.splitlines() if "`recall_history` only when" in line]
    for words in (
        "the screen resembles an older one",
        "an old exact value",
        "two steps brought no progress",
        "the same action a third time",
        "a summary says",
        "the person points back",
        "a recovery needs review",
        "Not otherwise",
    ):
        assert words in line
