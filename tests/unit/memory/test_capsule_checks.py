"""The checks of a capsule: a right one passes, each spoilt one is refused by its rule."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.summaries import Capsule, Interval
from app.memory.capsule_checks import ChunkSources, check_capsule, check_intervals
from tests.unit.memory.capsules import CAPSULE, SOURCES, SPOILT, Spoilt, capsule_json, interval


def test_a_right_capsule_passes() -> None:
    checked = check_capsule(capsule_json(), SOURCES)
    assert checked.passed, checked.refusals
    assert checked.image_only == () and not checked.over_length


@pytest.mark.parametrize("spoilt", SPOILT, ids=lambda s: f"{s.rule} {str(s.changes)[:40]}")
def test_a_spoilt_capsule_is_refused_by_its_rule(spoilt: Spoilt) -> None:
    checked = check_capsule(capsule_json(**spoilt.changes), SOURCES)
    assert not checked.passed
    assert spoilt.rule in {r.rule for r in checked.refusals}


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{", "null", '{"doing": 1}', "```json\n{}"])
def test_what_is_no_capsule_is_refused(text: str) -> None:
    checked = check_capsule(text, SOURCES)
    assert checked.capsule is None
    assert {r.rule for r in checked.refusals} <= {"json", "schema"} and checked.refusals


def test_a_long_capsule_is_recorded_not_refused() -> None:
    checked = check_capsule(capsule_json(), SOURCES._replace(tokens=100))
    assert checked.passed and checked.over_length


@pytest.mark.parametrize(
    "changes",
    [
        {"exit_state": "the total (1,280) was shown"},
        {"exit_state": "the total went from 1,300 to 1,280 on the page"},
        {"exit_state": "the price was at 1,280 in both rows"},
        {"verified_facts": ["order AB-1234 costs ¥1,280 (on screen, step 3)"]},
        {"verified_facts": ["Delivered on 2026-03-01 (on screen, step 4)"]},
        {"verified_facts": ["the row says Paid (explorer, step 5)"], "failed_paths": []},
    ],
)
def test_what_only_looks_like_a_breach_passes(changes: dict[str, object]) -> None:
    checked = check_capsule(capsule_json(**changes), SOURCES)
    assert checked.passed, checked.refusals


def test_a_screen_may_speak_of_plans_and_expectations() -> None:
    shown = "Expected delivery 2026-03-04. Pro plan 9.99"
    steps = (SOURCES.steps[0]._replace(evidence={"screen": shown}), *SOURCES.steps[1:])
    facts = [
        "Expected delivery 2026-03-04 (on screen, step 3)",
        "the Pro plan costs 9.99 (on screen, step 3)",
    ]
    pair = ["AB-1234 had the total ¥1,280 as planned (on screen, step 3)"]
    changes = {
        "important_entities": [],
        "effect": "The note order was left.",
        "intervals": [interval(3, 5)],
    }
    own = SOURCES._replace(steps=steps)
    checked = check_capsule(capsule_json(verified_facts=facts, **changes), own)
    assert checked.passed, checked.refusals
    refused = check_capsule(capsule_json(verified_facts=pair, **changes), SOURCES)
    assert {r.rule for r in refused.refusals} == {"planned_as_verified"}


def test_what_only_a_picture_shows_is_marked() -> None:
    pictured = SOURCES._replace(
        steps=tuple(
            s._replace(pictured=("4,711",) if s.step_number == 5 else ()) for s in SOURCES.steps
        )
    )
    facts = [*CAPSULE["verified_facts"], "the canvas shows 4,711 (on screen, step 5)"]
    checked = check_capsule(capsule_json(verified_facts=facts), pictured)
    assert checked.passed, checked.refusals
    assert checked.image_only == ("4,711",)
    wrong_step = [*CAPSULE["verified_facts"], "the order shows 4,711 (on screen, step 3)"]
    refused = check_capsule(capsule_json(verified_facts=wrong_step), pictured)
    assert {r.rule for r in refused.refusals} == {"fact_without_source"}


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5),
)
def test_intervals_pass_exactly_when_they_cover_the_range_in_order(
    start: int, length: int, ranges: list[tuple[int, int]]
) -> None:
    end = start + length - 1
    covered = [n for a, b in ranges for n in range(a, b + 1)]
    right = covered == list(range(start, end + 1)) and all(a <= b for a, b in ranges)
    made = tuple(Interval(start_step=a, end_step=b, text="looked") for a, b in ranges)
    refusals = list(check_intervals(Capsule(intervals=made), start, end))
    assert (not refusals) == right


@given(st.integers(1, 500), st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_any_cut_of_the_range_passes(start: int, lengths: list[int]) -> None:
    ranges = []
    at = start
    for length in lengths:
        ranges.append(Interval(start_step=at, end_step=at + length - 1, text="looked"))
        at += length
    assert not list(check_intervals(Capsule(intervals=tuple(ranges)), start, at - 1))


@given(
    st.dictionaries(
        st.sampled_from(sorted(CAPSULE)),
        st.text(max_size=50)
        | st.lists(st.text(alphabet=string.printable, max_size=30), max_size=3)
        | st.just([interval(3, 5)]),
    )
)
def test_any_answer_is_checked_without_an_error(changes: dict[str, object]) -> None:
    check_capsule(json.dumps({**CAPSULE, **changes}), SOURCES)
    check_capsule(json.dumps(changes), ChunkSources(SOURCES.steps[:1]))
