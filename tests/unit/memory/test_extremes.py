"""Inputs that would break a budget: every first call keeps the hard limit, and says how."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from app.agent.prompts import load
from app.agent.tools.declarations import declare
from app.domain.actions import Verdict
from app.domain.config import MemoryConfig
from app.domain.memory import WorldState
from app.domain.messages import Call, Response
from app.domain.plans import Check, Milestone, MilestoneState, Plan
from app.domain.tasks import Instruction
from app.memory.tail import TailFacts
from app.memory.tokens import Counter, count_text
from app.memory.transcript import GOAL_TOKENS, Transcript
from app.memory.zones import Prompt, Stable
from tests.unit.memory.histories import written
from tests.unit.memory.steps import step, tail

ELEMENTS = 1_500
STEPS = 20
GOAL = "很" * 20_000


def crowded(number: int, script: str = "很") -> TailFacts:
    """A tail of which every part is as long as somebody could make it."""
    plain = tail(number)
    seen = plain.observation.model_copy(
        update={
            "title": script * 3_000,
            "url": "http://x/" + "y" * 3_000,
            "package": "p" * 5_000,
            "toasts": (script * 500,) * 9,
            "problems": (script * 500,) * 12,
            "notes": ("n" * 500,) * 12,
        }
    )
    return replace(
        plain,
        observation=seen,
        plan=long_plan(script),
        checks=tuple(Check(number=n, text=script * (900 // len(script))) for n in range(1, 40)),
        note_keys=(script * 100,) * 50,
        world=WorldState(current_app=script * 500, current_page=script * 500),
        hint="h" * 120,
        remarks=("r" * 3_000,) * 9,
    )


@cache
def long_plan(script: str) -> Plan:
    milestones = tuple(
        Milestone(
            number=n,
            text=script * (900 // len(script)),
            state=MilestoneState.ACTIVE if n == 50 else MilestoneState.LOOP,
            progress=script * 300,
        )
        for n in range(1, 101)
    )
    return Plan(revision=99, milestones=milestones)


def prompts(
    *,
    goal: str = "Walk.",
    ratio: float = 1.0,
    said: int = 0,
    script: str = "x",
    values: int = 0,
    look: Any = tail,
    thinking: str = "I think. " * 30,
    result: str = "",
    trouble: bool = False,
    system: str = "",
    **config: Any,
) -> list[Prompt]:
    stable = Stable(system or load("operator"), declare(recall=True, shell=True))
    memory = MemoryConfig(**config)
    held = Transcript(goal=goal, stable=stable, config=memory, counter=Counter(2_064))
    held.counter.resume(ratio)
    for n in range(values):
        held.kept.remember({f"key {n}": script * 500}, 1)
    held.kept.instructions += [
        Instruction(number=n, text=script * 2_000, step_number=1) for n in range(1, said + 1)
    ]
    built = []
    verdict = Verdict.ERROR if trouble else Verdict.EXECUTED
    for number in range(1, STEPS + 1):
        built.append(held.build(look(number), element_tokens=ELEMENTS, trouble=trouble))
        done = step(number, thinking=thinking, tool_result=result, verdict=verdict)
        held.close_chunks(done)
        held.add(done)
        for at in range(max(0, len(held.chunks) - 2), len(held.chunks)):
            if held.chunks[at].capsule is None:
                held.chunks[at] = written(held.chunks[at], Random(at))
    return built


EVERYTHING: dict[str, Any] = {
    "goal": GOAL,
    "said": 60,
    "script": "很",
    "values": 150,
    "look": crowded,
    "thinking": "think " * 6_000,
    "trouble": True,
}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "goal": {"goal": GOAL},
    "instructions": {"said": 60},
    "instructions in Chinese": {"said": 60, "script": "很"},
    "values": {"values": 150},
    "values and instructions": {"values": 150, "said": 60},
    "emoji": {"values": 50, "said": 50, "script": "🏴", "goal": "🏴" * 5_000},
    "a crowded screen": {"look": crowded},
    "a crowded screen in English": {"look": lambda n: crowded(n, "w ")},
    "long thinking": {"thinking": "think " * 6_000},
    "long results": {"result": "z" * 200_000},
    "real use is half": {"ratio": 0.5},
    "real use is half again as much": {"ratio": 1.5},
    "real use is twice as much": {"ratio": 2.0},
    "everything": EVERYTHING,
    "everything, written anew": {**EVERYTHING, "preserve_operator_message_tail": False},
}


@pytest.mark.parametrize("case", CASES)
def test_no_first_call_is_above_the_hard_limit(case: str) -> None:
    built = prompts(**CASES[case])
    sizes = sorted(p.figures.estimated for p in built)
    assert sizes[-1] <= 16_000
    for prompt in built:
        calls = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Call)]
        results = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Response)]
        assert calls == results
        assert prompt.messages[-1].text.startswith("# NOW [Step ")
    if "anew" not in case:
        assert sizes[int(0.95 * len(sizes))] <= 12_000


@pytest.mark.parametrize("ratio", [1.5, 2.0])
def test_with_a_wrong_estimate_even_everything_at_once_fits(ratio: float) -> None:
    for anew in (True, False):
        built = prompts(**EVERYTHING, ratio=ratio, preserve_operator_message_tail=not anew)
        assert max(p.figures.estimated for p in built) <= 16_000
        told = [f.detail for f in built[-1].fallbacks if f.kind == "prompt_excerpt"]
        assert any("what stands around the screen" in detail for detail in told)
    if ratio == 2.0:
        assert "goal" in {d.what for d in built[-1].figures.departures}


def test_large_rules_leave_room_for_the_rest() -> None:
    built = prompts(system="rule " * 3_600, goal="word " * 4_000, said=9)
    assert max(p.figures.estimated for p in built) <= 16_000
    sizes = sorted(p.figures.estimated for p in built)
    assert sizes[int(0.95 * len(sizes))] <= 12_000


def test_a_long_goal_is_told_in_part_and_says_so() -> None:
    frozen = prompts(goal=GOAL)[0].messages[0].text
    assert count_text(frozen) <= GOAL_TOKENS + 30
    assert "(cut; the rest comes back by recall_history with words of the goal)" in frozen


def test_the_last_turn_stays_whole_while_there_is_room_for_it() -> None:
    thinking = "think " * 2_400
    built = prompts(thinking=thinking)
    for prompt in built[1:]:
        said = [m.text for m in prompt.messages if m.role == "model"]
        assert said[-1] == thinking
    assert any(p.compaction is not None for p in built)


def test_one_turn_has_one_compaction() -> None:
    stable = Stable(load("operator"), ())
    held = Transcript(goal=GOAL, stable=stable, config=MemoryConfig(), counter=Counter(2_064))
    held.counter.resume(2.0)
    for number in range(1, 20):
        first = held.build(crowded(number), element_tokens=ELEMENTS, trouble=False)
        again = held.build(crowded(number), element_tokens=ELEMENTS, trouble=False)
        assert again.messages == first.messages
        assert again.compaction is None
        held.add(step(number))
