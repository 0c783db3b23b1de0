"""The words, the form and the values of a summary."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.sourcing import Found, ValueKind, stands_in, values
from app.memory.wording import JUDGING, check_summary
from tests.unit.memory.phone_sentences import PHONE_RIGHT, PHONE_SOURCE, PHONE_WRONG
from tests.unit.memory.sentences import RIGHT, SENTENCES, SOURCE, WRONG, Sentence


def rules(text: str, *, with_images: bool = False) -> set[str]:
    checked = check_summary(text, (SOURCE,), with_images=with_images)
    return {refusal.rule for refusal in checked.refusals}


def test_the_table_is_long_enough() -> None:
    assert len(WRONG) >= 60 and len(RIGHT) >= 30
    assert len({s.text for s in SENTENCES}) == len(SENTENCES)
    assert len(PHONE_RIGHT) >= 60 and len(PHONE_WRONG) >= 50


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda s: s.text[:50])
def test_each_sentence_breaks_exactly_its_rules(sentence: Sentence) -> None:
    assert rules(sentence.text) == set(sentence.rules)


@pytest.mark.parametrize("sentence", PHONE_RIGHT + PHONE_WRONG, ids=lambda s: s.text[:50])
def test_each_sentence_about_a_phone_breaks_exactly_its_rules(sentence: Sentence) -> None:
    checked = check_summary(sentence.text, (PHONE_SOURCE,), with_images=False)
    assert {refusal.rule for refusal in checked.refusals} == set(sentence.rules)


def test_a_long_answer_of_one_shape_is_checked_at_once() -> None:
    shapes = ("‘a’b’", "“a“b", "'a'b ", "steps 1,2,3,", "navigated through ", "-$-$1", "(1) 2) ")
    began = time.perf_counter()
    for shape in shapes:
        check_summary((shape * 1_500)[:1_500], (shape * 1_000,), with_images=False)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("word", JUDGING)
def test_every_listed_word_is_refused_in_any_case_and_allowed_in_a_quotation(word: str) -> None:
    for form in (word, word.upper(), word.capitalize()):
        assert rules(f"I {form} the page of the list.") == {"judging_word"}
        quoted = f"The banner read “Well, {form} today” on the page."
        source = f"Well, {form} today"
        assert check_summary(quoted, (source,), with_images=False).passed


def test_with_a_picture_an_unsourced_value_is_kept_and_marked() -> None:
    text = "I saw the total of 4,711 and “Thank you” on the page."
    checked = check_summary(text, (SOURCE,), with_images=True)
    assert checked.passed and set(checked.image_only) == {"4,711", "Thank you"}
    assert rules(text) == {"value_without_source"}


def test_a_picture_excuses_no_other_rule() -> None:
    for sentence in WRONG:
        excused = sentence.rules - {"value_without_source"}
        assert rules(sentence.text, with_images=True) == excused


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_is_checked_without_an_error(text: str, source: str) -> None:
    check_summary(text, (source,), with_images=False)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_stands_only_where_it_stands_whole(number: int, other: int) -> None:
    found = Found(ValueKind.NUMBER, str(number))
    assert stands_in(found, (f"the value is {number}, as seen",))
    assert stands_in(found, (f"the value is {number:,} as seen",))
    assert stands_in(found, (f"value {other}",)) == (number == other)


@given(st.text(alphabet="ABC-123.é中 “”\"'", min_size=1, max_size=60))
def test_every_value_of_a_text_stands_in_that_text(text: str) -> None:
    missing = [v for v in values(text) if not stands_in(v, (text,))]
    assert not missing
