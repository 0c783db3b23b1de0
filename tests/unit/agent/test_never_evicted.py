"""What must never leave the prompt has a line in it, or is counted there and one recall away.

Over a whole task on a real store: the group line's promise is asked of the real search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from app.agent.run import Run
from app.domain.config import MemoryConfig
from app.domain.memory import RecallQuery
from app.domain.messages import ModelRequest
from app.domain.tasks import TaskState
from app.memory.recall import render
from app.memory.tail import quoted
from tests.unit.agent.wandering import SMALL, Wandering

GROUP = re.compile(r"^- and (\d+) more kept items of steps (\d+)-(\d+): recall_history", re.M)
STEPS = 40


class Owed(NamedTuple):
    """One item of the list: its line, its step, and how it is asked for."""

    line: str
    step_number: int
    query: RecallQuery
    needle: str


def before_nul(text: str) -> str:
    """Up to the character that the store keeps as another one."""
    return re.split("[\0\ufffd]", text)[0]


def owed(run: Run) -> Iterator[Owed]:
    """Everything that the task must keep, read off what was said and done."""
    kept = run.transcript.kept
    for said in kept.instructions:
        words = before_nul(said.text)
        line = f"- I{said.number} (step {said.step_number}): "
        yield Owed(line, said.step_number, RecallQuery(query=words), words)
    for question, _, step in kept.answers:
        line = f"- Q (step {step}): {quoted(question)}"
        yield Owed(line, step, RecallQuery(query=question), question)
    for key, (value, step) in kept.remembered.items():
        # As the model kept it: the step's number is the beginning of the value.
        needle = f"{key} = {before_nul(value)}"
        yield Owed(f"- {key} = ", step, RecallQuery(query=f"{key} {step}"), needle)
    for name, items in (("outside effect", kept.effects), ("trouble", kept.failures)):
        for item in items:
            number = item.step_number
            query = RecallQuery(step_range=(number, number))
            yield Owed(f"- {name}: Step {number} ", number, query, f"Step {number} (")


async def missing(request: ModelRequest, run: Run) -> list[str]:
    """What has neither a line nor a place in a group line, or does not come back."""
    text = "\n".join((request.messages[0].text, request.messages[-1].text))
    groups = [tuple(map(int, found)) for found in GROUP.findall(text)]
    without = [
        item
        for item in owed(run)
        if f"\n{item.line}" not in text
        # A failed step whose turn stands in A is told there word for word.
        and not (
            item.line.startswith("- trouble") and item.step_number >= run.transcript.first_in_view
        )
    ]
    wrong = []
    if len(without) > sum(count for count, _, _ in groups):
        wrong.append(f"{len(without)} without a line, counted {groups}")
    for item in without:
        if not any(first <= item.step_number <= last for _, first, last in groups):
            wrong.append(f"{item.line}: in no group's range")
        elif item.needle not in render(await run.ports.search.search(item.query)):
            got = render(await run.ports.search.search(item.query))
            wrong.append(f"{item.line}: not one recall away by {item.query.query}: {got}")
    return wrong


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_kept_item_has_a_line_or_comes_back(seed: int, tmp_path: Path) -> None:
    found: dict[int, list[str]] = {}
    counted = 0

    async def watch(request: ModelRequest, run: Run) -> None:
        nonlocal counted
        number = request.step_number
        if number % 10 == 0 or number == STEPS:
            await run.write()
            counted += bool(GROUP.search(request.messages[0].text + request.messages[-1].text))
            if wrong := await missing(request, run):
                found[number] = wrong

    memory = MemoryConfig.model_validate({**SMALL, "kept_tokens": 700})
    task = Wandering(tmp_path, seed, memory, STEPS, watch=watch, kills=frozenset({17}))
    assert await task.to_end() is TaskState.COMPLETED
    assert found == {}
    assert counted >= 2
