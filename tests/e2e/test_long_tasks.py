"""Long generated tasks on the demo phone: right answers from the right steps."""

from __future__ import annotations

import json
from random import Random, SystemRandom
from typing import Any

import pytest

from app.domain.tasks import StepRecord, StepState
from tests.e2e.journeys import Guide, Journey, Read, long_journey
from tests.e2e.stack import Server


@pytest.fixture
def rng() -> Random:
    drawn = SystemRandom().randrange(2**31)
    print(f"task drawn with {drawn}")  # noqa: T201 (shown on failure)
    return Random(drawn)


def completed(server: Server, journey: Journey, *options: str) -> dict[str, Any]:
    ended = server.run(journey.goal, *options)
    assert ended["state"] == "completed", f"{ended}\n{journey.goal}"
    assert ended["exit_code"] == 0
    return ended


def shown_in(steps: list[StepRecord], read: Read) -> set[int]:
    """Steps whose screen, as recorded, shows a value and its label."""
    wanted = {f"{read.label}:", read.value}
    return {s.step_number for s in steps if wanted <= {e.text for e in s.observation.tree.elements}}


def used_after(steps: list[StepRecord], number: int, value: str) -> bool:
    late = [s for s in steps if s.step_number > number and s.action is not None]
    return any(value in getattr(s.action, field, "") for s in late for field in ("text", "answer"))


def check_evidence(journey: Journey, ended: dict[str, Any], steps: list[StepRecord]) -> None:
    """The answer is exact, and what it cites are the screens that showed its values."""
    assert ended["answer"] == journey.answer
    places = {read.name: shown_in(steps, read) for read in journey.reads}
    assert all(len(found) == 1 for found in places.values()), places
    assert set(ended["cited_steps"]) == set().union(*places.values())
    early = [r for r in journey.reads if max(places[r.name]) < 10]
    assert len([r for r in early if used_after(steps, 30, r.value)]) >= 4
    assert len({s.observation.signature for s in steps}) >= 25
    assert all(s.state is StepState.DONE for s in steps), [s.state for s in steps]


def test_a_task_over_many_apps_answers_with_what_it_saw_at_the_beginning(
    server: Server, rng: Random
) -> None:
    journey = long_journey(server.seed, rng, steps=46)
    ended = completed(server, journey)
    steps = server.steps(ended["task"])
    assert len(steps) >= 40
    assert len({line for line in journey.lines if line.startswith("open ")}) >= 4
    check_evidence(journey, ended, steps)
    notes = [note["body"] for note in server.phone_state()["notes"]]
    assert notes.count(journey.note) == 1


def test_what_was_seen_but_never_remembered_comes_back_by_recall(
    server: Server, rng: Random
) -> None:
    guide, journey = Guide(server.seed, rng), Journey()
    seen = guide.about_phone(2)
    journey.lines += [line for line in seen.lines if not line.startswith("read ")]
    taken = 2
    for visit in guide.detours():
        if taken > 24:
            break
        journey.go(visit)
        taken += visit.steps
    journey.lines += [f'recall "{r.label}" as {r.name}' for r in seen.reads]
    told = ", ".join(f"{r.label} is {{{r.name}}}" for r in seen.reads)
    journey.lines.append(f'answer "{told}."')
    ended = completed(server, journey)
    assert ended["answer"] == told.format_map({r.name: r.value for r in seen.reads}) + "."
    last = server.steps(ended["task"])[-1]
    assert "recall_history" in last.tools
    first = next(
        c
        for c in server.calls(ended["task"])
        if c.role == "operator" and c.first_of_turn and c.step_number == last.step_number
    )
    prompt = json.dumps(server.get(f"/tasks/{ended['task']}/calls/{first.call_id}/prompt"))
    assert not [r for r in seen.reads if r.value in prompt], "it never left the prompt"
