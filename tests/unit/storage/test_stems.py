"""Forms of English words are brought together, other words left alone."""

from __future__ import annotations

import pytest

from app.storage.stems import stem


@pytest.mark.parametrize(
    "forms",
    [
        "crash crashes crashed crashing",
        "export exports exported exporting",
        "tap taps tapped tapping",
        "summary summaries",
        "create creates created creating",
        "roll rolled rolling",
        "notification notifications",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "word",
    ["", "bus", "is", "thing", "status", "pass", "red", "ring", "ab12s", "été", "深色", "a-bs"],
)
def test_other_words_are_left_alone(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(("one", "other"), [("form", "from"), ("item", "time"), ("news", "newest")])
def test_different_words_stay_different(one: str, other: str) -> None:
    assert stem(one) != stem(other)
