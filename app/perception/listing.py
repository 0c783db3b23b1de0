"""Which elements deserve a line, and in what order: shared by the list, the diff, the hash."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.screens import Bounds, Dialect, Element, UiTree
from app.perception import roles

BOXLESS = frozenset({Dialect.HTML})
DEEP = 40
"""Enclosing rows remembered while looking for repeated words."""


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
    """Elements that say or do something, words that a row already says left out."""
    rows: list[Element] = []
    everything = not has_boxes(tree)
    for element in tree.elements:
        if visible_only and not (element.visible or everything):
            continue
        rows = [row for row in rows[-DEEP:] if encloses(row.bounds, element.bounds)]
        repeated = not everything and any(repeats(element, row) for row in rows)
        if not repeated and (labelled(element) or actionable(element)) and not mute(element, rows):
            yield element
        if (element.clickable or element.checked is not None) and not element.bounds.empty:
            rows.append(element)


def encloses(outer: Bounds, inner: Bounds) -> bool:
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and outer.right >= inner.right
        and outer.bottom >= inner.bottom
    )


def repeats(element: Element, row: Element) -> bool:
    """Whether a row around it already says this element's words."""
    if element.clickable or element.editable or element.scrollable or element.value:
        return False
    if element.checked is not None and element.checked != row.checked:
        return False
    return bool(element.text) and element.text in row.text


def mute(element: Element, rows: list[Element]) -> bool:
    """A switch without words of its own whose row carries its state."""
    return (
        element.checked is not None
        and not element.clickable
        and not labelled(element)
        and any(row.checked == element.checked and row.role == element.role for row in rows)
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


def reading_order(element: Element) -> tuple[int, int, int]:
    """Top to bottom, left to right, the outer one first."""
    return (element.bounds.top, element.bounds.left, element.index)


def is_bare(tree: UiTree) -> bool:
    """Whether nothing in view has words: a canvas, a custom view, a game."""
    return not any(labelled(element) for element in candidates(tree, visible_only=True))
