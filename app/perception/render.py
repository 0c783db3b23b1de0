"""Writes the bounded element list for the model, and searches the full tree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from rapidfuzz import fuzz, utils

from app.domain.screens import Bounds, Element, ElementSource, Size, UiTree
from app.perception.hit import centre
from app.perception.listing import candidates, has_boxes, in_reading_order, priority
from app.perception.text import shorten

Estimate = Callable[[str], int]

DEFAULT_TEXT = 200
MIN_SCORE = 60.0
"""Likeness, 0-100, below which a search result is noise."""
MAX_QUERY = 1_000
UNKNOWN_SIZE = Size(width=0, height=0)
WIDE = 0x2E80
"""From here on a character costs about a token."""


class RenderedElements(NamedTuple):
    """The element list of one observation, inside its bound."""

    text: str
    shown: int
    total: int
    """Elements that would have had a line with unlimited room, off-screen ones included."""
    lines: Mapping[int, str]
    """The line of each shown element by its index, in the order of the text."""


def estimate_tokens(text: str) -> int:
    """Four narrow characters or one wide one a token, rounded up."""
    if text.isascii():
        return math.ceil(len(text) / 4)
    wide = sum(1 for character in text if ord(character) >= WIDE)
    return math.ceil((len(text) - wide) / 4) + wide


def render(
    tree: UiTree,
    window: Size,
    max_tokens: int = 1_500,
    max_text: int = DEFAULT_TEXT,
    estimate: Estimate = estimate_tokens,
) -> RenderedElements:
    """The visible elements, chosen by priority and written in reading order."""
    window = known_window(tree, window)
    visible = in_reading_order(candidates(tree, visible_only=True), window)
    hidden = 0
    if has_boxes(tree):
        hidden = sum(not element.visible for element in candidates(tree, visible_only=False))
    ranked = sorted(range(len(visible)), key=lambda place: (priority(visible[place]), place))

    def lines() -> Iterator[tuple[int, str]]:
        for place in ranked:
            yield place, element_line(visible[place], tree, window, max_text)

    chosen = fit(lines(), max_tokens, estimate)
    note = cut_note(len(visible) - len(chosen), hidden, tree.truncated)
    if note:
        # The note itself needs room; how much it cuts changes its digits only.
        chosen = fit(lines(), max_tokens - estimate(note + "\n0"), estimate)
    return compose(
        {visible[place].index: line for place, line in sorted(chosen)},
        cut_note(len(visible) - len(chosen), hidden, tree.truncated),
        total=len(visible) + hidden,
        max_tokens=max_tokens,
        estimate=estimate,
    )


def fit(lines: Iterable[tuple[int, str]], room: int, estimate: Estimate) -> list[tuple[int, str]]:
    """The lines that fit, first come first served; a long one gives way to shorter ones."""
    chosen = []
    for place, line in lines:
        if room <= 0:
            break
        cost = estimate(line + "\n")
        if cost <= room:
            room -= cost
            chosen.append((place, line))
    return chosen


def compose(
    lines: dict[int, str], note: str, *, total: int, max_tokens: int, estimate: Estimate
) -> RenderedElements:
    """Joins the lines; an estimate that is not additive costs lines from the end."""
    while True:
        text = "\n".join([*lines.values(), *([note] if note else [])])
        if not text or estimate(text) <= max_tokens:
            return RenderedElements(text, len(lines), total, lines)
        if note:
            note = ""
        else:
            kept = list(lines.items())[: len(lines) * 9 // 10]
            lines = dict(kept)


def cut_note(cut: int, hidden: int, truncated: int) -> str:
    """What the list does not show, or an empty string."""
    parts = [
        f"{count} {what}"
        for count, what in ((cut, "less important"), (hidden, "off screen"))
        if count > 0
    ]
    note = f"({' and '.join(parts)} not listed: explore_ui finds them)" if parts else ""
    if truncated > 0:
        note = " ".join([*([note] if note else []), f"({truncated} were never read: too many)"])
    return note


def element_line(element: Element, tree: UiTree, window: Size, max_text: int = DEFAULT_TEXT) -> str:
    """`[index] role "text"`, then what applies, then the place."""
    parts = [f"[{element.index}] {element.role or 'element'}"]
    if element.text and not element.password:
        parts.append(quote(element.text, max_text))
    elif element.editable or element.password:
        parts.append('""')
    if not element.password and (element.value or element.editable):
        parts.append(f"value={quote(element.value, max_text)}")
    if element.hint:
        parts.append(f"hint={quote(element.hint, max_text)}")
    if element.resource_id and not element.text:
        parts.append(f"id={short_id(element.resource_id)}")
    parts.extend(states(element))
    if has_boxes(tree):
        if not element.visible:
            parts.extend(("offscreen", *beyond(element.bounds, window)))
        elif not element.bounds.empty:
            point = centre(element, window, tree.keyboard)
            parts.append(f"@{point.x:.0f},{point.y:.0f}")
    return " ".join(parts)


def beyond(bounds: Bounds, window: Size) -> Iterator[str]:
    """Which way off the window a box lies; says nothing of one that is hidden inside it."""
    if bounds.empty:
        return
    if bounds.bottom <= 0:
        yield "above"
    elif window.height > 0 and bounds.top >= window.height:
        yield "below"
    elif bounds.right <= 0:
        yield "left"
    elif window.width > 0 and bounds.left >= window.width:
        yield "right"


def states(element: Element) -> Iterator[str]:
    if element.checked is not None:
        yield "checked" if element.checked else "unchecked"
    if element.selected:
        yield "selected"
    if element.focused:
        yield "focused"
    if not element.enabled:
        yield "disabled"
    if element.password:
        yield "password"
    if element.scrollable:
        yield "scrollable"
    if element.source is ElementSource.OCR:
        yield "ocr"


def quote(text: str, limit: int) -> str:
    return json.dumps(shorten(text, limit), ensure_ascii=False)


def short_id(resource_id: str) -> str:
    """An id without its package and without anything that could break the line."""
    tail = resource_id.rsplit(":id/", 1)[-1]
    return re.sub(r"[\s\"\[\]@=]+", "_", tail)[:60]


def known_window(tree: UiTree, window: Size) -> Size:
    """The window, or as far as the visible elements reach where the device does not say."""
    if window.width > 0 and window.height > 0:
        return window
    boxes = [element.bounds for element in tree.elements if element.visible]
    return Size(
        width=max((box.right for box in boxes), default=0),
        height=max((box.bottom for box in boxes), default=0),
    )


def find(
    tree: UiTree,
    query: str,
    limit: int = 10,
    window: Size = UNKNOWN_SIZE,
    max_text: int = DEFAULT_TEXT,
) -> tuple[str, ...]:
    """Lines of the elements most like a query, from the whole tree; off-screen ones say so."""
    wanted = utils.default_process(query[:MAX_QUERY])
    if not wanted or limit <= 0:
        return ()
    window = known_window(tree, window)
    scored = []
    for element in candidates(tree, visible_only=False):
        score = likeness(wanted, element)
        if score >= MIN_SCORE:
            scored.append((-score, not element.visible, priority(element), element.index))
    return tuple(
        element_line(tree.elements[index], tree, window, max_text)
        for *_, index in sorted(scored)[:limit]
    )


def likeness(wanted: str, element: Element) -> float:
    """0-100: how well an element's words, id or role answer a query."""
    said = [element.text, element.hint, "" if element.password else element.value]
    fields = [utils.default_process(text[:MAX_QUERY]) for text in said if text]
    best = 0.0
    for field in fields:
        if not field:
            continue
        if wanted in field:
            # Of all that contain it, the one with the least around it is meant.
            best = max(best, 90.0 + 10.0 * len(wanted) / len(field))
        else:
            best = max(best, 0.9 * fuzz.WRatio(wanted, field))
    name = utils.default_process(short_id(element.resource_id))
    if name:
        best = max(best, 0.85 * fuzz.token_set_ratio(wanted, name.replace("_", " ")))
    return max(best, 70.0) if wanted == element.role else best
