"""Excerpts and token estimates."""

from __future__ import annotations

import pytest

from app.storage.excerpts import ELLIPSIS, Needle, excerpt, tokens_of


def test_estimates() -> None:
    assert tokens_of("") == 0
    assert tokens_of("abcd") == 1
    assert tokens_of("abcde") == 2
    assert tokens_of("深色模式") == 4
    assert tokens_of("深色 dark") == 4


def test_a_short_text_is_shown_whole() -> None:
    assert excerpt(" Sign in ", [Needle("sign", 1)], 20) == "Sign in"


@pytest.mark.parametrize("tokens", [12, 30, 120])
def test_an_excerpt_is_original_text_around_the_match(tokens: int) -> None:
    before, after = "lorem ipsum " * 100, " dolor sit" * 100
    text = f"{before}Total: ¥1,280{after}"
    shown = excerpt(text, [Needle("¥1,280", 5)], tokens)
    assert "¥1,280" in shown
    assert shown.startswith(ELLIPSIS) and shown.endswith(ELLIPSIS)
    assert shown.strip(ELLIPSIS) in text
    assert tokens_of(shown) <= tokens


def test_the_window_with_the_most_is_chosen() -> None:
    text = f"battery {'x ' * 500} battery at 63 percent {'y ' * 500} battery"
    shown = excerpt(text, [Needle("battery", 2), Needle("63", 5), Needle("percent", 2)], 20)
    assert "63 percent" in shown


def test_a_fold_that_changes_length_keeps_the_place() -> None:
    text = f"{'ﬁß' * 300} the Code"
    assert "Code" in excerpt(text, [Needle("code", 1)], 12)


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = excerpt("a b c d " * 100, [Needle("zzz", 1)], 12)
    assert shown.startswith("a b c d")
    assert tokens_of(excerpt("深" * 500, (), 50)) <= 50
