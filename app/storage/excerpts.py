"""Cuts the part of a text that shows a match, and counts what text costs in a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.storage.search_text import UNSPACED, fold

CHARACTERS_PER_TOKEN = 4
MAX_PLACES = 40  # occurrences of one needle that are looked at
_FULL = re.compile(f"[{UNSPACED}]")
ELLIPSIS = "…"
TWO_PARTS = 40  # tokens below which an excerpt stays in one part


class Needle(NamedTuple):
    """Something an excerpt should show, folded; the heavier the more."""

    text: str
    weight: int


def tokens_of(text: str) -> int:
    """Estimate: a token for four characters, or for one of a script without spaces."""
    if text.isascii():
        return -(-len(text) // CHARACTERS_PER_TOKEN)
    full = len(_FULL.findall(text))
    return full - (-(len(text) - full) // CHARACTERS_PER_TOKEN)


def excerpt(text: str, needles: Sequence[Needle], max_tokens: int) -> str:
    """The part of the text that shows the most of the needles, as it stands there.

    Two parts where one cannot show them all: a title and a row far below it.
    """
    if tokens_of(text) <= max_tokens:
        return text.strip()
    folded, offsets = _folded(text)
    start, end = _window(text, folded, offsets, needles, max_tokens)
    shown = fold(text[start:end])
    missing = [n for n in needles if n.text not in shown and n.text in folded]
    if not missing or max_tokens < TWO_PARTS:
        return _cut(text, start, end)
    first = [n for n in needles if n not in missing]
    parts = sorted(
        _window(text, folded, offsets, chosen, max_tokens // 2 - 1) for chosen in (first, missing)
    )
    if parts[1][0] <= parts[0][1]:
        return _cut(text, start, end)
    return "\n".join(_cut(text, *part) for part in parts)


def _window(
    text: str, folded: str, offsets: Sequence[int], needles: Sequence[Needle], max_tokens: int
) -> tuple[int, int]:
    """Where the best part begins and ends; some text behind a match always belongs to it."""
    places = sorted(_places(folded, needles))
    start = offsets[_best_start(places, max_tokens)] if places else 0
    lead = _lead(text, start, max_tokens // 8)
    return lead, _extend(text, lead, max_tokens - 1)


def _cut(text: str, start: int, end: int) -> str:
    shown = text[start:end].strip()
    return f"{ELLIPSIS if start else ''}{shown}{ELLIPSIS if end < len(text) else ''}"


def _folded(text: str) -> tuple[str, list[int]]:
    """The text folded character by character, and where each of its characters came from."""
    characters: list[str] = []
    offsets: list[int] = []
    for index, character in enumerate(text):
        for part in _fold_one(character):
            characters.append(part)
            offsets.append(index)
    return "".join(characters), offsets


@lru_cache(maxsize=4_096)
def _fold_one(character: str) -> str:
    return " " if character.isspace() else fold(character)


def _places(folded: str, needles: Sequence[Needle]) -> Iterator[tuple[int, int, int]]:
    """(start, end, weight) of every needle found."""
    for needle in needles:
        start = folded.find(needle.text)
        for _ in range(MAX_PLACES):
            if start < 0:
                break
            yield start, start + len(needle.text), needle.weight
            start = folded.find(needle.text, start + 1)


def _best_start(places: Sequence[tuple[int, int, int]], max_tokens: int) -> int:
    """The place from which a window shows the most weight; the first among equals."""
    width = max_tokens * CHARACTERS_PER_TOKEN * 5 // 8
    best, best_weight = places[0][0], 0
    for start, _, _ in places:
        inside = {
            (weight, end - at) for at, end, weight in places if start <= at and end <= start + width
        }
        weight = sum(weight for weight, _ in inside)
        if weight > best_weight:
            best, best_weight = start, weight
    return best


def _lead(text: str, start: int, tokens: int) -> int:
    """Some of what stands before, from the beginning of a word."""
    begin = max(0, start - tokens * CHARACTERS_PER_TOKEN)
    while begin < start and tokens_of(text[begin:start]) > tokens:
        begin += 1
    if begin == 0:
        return 0
    space = re.compile(r"\s").search(text, begin, start)
    return space.end() if space else begin


def _extend(text: str, start: int, tokens: int) -> int:
    """The end of the longest part that costs no more, at the end of a word if there is one."""
    low, high = start, min(len(text), start + tokens * CHARACTERS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(text[start:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low < len(text) and not text[low].isspace() and not _FULL.match(text[low]):
        space = max(text.rfind(" ", start, low), text.rfind("\n", start, low))
        if space > start + (low - start) * 3 // 4:
            return space
    return low
