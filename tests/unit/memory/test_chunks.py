"""Where chunks end, and that the plan has no say in what they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from app.domain.actions import Back, Verdict
from app.domain.summaries import Boundary, HistoryChunk
from app.domain.tasks import Recovery, StepRecord
from app.memory.chunks import MAX_STEPS, PAUSE_SECONDS, SOFT, Chunker, chunk_id
from tests.unit.memory.steps import observation, step


def fed(
    steps: Iterable[StepRecord], summaries: dict[int, str] | None = None, said: int = 0
) -> list[HistoryChunk]:
    chunker = Chunker("task")
    return [
        chunk
        for one in steps
        for chunk in chunker.feed(one, summaries or {}, instructed=one.step_number == said)
    ]


def changed(number: int, **update: Any) -> StepRecord:
    return step(number).model_copy(update=update)


def in_app(number: int, package: str) -> StepRecord:
    seen = observation(number).model_copy(update={"package": package})
    return changed(number, observation=seen)


def ranges(chunks: Iterable[HistoryChunk]) -> list[tuple[int, int, Boundary]]:
    return [(c.start_step, c.end_step, c.boundary) for c in chunks]


def same_site(numbers: range) -> list[StepRecord]:
    return [in_app(n, "org.example") for n in numbers]


def test_twelve_steps_make_a_chunk() -> None:
    chunks = fed(same_site(range(1, 31)))
    assert ranges(chunks) == [(1, 12, Boundary.STEPS), (13, 24, Boundary.STEPS)]
    assert chunks[0].chunk_id == chunk_id("task", 1, 12)
    assert chunks[0].source_step_ids == tuple(f"id{n}" for n in range(1, 13))
    assert (chunks[0].start_step_id, chunks[0].end_step_id) == ("id1", "id12")


def test_long_summaries_make_a_chunk_sooner() -> None:
    summaries = {n: "word " * 400 for n in range(1, 13)}
    assert ranges(fed(same_site(range(1, 9)), summaries))[0] == (1, 4, Boundary.TOKENS)


def test_a_summary_that_comes_late_counts_from_then_on() -> None:
    chunker, summaries = Chunker("task"), {}
    for one in same_site(range(1, 7)):
        assert chunker.feed(one, summaries) == ()
    summaries.update({n: "word " * 400 for n in range(1, 7)})
    (chunk,) = chunker.feed(in_app(7, "org.example"), summaries)
    assert ranges([chunk]) == [(1, 7, Boundary.TOKENS)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            [*same_site(range(1, 5)), in_app(5, "org.other")],
            (1, 4, Boundary.APP),
        ),
        (
            [
                *same_site(range(1, 6)),
                in_app(6, "org.example").model_copy(update={"offset": 999.0}),
            ],
            (1, 5, Boundary.PAUSE),
        ),
        (
            [
                *same_site(range(1, 4)),
                in_app(4, "org.example").model_copy(update={"irreversible": True}),
            ],
            (1, 4, Boundary.EFFECT),
        ),
        (
            [
                *same_site(range(1, 3)),
                in_app(3, "org.example").model_copy(
                    update={"recoveries": (Recovery(trigger="error", diagnosis="a dialog"),)}
                ),
            ],
            (1, 3, Boundary.RECOVERY),
        ),
        (
            [
                *same_site(range(1, 4)),
                in_app(4, "org.example").model_copy(update={"tools": ("ask_user",)}),
            ],
            (1, 4, Boundary.RESULT),
        ),
    ],
)
def test_a_boundary_closes_early(
    steps: list[StepRecord], expected: tuple[int, int, Boundary]
) -> None:
    assert ranges(fed(steps)) == [expected]


def test_another_kind_of_action_after_fruitless_ones_is_another_strategy() -> None:
    steps = same_site(range(1, 8))
    for at in (4, 5):
        steps[at] = steps[at].model_copy(update={"verdict": Verdict.NO_VISIBLE_CHANGE})
    assert fed(steps) == []
    steps[6] = steps[6].model_copy(update={"action": Back()})
    assert ranges(fed(steps)) == [(1, 6, Boundary.STRATEGY)]


def test_what_a_person_says_begins_a_chunk() -> None:
    assert ranges(fed(same_site(range(1, 6)), said=4)) == [(1, 3, Boundary.GOAL)]


def test_a_short_chunk_goes_on_over_a_soft_boundary() -> None:
    apps = [in_app(n, f"org.app{n % 2}") for n in range(1, 30)]
    chunks = fed(apps)
    assert all(c.end_step - c.start_step + 1 >= SOFT[Boundary.APP] for c in chunks)


def test_another_milestone_closes_a_chunk_once_two_steps_carry_it() -> None:
    hashes = "aaaaabb"
    steps = [
        one.model_copy(update={"subgoal_hash": h})
        for one, h in zip(same_site(range(1, 8)), hashes, strict=True)
    ]
    assert ranges(fed(steps)) == [(1, 5, Boundary.MILESTONE)]


@pytest.mark.parametrize("hashes", ["aaaaabaaaaa", "aabaabaaaba", "a" * 11])
def test_a_plan_edit_that_is_rolled_back_makes_no_boundary(hashes: str) -> None:
    steps = [
        one.model_copy(update={"subgoal_hash": h, "plan_revision": i})
        for i, (one, h) in enumerate(zip(same_site(range(1, 12)), hashes, strict=True))
    ]
    assert fed(steps) == []


def test_a_pages_path_is_another_app_only_in_its_first_part() -> None:
    def at(number: int, url: str) -> StepRecord:
        return changed(number, observation=observation(number).model_copy(update={"url": url}))

    steps = [at(n, f"http://phone/contacts/{n}?q={n}") for n in range(1, 7)]
    assert fed(steps) == []
    assert ranges(fed([*steps, at(7, "http://phone/notes")])) == [(1, 6, Boundary.APP)]
    assert ranges(fed([*steps, at(7, "http://[broken")])) == [(1, 6, Boundary.APP)]


def test_a_step_seen_before_closes_nothing() -> None:
    chunker = Chunker("task")
    steps = same_site(range(1, 13))
    closed = [c for one in steps for c in chunker.feed(one, {})]
    assert [c for one in steps for c in chunker.feed(one, {})] == []
    again = Chunker("task")
    again.resume(closed)
    assert [c for one in steps for c in again.feed(one, {})] == []
    assert again.open_from == 13


def test_the_numbers_stand_in_one_table() -> None:
    hard = {Boundary.STEPS, Boundary.TOKENS, Boundary.END}
    assert set(SOFT) == set(Boundary) - hard
    assert max(SOFT.values()) < MAX_STEPS
    assert PAUSE_SECONDS > 60
