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

_PAIRS = (
    ("“", "”"),
    ("„", "“"),
    ("„", "”"),
    ("«", "»"),
    ("»", "«"),
    ("「", "」"),
    ("『", "』"),
    ("‹", "›"),
)
_QUOTED = re.compile(
    r"“(?:[^“”\n]|“[^“”\n]{0,200}”){1,500}”|"
    + "|".join(f"{a}(?:[^{a}{b}\\n]{{1,500}}){b}" for a, b in _PAIRS[1:])
    + r"|‘(?:[^‘’\n]|(?<=\w)’(?=\w)){1,500}’"
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
    "card cell icon link key value section device app file folder photo video contact event "
    "notification product article post comment mail email song column candidate iteration poll "
    "letter toggle menu dialog categor tool different such"
).split()
_KINDS = (
    "more|other|further|visible|recorded|new|unread|large|small|different|similar|identical|empty|"
    "blank|additional|remaining|numbered|selected|listed|shown|open|short|long"
)
_NOUN = "(?:" + "|".join(f"{word}(?:s|es|ies|y)?" for word in _COUNTED) + r")\b"
_ORDERED = (
    "round attempt try cycle pass milestone check part revision turn iteration poll candidate row "
    "item entry option swipe scroll tap loop"
).split()
_JOINT = r"(?:\s*(?:-|–|/|to|and|or|of|through)\s*|\s*,\s*(?:and\s+|or\s+)?)"
_ALONE = r"(?<![\w.,:/$€£¥₹-])"
_COUNT = re.compile(
    r"(?<![\w.,:/$€£¥₹#-])\d{1,3}(?:st|nd|rd|th)\b"
    rf"|{_ALONE}\d{{1,3}}(?=\s+(?:(?:{_KINDS})\s+)?{_NOUN})"
    rf"|{_ALONE}\d{{1,3}}(?=\s+of\s+(?:the|them|these|those|its|all)\b)"
    rf"|{_ALONE}\d{{1,2}}\s+of\s+(?:the\s+)?\d{{1,2}}\b(?![-.,:/]?\d)"
    rf"|{_ALONE}\d{{1,3}}-{_NOUN}"
    rf"|\b(?:{'|'.join(_ORDERED)})s?\s+(?:number\s+|no\.\s*)?"
    rf"#?\d{{1,3}}(?:{_JOINT}#?\d{{1,3}})*\b(?![-.,:/]?\d)",
    re.IGNORECASE,
)
_STEPS = re.compile(
    rf"\bsteps?\s*(?:number\s+|no\.\s*)?#?\d+(?:{_JOINT}#?\d+)*\b(?![.,:]\d)"
    r"|\bT\+\d+(?::\d{2}){1,2}\b",
    re.IGNORECASE,
)
_SPELL = re.compile(r"(\d+)-(?:second|minute|hour|day|week|month|year)s?", re.IGNORECASE)
"""A number of units in one word: `a 3-second wait`."""
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
        if (spell := _SPELL.fullmatch(bare)) is not None:
            yield Found(ValueKind.NUMBER, spell[1])
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
    where = _one_mark(source)
    at = 0
    for piece in _ELLIPSIS.split(_one_mark(quotation)):
        wanted = piece.strip(" .,;:!?")
        if not wanted:
            continue
        found = _bounded(re.escape(wanted), wanted).search(where, at)
        if found is None:
            return False
        at = found.end()
    return True


def _one_mark(text: str) -> str:
    """Quotations within quotations are written with other marks than on the screen."""
    return comparable(text).replace('"', "'")


@lru_cache(maxsize=512)
def _pattern(token: str) -> re.Pattern[str]:
    """A token as it may be spelled in a source: optional spaces around its separators."""
    token = comparable(token)
    symbol = next((c for c in token if c in _CURRENCY), "")
    if not symbol:
        return _bounded(_spelled(token), token)
    sign = r"-\s?" if token.startswith("-") else ""
    body = _spelled(token.replace(symbol, "").strip("- "))
    mark = re.escape(symbol)
    edge, end = r"(?<![\d.,])", r"(?!\d)(?![.,]\d)"
    ways = (rf"{sign}{mark}\s?{body}{end}", rf"{mark}\s?{sign}{body}{end}")
    return re.compile("|".join((*dict.fromkeys(ways), rf"{edge}{sign}{body}\s?{mark}")))


def _spelled(token: str) -> str:
    """Its runs of letters and of digits, with room between them: `3:05PM` is `3:05 PM`."""
    runs = re.findall(rf"[0-9]+|[{_LETTERS}]+|[^{_ALNUM}]", token)
    parts = (r if re.fullmatch(rf"[{_ALNUM}]+", r) else re.escape(r) for r in runs if r.strip())
    return r"\s?".join(parts)


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
