"""Finds the values of a text (digit runs, codes, quotations) and where they stand in its sources.

A value is what a later step may need to the letter. Step numbers and counts are none: they
are the writer's own and say nothing that was read.
"""

# ruff: noqa: RUF001  (look-alike characters are what is matched here)

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

_PAIRS = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"), ("‹", "›"), ("‘", "’"))
_QUOTED = re.compile(
    "|".join(f"{a}(?:[^{a}{b}\\n]{{1,500}}){b}" for a, b in _PAIRS)
    + r'|"[^"\n]{1,500}"'
    + r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,500}'(?!\w)"
)
"""Balanced quotation marks alone: an open one that is never closed quotes nothing."""

_LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
_ALNUM = f"0-9{_LETTERS}"
_CURRENCY = "$€£¥₹₩₽₺₫฿¢"
_TOKEN = re.compile(
    f"(?:(?<![{_ALNUM}])[-−])?[{_CURRENCY}]?[#№]?[{_ALNUM}]+(?:[-._:/@+,'~&=?%]+[{_ALNUM}]+)*"
    f"(?:(?<=\\d)\\s?[{_CURRENCY}](?!\\s?\\d))?"
)
_COUNTED = (
    "time element item row step entr result round swipe tap attempt tr screen page option button "
    "field match line milestone check message note record scroll press hit window tab picture "
    "image switch list word character digit action call quer turn instruction question answer "
    "card cell icon link key value section device app more other further different such of"
).split()
_COUNT = re.compile(
    r"(?<![\w.,:/$€£¥₹#-])\d{1,3}(?:st|nd|rd|th)\b"
    r"|(?<![\w.,:/$€£¥₹-])\d{1,3}(?=\s+(?:more\s+|other\s+|further\s+|visible\s+|recorded\s+)?(?:"
    + "|".join(word + ("(?:s|es|ies|y)?" if word != "of" else "") for word in _COUNTED)
    + r")\b)"
    r"|\b(?:round|attempt|try|cycle|pass|milestone|check|part|plan revision|revision|turn)s?\s+"
    r"(?:number\s+)?#?\d{1,3}(?:\s*(?:-|–|to|and|of|,)\s*#?\d{1,3})*\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\bsteps?\s*(?:number\s+|no\.\s*)?#?\d+(?:\s*(?:-|–|to|and|through|,|or)\s*#?\d+)*\b"
    r"|\bT\+\d+(?::\d{2}){1,2}\b",
    re.IGNORECASE,
)
_SAME = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("“”„«»‹›「」『』", '"'),
        **dict.fromkeys("‘’‚`´", "'"),
        "\u00a0": " ",
        "\u202f": " ",
    }
)
_GROUPS = re.compile(r"(?<=\d)[,'](?=\d{3}(?!\d))")
"""Separators of thousands: `1,280` and `1280` are one number."""
_ELLIPSIS = re.compile(r"…|\.{3}")


class ValueKind(StrEnum):
    QUOTATION = "quotation"
    CODE = "code"
    NUMBER = "number"


class Found(NamedTuple):
    """One value of a text."""

    kind: ValueKind
    text: str


def quotations(text: str) -> tuple[str, ...]:
    """What stands inside quotation marks."""
    return tuple(found[0][1:-1] for found in _QUOTED.finditer(text))


def without_quotations(text: str) -> str:
    """The text with every quotation blanked; the marks stay, so that words do not join."""
    return _QUOTED.sub(lambda found: f"{found[0][0]} {found[0][-1]}", text)


def values(text: str) -> tuple[Found, ...]:
    """Every value of a text, each once, in order."""
    text = plain(text)
    found = [Found(ValueKind.QUOTATION, q.strip()) for q in quotations(text)]
    rest = _COUNT.sub(" ", _STEPS.sub(" ", without_quotations(text)))
    found += _tokens(rest)
    return tuple(dict.fromkeys(f for f in found if f.text))


