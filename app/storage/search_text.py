"""Turns text and queries into search tokens, the same ones for either database.

A text becomes its words in order, then further forms of them: the parts of a code or an
identifier, the word without accents or its English ending, the single characters of scripts
written without spaces (which are pairs of characters in the first part). Every token is written
in a-z and 0-9 and begins with a letter, so that neither database's tokeniser can split or fold it
again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from app.storage.stems import stem

MAX_PIECE = 4_000  # characters of one search entry; longer texts become several
MAX_ENTRY = 1_000_000  # characters of one text that are indexed at all
MAX_TOKEN = 80  # characters; longer ones (base64) are cut
MAX_QUERY_TOKENS = 64
MAX_QUERY = 20_000  # characters

UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u1100-\u11ff"  # kana, Hangul
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Ranges of a character class: scripts written without spaces between words."""
_RUN = re.compile(f"[{UNSPACED}]+|[^\\s{UNSPACED}]+")
_UNSPACED_START = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\D)(?=\d)|(?<=\d)(?=\D)")
_GROUPED = re.compile(r"\D*(\d{1,3}(?:[,.']\d{3})+)(?:[.,]\d+)?\D*")
_SIMPLE = re.compile(r"[A-Za-z]?[a-z]*")
_PLAIN = re.compile(r"[a-z][a-z0-9]*")
_KEPT_AT_EDGES = frozenset("@#%&+$")

_ARABIC = str.maketrans(
    {
        **dict.fromkeys("أإآٱ", "ا"),  # noqa: RUF001
        "ى": "ي",
        "ی": "ي",
        "ئ": "ي",
        "ک": "ك",
        "ة": "ه",  # noqa: RUF001
        "ؤ": "و",
        "\u0640": None,  # tatweel, a mere stretcher
        **{chr(mark): None for mark in (*range(0x064B, 0x0660), 0x0670)},  # vowel signs
    }
)
# Joiners, variation selectors and directional marks say nothing that is searched for.
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f]")


class Tokens(NamedTuple):
    """The tokens of one text."""

    words: list[str]
    """In the text's order: what a phrase is made of."""
    forms: list[str]
    """Further forms of the words, without order."""
    stems: list[str]
    """Words and forms without their English endings, where they have any."""
    codes: list[str]
    """Those of the words that are exact codes: with digits or inner punctuation."""


def fold(text: str) -> str:
    """The text as it is compared: without case, width, Arabic vowel signs and odd spaces."""
    if not text.isascii():
        text = _same_digits(unicodedata.normalize("NFKC", text))
        text = _IGNORED.sub("", text).translate(_ARABIC)
    return " ".join(text.casefold().split())


def pieces(text: str) -> Iterator[str]:
    """The text in parts that are short enough to rank and to quote from, cut at spaces."""
    text = text[:MAX_ENTRY]
    start = 0
    while len(text) - start > MAX_PIECE:
        window = text[start : start + MAX_PIECE]
        cut = max(window.rfind("\n", MAX_PIECE // 2), window.rfind(" ", MAX_PIECE // 2)) + 1
        yield window[: cut or MAX_PIECE]
        start += cut or MAX_PIECE
    if rest := text[start:]:
        yield rest


def search_text(text: str) -> str:
    """The column both databases index."""
    tokens = tokenise(text)
    further = dict.fromkeys([*tokens.forms, *tokens.stems])
    return " ".join(map(spell, [*tokens.words, *further]))


def tokenise(text: str) -> Tokens:
    """All tokens of a text, as yet in their own script."""
    tokens = Tokens([], [], [], [])
    # Case is kept until identifiers are split at it.
    if not text.isascii():
        text = _same_digits(unicodedata.normalize("NFKC", text))
        text = _IGNORED.sub("", text).translate(_ARABIC)
    for run in _RUN.findall(text):
        if _UNSPACED_START.match(run):
            _add_unspaced(run, tokens)
        else:
            _add_word(run, tokens)
    return tokens


def query_tokens(query: str) -> Tokens:
    """The distinct tokens of a query, bounded; forms that only an index needs are left out."""
    tokens = tokenise(query[:MAX_QUERY])
    # A pair says more than its two characters, which would match nearly everything.
    forms = [form for form in tokens.forms if not (_UNSPACED_START.match(form))]
    distinct = dict.fromkeys([*tokens.codes, *tokens.words, *forms, *tokens.stems])
    kept = set(list(distinct)[:MAX_QUERY_TOKENS])
    return Tokens(
        tokens.words[:MAX_QUERY_TOKENS],
        *(
            [t for t in dict.fromkeys(of) if t in kept]
            for of in (forms, tokens.stems, tokens.codes)
        ),
    )


def spell(token: str) -> str:
    """The token in a-z and 0-9, beginning with a letter."""
    if _PLAIN.fullmatch(token):
        return token
    return "z" + "".join(c if c.isascii() and c.isalnum() else f"z{ord(c):x}z" for c in token)


def _add_unspaced(run: str, tokens: Tokens) -> None:
    run = run.casefold()
    if len(run) == 1:
        tokens.words.append(run)
        return
    tokens.words.extend(run[i : i + 2] for i in range(len(run) - 1))
    tokens.forms.extend(run)


def _add_word(run: str, tokens: Tokens) -> None:
    exact = run[: MAX_TOKEN * 4]
    start, end = 0, len(exact)
    while start < end and _is_edge(exact[start]):
        start += 1
    while end > start and _is_edge(exact[end - 1]):
        end -= 1
    exact = exact[start:end]
    if not exact:
        return
    word = exact.casefold()[:MAX_TOKEN]
    tokens.words.append(word)
    if _SIMPLE.fullmatch(exact):
        _add_stem(word, tokens)
        return
    parts = _WORD.findall(exact)
    if len(parts) != 1 or len(parts[0]) != len(exact) or _has_digit(word):
        tokens.codes.append(word)
    for form in _forms(word, exact, parts):
        tokens.forms.append(form)
        _add_stem(form, tokens)


def _add_stem(word: str, tokens: Tokens) -> None:
    if (short := stem(word)) != word:
        tokens.stems.append(short)


def _forms(word: str, exact: str, parts: Iterable[str]) -> Iterator[str]:
    bare = exact.strip("".join(_KEPT_AT_EDGES) + "¥€£")
    candidates = [bare, *_symbols(exact)]
    if grouped := _GROUPED.fullmatch(exact):
        candidates.append(re.sub(r"\D", "", grouped[1]))
    for part in parts:
        candidates += [part, *_HUMP.split(part)]
    for candidate in dict.fromkeys(c.casefold()[:MAX_TOKEN] for c in (*candidates, word)):
        for form in (candidate, _without_accents(candidate)):
            if form and form != word:
                yield form


def _symbols(text: str) -> list[str]:
    """Emoji and other pictures in a run, each by itself."""
    return [] if text.isascii() else [c for c in text if unicodedata.category(c) == "So"]


def _is_edge(character: str) -> bool:
    """Punctuation that belongs to the sentence rather than to the word beside it."""
    if character.isalnum() or character in _KEPT_AT_EDGES:
        return False
    return unicodedata.category(character)[0] in "PZC" or character in "`^|~<>="


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _same_digits(text: str) -> str:
    """Digits of every script as 0-9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.digit(c)) if c.isdecimal() and not c.isascii() else c for c in text
    )


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return "".join(c for c in parts if not unicodedata.combining(c))
