"""Zone T: what it says only when it applies."""

from __future__ import annotations

from dataclasses import replace

from app.domain.actions import Point, Swipe, Verdict
from app.domain.memory import BackgroundState
from app.domain.messages import ModelRequest, Role, user
from app.domain.plans import Milestone, MilestoneState, Plan
from app.domain.tasks import Recovery
from app.llm.offline.prompt import read_prompt
from app.memory.markers import in_trouble, unsettled
from app.memory.tail import LEAN, TailFacts, tail_text
from app.memory.tokens import count_text
from tests.unit.memory.steps import step, tail, transcript

RECOVERED = (Recovery(trigger="error", diagnosis="a dialog", verdict=Verdict.EXECUTED),)


def text(facts: TailFacts) -> str:
    return tail_text(facts, 500)[0]


def test_a_quiet_turn_says_nothing_of_what_is_not() -> None:
    told = text(tail(7))
    assert "open:" not in told
    assert "background:" not in told
    assert "412x915 portrait, x,y 0-1000" in told


def test_background_work_is_counted() -> None:
    state = BackgroundState(summaries=2, chunks=1, halted=("summaries",))
    told = text(replace(tail(7), background=state.line()))
    assert "\nbackground: 2 summaries pending, 1 chunk pending, summaries halted\n" in told
    assert BackgroundState().line() == ""
    assert BackgroundState(summaries=1).line() == "", "one step behind is the rule"


def test_uncertain_steps_stay_open_until_they_are_done_after_all() -> None:
    steps = [step(1, verdict=Verdict.UNCERTAIN), step(2)]
    assert unsettled(steps) == ("step 1 is uncertain, look before repeating it",)
    done = step(3).model_copy(update={"action_text": steps[0].action_text})
    assert unsettled([*steps, done]) == ()
    assert unsettled([steps[0], *(step(n) for n in range(2, 30))]) == ()


def test_a_recovery_under_way_is_told() -> None:
    recovered = step(2).model_copy(update={"recoveries": RECOVERED})
    assert unsettled([recovered]) == ("recovery under way since step 2: it moved the screen",)
    tried = (RECOVERED[0].model_copy(update={"verdict": Verdict.NO_VISIBLE_CHANGE}),)
    still = step(2).model_copy(update={"recoveries": tried})
    assert unsettled([still])[0].endswith("it changed nothing yet")
    assert unsettled([recovered, step(3)]) == ()


def test_two_turns_stay_while_something_is_unfinished() -> None:
    swipe = Swipe(start=Point(x=500, y=750), end=Point(x=500, y=250))
    searching = step(1).model_copy(update={"action": swipe})
    assert not in_trouble([])
    assert not in_trouble([step(1), step(2)])
    assert not in_trouble([step(1), searching])
    assert in_trouble([searching, searching])
    assert in_trouble([step(1), step(2, verdict=Verdict.UNCERTAIN)])
    assert in_trouble([step(1).model_copy(update={"recoveries": RECOVERED})])


def test_progress_of_a_loop_elsewhere_in_the_plan_stays_in_view() -> None:
    milestones = [Milestone(number=n, text=f"Milestone {n}") for n in range(1, 13)]
    milestones[0] = Milestone(
        number=1, text="Every candidate", state=MilestoneState.LOOP, progress="7 of 9 seen"
    )
    milestones[8] = milestones[8].model_copy(update={"state": MilestoneState.ACTIVE})
    told = text(replace(tail(7), plan=Plan(revision=2, milestones=tuple(milestones))))
    assert "- [Loop] 1. Every candidate (7 of 9 seen)\n" in told
    assert "- [/] 9. Milestone 9\n" in told
    assert "Milestone 2" not in told
    request = ModelRequest(role=Role.OPERATOR, system="", messages=(user(told),))
    plan = read_prompt(request).plan
    assert plan is not None and plan.active is not None
    assert plan.active.number == 9


def test_a_short_tail_keeps_the_active_milestone_and_the_screen() -> None:
    milestones = tuple(Milestone(number=n, text=f"Milestone {n} " * 60) for n in range(1, 40))
    facts = replace(
        tail(7), plan=Plan(revision=2, milestones=milestones), remarks=("remark " * 300,) * 9
    )
    told = tail_text(facts, 500, LEAN)[0]
    assert count_text(told) < 400
    assert "- [ ] 1. Milestone 1 " in told
    assert '## Screen\npage "Screen 7"' in told


def test_unresolved_points_of_folded_chunks_are_counted() -> None:
    held = transcript()
    held.frozen = replace(held.frozen, owed=3)
    prompt = held.build(tail(5), element_tokens=500, trouble=False)
    assert "\nopen: 3 unresolved points\n" in prompt.messages[-1].text