def _tokens(text: str) -> Iterator[Found]:
    for match in _TOKEN.finditer(text):
        token = match[0].strip("#№ ")
        bare = token.strip(f"-{_CURRENCY}% ")
        if not bare:
            continue
        if re.fullmatch(r"[\d.,:' ]+", bare):
            yield Found(ValueKind.NUMBER, token)
        elif _is_code(bare):
            yield Found(ValueKind.CODE, token)


def _is_code(token: str) -> bool:
    """Letters with digits, addresses, dotted and underscored names, initials in capitals."""
    if re.search(r"\d", token):
        return True
    if "@" in token or "://" in token or "_" in token:
        return True
    if re.fullmatch(rf"[{_LETTERS}]+(?:\.[{_LETTERS}]+){{2,}}", token):
        return True
    return re.fullmatch(r"[A-Z]{2,}(?:-[A-Z]{2,})+", token) is not None


def plain(text: str) -> str:
    """Compatibility forms, invisible characters and foreign digits made ordinary."""
    out = []
    for character in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(character)
        if category == "Cf":
            continue
        if category == "Nd" and not character.isascii():
            character = str(unicodedata.digit(character))
        out.append(character)
    return "".join(out)


@lru_cache(maxsize=512)
def comparable(text: str) -> str:
    """The form in which a value and its source are compared."""
    text = plain(text).translate(_SAME).casefold()
    return _GROUPS.sub("", re.sub(r"\s+", " ", text))


def stands_in(value: Found, sources: Sequence[str]) -> bool:
    """Whether a value stands in one of the texts."""
    if value.kind is ValueKind.QUOTATION:
        return any(_quotation_in(value.text, source) for source in sources)
    pattern = _pattern(value.text)
    return any(pattern.search(comparable(source)) for source in sources)


def _quotation_in(quotation: str, source: str) -> bool:
    """Word for word but for case, spacing and closing punctuation; `…` stands for what was cut."""
    where = comparable(source)
    at = 0
    for piece in _ELLIPSIS.split(comparable(quotation)):
        wanted = piece.strip(" .,;:!?")
        if not wanted:
            continue
        found = _bounded(re.escape(wanted), wanted).search(where, at)
        if found is None:
            return False
        at = found.end()
    return True


@lru_cache(maxsize=512)
def _pattern(token: str) -> re.Pattern[str]:
    """A token as it may be spelled in a source: optional spaces around its separators."""
    token = comparable(token)
    symbol = next((c for c in token if c in _CURRENCY), "")
    core = token.replace(symbol, "").strip() if symbol else token
    runs = re.findall(rf"[{_ALNUM}]+|[^{_ALNUM}]", core)
    body = "".join(r"\s?" if not r.strip() else _spelled(r) for r in runs)
    if symbol:
        mark = re.escape(symbol)
        edge, end = r"(?<![\d.,])", r"(?![\d])"
        return re.compile(rf"{mark}\s?{body}{end}|{edge}{body}\s?{mark}")
    return _bounded(body, core)


def _spelled(run: str) -> str:
    return run if re.fullmatch(rf"[{_ALNUM}]+", run) else rf"\s?{re.escape(run)}\s?"


def _bounded(body: str, text: str) -> re.Pattern[str]:
    """The body where neither a longer word nor a longer number goes on."""
    return re.compile(f"{_edge_before(text[0])}{body}{_edge_after(text[-1])}")


def _edge_before(first: str) -> str:
    if first.isdigit():
        return r"(?<!\d)(?<!\d[.,:])"
    return f"(?<![{_ALNUM}])" if re.match(f"[{_LETTERS}]", first) else ""


def _edge_after(last: str) -> str:
    if last.isdigit():
        return r"(?!\d)(?![.,:]\d)"
    return f"(?![{_ALNUM}])" if re.match(f"[{_LETTERS}]", last) else ""
