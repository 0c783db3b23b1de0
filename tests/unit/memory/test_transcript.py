"""The four zones: what changes when, and that the budget holds."""

from __future__ import annotations

from itertools import pairwise

from app.domain.actions import Verdict
from app.domain.messages import Call, Response
from app.memory.transcript import Transcript
from app.memory.zones import Prompt
from tests.unit.memory.steps import step, tail, transcript

ELEMENTS = 1_400


def walk(held: Transcript, steps: range) -> list[Prompt]:
    prompts = []
    for number in steps:
        prompts.append(held.build(tail(number), element_tokens=ELEMENTS, trouble=False))
        held.add(step(number))
    return prompts


def test_the_prompt_stays_inside_its_budget_however_long_the_task() -> None:
    prompts = walk(transcript(), range(1, 301))
    first_calls = sorted(p.figures.estimated for p in prompts)
    assert first_calls[int(len(first_calls) * 0.95)] <= 12_000
    assert max(first_calls) <= 12_000
    assert sum(p.compaction is not None for p in prompts) > 3


def test_between_compactions_the_frozen_zone_and_earlier_turns_keep_their_bytes() -> None:
    prompts = walk(transcript(), range(1, 121))
    for before, after in pairwise(prompts):
        if after.compaction is None:
            assert after.messages[: len(before.messages) - 1] == before.messages[:-1]
            assert len(after.messages) > len(before.messages)


def test_a_compaction_goes_down_to_its_target() -> None:
    prompts = walk(transcript(), range(1, 121))
    for prompt in prompts:
        if prompt.compaction is not None:
            assert prompt.compaction.after.total <= 9_500
            assert prompt.compaction.before.total > 12_000
            assert prompt.figures.departures


def test_a_call_and_its_result_are_never_separated() -> None:
    for prompt in walk(transcript(), range(1, 121)):
        calls = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Call)]
        results = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Response)]
        assert calls == results


def test_every_request_ends_in_a_fresh_user_message_without_old_pictures() -> None:
    for prompt in walk(transcript(), range(1, 30)):
        last = prompt.messages[-1]
        assert last.role == "user"
        assert last.text.startswith("# NOW [Step ")
        assert not last.calls


def test_the_previous_turn_is_kept_word_for_word() -> None:
    prompts = walk(transcript(), range(1, 121))
    for number, prompt in enumerate(prompts[1:], 2):
        turn = [m for m in prompt.messages if m.role == "model"][-1]
        assert turn == step(number - 1).messages[0]


def test_two_turns_stay_while_there_is_trouble() -> None:
    held = transcript()
    for number in range(1, 200):
        trouble = True
        prompt = held.build(tail(number), element_tokens=ELEMENTS, trouble=trouble)
        if prompt.compaction is not None:
            assert sum(m.role == "model" for m in prompt.messages) == 2
            return
        held.add(step(number, verdict=Verdict.ERROR))
    raise AssertionError("no compaction came")


def test_rebuilding_from_the_store_gives_the_same_bytes() -> None:
    held = transcript()
    frozen = ""
    for number in range(1, 151):
        prompt = held.build(tail(number), element_tokens=ELEMENTS, trouble=False)
        if prompt.compaction is not None:
            frozen = prompt.compaction.frozen.to_json()
        again = transcript()
        again.restore(frozen)
        for old in range(1, number):
            again.add(step(old))
        rebuilt = again.build(tail(number), element_tokens=ELEMENTS, trouble=False)
        assert rebuilt.messages == prompt.messages
        held.add(step(number))


def test_remembered_values_stay_in_the_prompt_across_compactions() -> None:
    held = transcript()
    held.kept.remember({"phone": "555-0142"}, 3)
    for prompt in walk(held, range(1, 201)):
        text = "\n".join(m.plain() for m in prompt.messages)
        assert '- phone = "555-0142" (step 3)' in text


def test_effects_outside_the_phone_are_kept() -> None:
    held = transcript()
    for number in range(1, 150):
        prompt = held.build(tail(number), element_tokens=ELEMENTS, trouble=False)
        held.add(step(number, irreversible=number == 5))
        if prompt.compaction is not None:
            assert "- outside effect: Step 5 " in prompt.messages[0].text


def test_a_giant_turn_becomes_an_excerpt_and_is_counted() -> None:
    held = transcript()
    gone = []
    for number in range(1, 6):
        held.add(step(number, thinking="I think at length. " * 1_500))
        prompt = held.build(tail(number + 1), element_tokens=ELEMENTS, trouble=False)
        assert prompt.figures.estimated <= 16_000
        gone += prompt.figures.departures
    assert any("excerpt" in d.why for d in gone)


def test_a_goal_of_twenty_thousand_characters_still_fits() -> None:
    held = transcript("走" * 20_000)
    for prompt in walk(held, range(1, 40)):
        assert prompt.figures.estimated <= 16_000


def test_the_providers_own_figures_correct_the_estimate() -> None:
    held = transcript()
    for _ in range(30):
        held.counter.learn(1_000, 1_300)
    prompts = walk(held, range(1, 101))
    assert max(p.figures.estimated for p in prompts) <= 16_000
    assert max(p.figures.zones.total for p in prompts) < 10_500


def test_the_shared_prefix_is_most_of_a_request() -> None:
    prompts = walk(transcript(), range(1, 301))
    total = sum(p.figures.zones.total for p in prompts[1:])
    shared = sum(p.figures.shared_prefix for p in prompts[1:])
    assert shared / total > 0.7
