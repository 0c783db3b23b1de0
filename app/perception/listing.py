"""Which elements deserve a line, and in what order: shared by the list, the diff, the hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.domain.screens import Bounds, Dialect, Element, ElementSource, Size, UiTree
from app.perception import roles

BOXLESS = frozenset({Dialect.HTML})
DEEP = 40
"""Enclosing elements remembered while looking for repeated words."""
LINE = 0.012
"""Share of the window's height by which the middles of one line may differ."""
TALL = 0.2
"""A box higher than this share begins where its top is."""


def has_boxes(tree: UiTree) -> bool:
    """A page source names everything but shows nothing."""
    return tree.dialect not in BOXLESS


def labelled(element: Element) -> bool:
    return bool(element.text or element.hint or element.value)


def actionable(element: Element) -> bool:
    return (
        element.clickable
        or element.editable
        or element.scrollable
        or element.checked is not None
        or element.password
    )


def candidates(tree: UiTree, *, visible_only: bool) -> Iterator[Element]:
    """Elements that say or do something, words that something around them says left out."""
    around: list[Element] = []
    boxed = has_boxes(tree)
    for element in tree.elements:
        if visible_only and boxed and not element.visible:
            continue
        if not (labelled(element) or actionable(element)):
            continue
        if boxed:
            around = [outer for outer in around[-DEEP:] if encloses(outer.bounds, element.bounds)]
        if any(repeats(element, outer) or mute(element, outer) for outer in around):
            continue
        yield element
        if boxed and not element.bounds.empty and not element.scrollable:
            around.append(element)


def encloses(outer: Bounds, inner: Bounds) -> bool:
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and outer.right >= inner.right
        and outer.bottom >= inner.bottom
    )


def repeats(element: Element, outer: Element) -> bool:
    """Whether an element around it already says this one's words and can do all it can do."""
    if element.clickable or element.editable or element.scrollable or element.value:
        return False
    if element.checked is not None and element.checked != outer.checked:
        return False
    text = element.text
    if not text:
        return False
    if text in (outer.text, outer.value, outer.hint):
        return True
    return (outer.clickable or outer.checked is not None) and text in outer.text


def mute(element: Element, outer: Element) -> bool:
    """A switch without words of its own whose row carries its state."""
    return (
        element.checked is not None
        and not element.clickable
        and not labelled(element)
        and outer.checked == element.checked
        and outer.role == element.role
    )


def priority(element: Element) -> int:
    """Lower is kept longer when there is no room for all."""
    if element.focused or element.editable or element.password:
        return 0
    if labelled(element):
        if element.clickable or element.checked is not None:
            return 1
        return 2 if element.role != "image" else 3
    if element.checked is not None:
        return 1
    if element.role in roles.CONTAINERS or element.scrollable:
        return 4
    return 3 if element.resource_id else 5


def in_reading_order(elements: Iterable[Element], window: Size) -> list[Element]:
    """Line by line from the top, each line from the left; the outer one first."""
    slack = window.height * LINE
    tall = window.height * TALL

    def middle(element: Element) -> float:
        box = element.bounds
        return box.top if box.height > tall else (box.top + box.bottom) / 2

    lines: list[list[Element]] = []
    anchor = 0.0
    for element in sorted(elements, key=lambda e: (middle(e), e.index)):
        if not lines or middle(element) > anchor + slack:
            anchor = middle(element)
            lines.append([])
        lines[-1].append(element)
    return [e for line in lines for e in sorted(line, key=lambda e: (e.bounds.left, e.index))]


def is_bare(tree: UiTree) -> bool:
    """Whether the tree has no words for anything in view: a canvas, a custom view, a game."""
    return not any(
        labelled(element)
        for element in candidates(tree, visible_only=True)
        if element.source is not ElementSource.OCR
    )
