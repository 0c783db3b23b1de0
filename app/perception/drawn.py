"""Brings text that only the picture shows into the tree: where it is needed, and as elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.domain.screens import (
    Bounds,
    Dialect,
    Element,
    ElementSource,
    PictureText,
    Size,
    TextLine,
    TreeStatus,
    UiTree,
)
from app.perception.hit import area, visible_part
from app.perception.listing import encloses, has_boxes, labelled

SURFACES = frozenset({"canvas"})
"""Whatever is drawn on one is not in the tree; its name, if it has one, does not tell it."""
PICTURES = frozenset({"image", "video", "web", "frame"})
"""Read only without a name and with no words on them: else they are a background, or told."""
SAME_ROW = 0.5
"""Share of the lower line's height by which two lines of a row overlap."""
_SIGNS = re.compile(r"[\W_]+")


def unread_regions(tree: UiTree, window: Size, share: float, *, bare: bool) -> tuple[Bounds, ...]:
    """Parts of the window whose text can only be had from the picture; empty when none is."""
    whole = Bounds(left=0, top=0, right=window.width, bottom=window.height)
    if whole.empty or bare:
        return () if whole.empty else (whole,)
    if not has_boxes(tree):
        return ()
    least = share * area(whole)
    regions = []
    for element in tree.elements:
        if not element.visible or element.role not in SURFACES | PICTURES:
            continue
        part = visible_part(element.bounds, window, tree.keyboard)
        if area(part) < least or part.empty:
            continue
        if element.role in SURFACES or not (labelled(element) or has_words_on(element, tree)):
            regions.append(part)
    return tuple(regions)


def has_words_on(picture: Element, tree: UiTree) -> bool:
    """Whether the tree says anything that lies on a picture."""
    return any(
        other.visible and labelled(other) and encloses(picture.bounds, other.bounds)
        for other in tree.elements
        if other.index != picture.index
    )


def with_text(tree: UiTree, text: PictureText, regions: Sequence[Bounds], window: Size) -> UiTree:
    """The tree with an element for every line in a region that no element says already.

    They follow the tree's own elements, whose indexes stay. A tree that says nothing becomes
    usable, though incomplete.
    """
    own = tree.elements if has_boxes(tree) else ()
    added: list[Element] = []
    for line in text.lines:
        box = in_window(line.bounds, text.size, window)
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        if not any(region.contains(x, y) for region in regions) or said(line.text, box, own):
            continue
        added.append(
            Element(
                index=len(own) + len(added),
                role="text",
                text=line.text,
                bounds=box,
                clickable=True,
                source=ElementSource.OCR,
            )
        )
    if not added:
        return tree
    status, reason = tree.status, tree.reason
    if not tree.usable or not has_boxes(tree):
        status = TreeStatus.PARTIAL
        reason = f"only the picture's text could be read ({tree.reason or 'the tree is bare'})"
    return tree.model_copy(
        update={
            "status": status,
            "reason": reason,
            "dialect": tree.dialect if has_boxes(tree) else Dialect.UNKNOWN,
            "elements": (*own, *added),
        }
    )


def in_window(box: Bounds, picture: Size, window: Size) -> Bounds:
    """From picture pixels to the unit of the window."""
    across = window.width / picture.width if picture.width else 1.0
    down = window.height / picture.height if picture.height else 1.0
    return Bounds(
        left=round(box.left * across),
        top=round(box.top * down),
        right=round(box.right * across),
        bottom=round(box.bottom * down),
    )


def said(text: str, box: Bounds, elements: Iterable[Element]) -> bool:
    """Whether an element that touches the box has these words, signs and spaces aside."""
    wanted = bare_words(text)
    for element in elements:
        if element.visible and labelled(element) and touch(element.bounds, box):
            words = (element.text, element.value, element.hint)
            if any(wanted in bare_words(word) for word in words if word):
                return True
    return False


def bare_words(text: str) -> str:
    """Letters and digits alone; a text of signs stays as it is."""
    return _SIGNS.sub("", text).casefold() or text.strip()


def touch(first: Bounds, second: Bounds) -> bool:
    return (
        first.left < second.right
        and second.left < first.right
        and first.top < second.bottom
        and second.top < first.bottom
    )


def plain_text(text: PictureText) -> str:
    """The words row by row, for the search: a label and its value stand in one line."""
    return "\n".join("  ".join(line.text for line in row) for row in in_rows(text.lines))


def in_rows(lines: Iterable[TextLine]) -> list[list[TextLine]]:
    """Rows from the top, each from the left; a line joins the row that it mostly stands in."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.bounds.top, line.bounds.left)):
        for row in reversed(rows[-3:]):
            if beside(row[0].bounds, line.bounds):
                row.append(line)
                break
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.bounds.left) for row in rows]


def beside(first: Bounds, second: Bounds) -> bool:
    common = min(first.bottom, second.bottom) - max(first.top, second.top)
    return common > SAME_ROW * min(first.height, second.height)
