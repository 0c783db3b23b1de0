"""From an element to a point and from a point to an element."""

from __future__ import annotations

from app.domain.actions import NORMAL, Point
from app.domain.screens import Bounds, Element, Size, UiTree
from app.perception.listing import actionable, has_boxes, labelled


def resolve_element(tree: UiTree, index: int) -> Element | None:
    """The element that the model named, if there is one."""
    return tree.elements[index] if 0 <= index < len(tree.elements) else None


def hit_test(tree: UiTree, x: float, y: float) -> Element | None:
    """The smallest visible element that means something under a window point."""
    found: Element | None = None
    for element in tree.elements:
        if not (element.visible and element.bounds.contains(x, y)):
            continue
        if not (labelled(element) or (actionable(element) and not element.scrollable)):
            continue
        # Of equals the later one lies on top.
        if found is None or area(element.bounds) <= area(found.bounds):
            found = element
    return found


def area(box: Bounds) -> int:
    return 0 if box.empty else box.width * box.height


def visible_part(box: Bounds, window: Size, keyboard: Bounds | None = None) -> Bounds:
    """What of a box is in the window and above a keyboard that spans its width."""
    bottom = min(box.bottom, window.height)
    if keyboard is not None and keyboard.left <= box.left and keyboard.right >= box.right:
        bottom = min(bottom, keyboard.top) if box.top < keyboard.top else bottom
    return Bounds(
        left=max(box.left, 0),
        top=max(box.top, 0),
        right=min(box.right, window.width),
        bottom=bottom,
    )


def centre(element: Element, window: Size, keyboard: Bounds | None = None) -> Point:
    """The middle of an element's visible part, normalised to 0-1000.

    Without a visible part it is the nearest point of the window: ask `target_problem` first.
    """
    part = visible_part(element.bounds, window, keyboard)
    box = element.bounds if part.empty else part
    return to_normal((box.left + box.right) / 2, (box.top + box.bottom) / 2, window)


def to_normal(x: float, y: float, window: Size) -> Point:
    return Point(x=_share(x, window.width), y=_share(y, window.height))


def _share(value: float, whole: int) -> float:
    return min(max(value / whole * NORMAL, 0.0), float(NORMAL)) if whole > 0 else 0.0


def to_window(point: Point, window: Size) -> tuple[float, float]:
    """A normalised point in the unit of the element bounds."""
    return point.x * window.width / NORMAL, point.y * window.height / NORMAL


def target_problem(element: Element, tree: UiTree, window: Size) -> str:
    """Why a tap on an element would not reach it; empty when nothing speaks against it."""
    if not has_boxes(tree):
        return "it was read from a page source and has no place on the screen"
    if element.bounds.empty:
        return "it has no size on the screen"
    part = visible_part(element.bounds, window)
    if part.empty:
        return f"it is off the screen ({where(element.bounds, window)}); scroll there first"
    if tree.keyboard is not None and covered(part, tree.keyboard):
        return "it is under the keyboard; hide the keyboard or scroll first"
    if not element.visible:
        return "it is not visible: hidden, scrolled out of view, or covered"
    return ""


def covered(part: Bounds, keyboard: Bounds) -> bool:
    """Whether the middle of what is left above the keyboard would still be a key."""
    x, y = (part.left + part.right) / 2, (part.top + part.bottom) / 2
    if part.top < keyboard.top and keyboard.left <= part.left and keyboard.right >= part.right:
        return False
    return keyboard.contains(x, y)


def where(box: Bounds, window: Size) -> str:
    if box.top >= window.height:
        return "below"
    if box.bottom <= 0:
        return "above"
    return "to the right" if box.left >= window.width else "to the left"
