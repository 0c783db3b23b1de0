"""Tokens and folding: what is indexed and what a query becomes."""

from __future__ import annotations

import re

import pytest

from app.storage.search_text import (
    MAX_PIECE,
    MAX_QUERY_TOKENS,
    fold,
    pieces,
    query_tokens,
    search_text,
    spell,
    tokenise,
)


@pytest.mark.parametrize(
    ("text", "words", "some_forms"),
    [
        ("Sign in now", ["sign", "in", "now"], set()),
        ("深色模式", ["深色", "色模", "模式"], {"深", "色", "模", "式"}),
        ("后", ["后"], set()),
        ("gen-itgc后50条", ["gen-itgc", "后", "50", "条"], {"gen", "itgc"}),
        ("btn_loginButton2", ["btn_loginbutton2"], {"btn", "login", "button", "2"}),
        ("HTMLParser", ["htmlparser"], {"html", "parser"}),
        ("¥1,280.50", ["¥1,280.50"], {"1,280.50", "1280"}),
        ("192.168.0.7:80", ["192.168.0.7:80"], {"192", "168", "0", "7", "80"}),
        ("(Café),", ["café"], {"cafe"}),
        ("don't", ["don't"], {"don", "t"}),
        ("٣٤ أَحمَد", ["34", "احمد"], set()),
        ("ok👍🏽", ["ok👍🏽"], {"ok", "👍"}),
        ("— … !!! ()", [], set()),
        ("\u200bzero\u200dwidth\ufeff", ["zerowidth"], set()),
    ],
)
def test_tokens(text: str, words: list[str], some_forms: set[str]) -> None:
    tokens = tokenise(text)
    assert tokens.words == words
    assert some_forms <= set(tokens.forms)


def test_exact_codes_are_told_from_words() -> None:
    tokens = tokenise("Order AB-1234, room 7b, naïve été foo.bar plain")
    assert tokens.codes == ["ab-1234", "7b", "foo.bar"]


@pytest.mark.parametrize(
    "text", ["AND", "a:b", "x*", '"', "深色", "👍", "12e5", "ß", "\\", "('", "été", "_"]
)
def test_what_is_indexed_are_plain_words(text: str) -> None:
    assert re.fullmatch(r"([a-z][a-z0-9]*( |$))*", search_text(f"{text} {text}x 1{text}"))


def test_different_tokens_are_spelled_differently() -> None:
    tokens = ["a", "a-b", "a.b", "ab", "12", "1-2", "深", "色", "é", "e", "👍"]
    assert len({spell(token) for token in tokens}) == len(tokens)


def test_a_query_is_bounded() -> None:
    tokens = query_tokens(" ".join(f"w{i}-x" for i in range(5_000)))
    assert len({*tokens.words, *tokens.forms, *tokens.codes}) <= 2 * MAX_QUERY_TOKENS
    assert query_tokens("深" * 10_000).words
    assert "深" not in query_tokens("深色").forms
    assert query_tokens("深").words == ["深"]


def test_pieces_are_short_and_lose_nothing() -> None:
    text = " ".join(f"word{i}" for i in range(3_000)) + "x" * 10_000
    parts = list(pieces(text))
    assert "".join(parts) == text
    assert max(map(len, parts)) <= MAX_PIECE
    assert all(part.endswith(" ") for part in parts[:3])
    assert list(pieces("")) == []


def test_folding_ignores_what_does_not_matter() -> None:
    assert fold("  ＡＢ\n\tStraße ") == "ab strasse"  # noqa: RUF001
    assert fold("العربيّة") == fold("العربيه")
