"""Reading values: beside a label on the screen, and out of recalled text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from app.llm.offline.elements import Shown, beside, find, plain, same

NUMBER = re.compile(r"[-+]?\d(?:[\d.,\u00a0 ]*\d)?")
_STEP = re.compile(r"\bStep (\d+)\b", re.IGNORECASE)
_ENDS = re.compile(r'[\n;|·•”"…]| {2,}')
"""Where a value that follows its label in running text ends."""
_BARE_COLON = (":", "：")
_LISTED = re.compile(r"^\s*[:：];\s*")
"""Between a label and its value in a list of what appeared."""
_COLONS = " :：="
_SEPARATORS = " \t:=-–—>→“\"'\u00a0"


def number_in(text: str) -> str:
    """The first number, as written, or an empty string."""
    found = NUMBER.search(text)
    return found[0].strip() if found else ""


def read_value(elements: Iterable[Shown], label: str, *, number: bool = False) -> str:
    """The value that belongs to a label, or an empty string.

    In this order: the value of the element with that very name; what follows the label
    inside one text ("Phone: 555"); what stands beside or below it.
    """
    elements = tuple(elements)
    if number:
        return _read_number(elements, label)
    named = [e for e in elements if _names(e.text, label)]
    for element in named:
        if element.value:
            return element.value
    # An empty field of that name is where such a value goes, not what names one.
    for element in (e for e in named if not e.field):
        if found := beside(elements, element):
            return found.content()
    for element in elements:
        if value := after_label(element.text, label):
            return value
    return next((e.value for e in elements if same(e.hint, label) and e.value), "")


def _names(text: str, label: str) -> bool:
    """Whether a text is a label, the colon behind it aside."""
    return same(text.rstrip(_COLONS), label.rstrip(_COLONS))


def _read_number(elements: tuple[Shown, ...], label: str) -> str:
    """A number behind the label, else anywhere in its text, else in the text beside it."""
    element = find(elements, label)
    if element is None:
        return ""
    behind = after_label(element.text, label)
    near = beside(elements, element)
    for text in (element.value, behind, element.text, near.content() if near else ""):
        if number := number_in(text):
            return number
    return ""


def after_label(text: str, label: str) -> str:
    """What follows a label at the beginning of a text, or an empty string."""
    text, wanted = " ".join(text.split()), " ".join(label.split())
    if not plain(text).startswith(plain(wanted)) or len(text) <= len(wanted):
        return ""
    rest = text[len(wanted) :]
    if rest[0].isalnum():
        return ""
    return rest.strip(_SEPARATORS)


def kept_value(text: str, key: str) -> str | None:
    """The newest value of a remembered key in a recalled text, or None.

    The key stands before `= "value"`, or opens an excerpt of the kind `remembered` bare.
    """
    name = re.escape(key)
    quoted = re.compile(
        rf"(?<![\w-]){name}\s*=\s*"
        r'(?:"(?P<json>(?:[^"\\]|\\.)*)"|\\"(?P<nested>.*?)\\"|“(?P<curly>[^”\n]*)”)',
        re.IGNORECASE,
    )
    bare = re.compile(rf"Step \d+ \(remembered\): …?{name}\s*=\s*(.+)", re.IGNORECASE)
    found: list[tuple[int, str]] = []
    step = 0
    for line in text.split("\n"):
        if numbered := _STEP.search(line):
            step = int(numbered[1])
        hits = [
            _decoded(m["json"]) if m["json"] is not None else m["nested"] or m["curly"] or ""
            for m in quoted.finditer(line)
        ]
        if not hits and (match := bare.search(line)):
            hits = [match[1].strip()]
        found += [(step, hit) for hit in hits]
    return max(found, key=lambda hit: hit[0])[1] if found else None


def _decoded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def recalled_value(text: str, query: str) -> str:
    """What a recall gave for some words: the value behind them, else the best excerpt.

    Empty when the text names no step, which is how a recall says that it found nothing.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not any(_STEP.search(line) for line in lines):
        return ""
    if kept := kept_value(text, query):
        return kept
    wanted = re.compile(rf"{re.escape(' '.join(query.split()))}(?!\w)", re.IGNORECASE)
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        shown = _without_step(line)
        found = wanted.search(shown)
        if found and (value := _behind(shown[found.end() :], below)):
            return value
    best = next(line for line in lines if _STEP.search(line))
    return _without_step(best).strip(' “”"')[:300]


def _behind(rest: str, below: str) -> str:
    """The value that follows a label in recorded text: behind it, or on the line below it."""
    if rest.strip() in _BARE_COLON and not _STEP.match(below.strip()):
        return below.strip()
    rest = _LISTED.sub("", rest).lstrip(_SEPARATORS)
    return _ENDS.split(rest, maxsplit=1)[0].strip(" ,.")


def _without_step(line: str) -> str:
    """A hit's line without `Step 12 (screen): `."""
    return re.sub(r"^\W*Step \d+(?: ?\([^)]*\))* ?:? ?", "", line, flags=re.IGNORECASE)
