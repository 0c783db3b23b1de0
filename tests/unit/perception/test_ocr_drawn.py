"""Which parts of a screen are read from the picture, and what becomes of the lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.actions import LabelSource
from app.domain.config import PerceptionConfig
from app.domain.screens import (
    Bounds,
    Dialect,
    Element,
    ElementSource,
    Observation,
    PictureText,
    Size,
    TextLine,
    TreeStatus,
    UiSource,
    UiTree,
)
from app.perception.drawn import in_rows, plain_text, unread_regions, with_text
from app.perception.hit import hit_test, target_problem
from app.perception.listing import is_bare
from app.perception.render import render
from app.perception.screen import content_hash, diff, signature
from app.perception.tree import parse

WINDOW = Size(width=400, height=800)
PIXELS = Size(width=800, height=1600)
WHOLE = Bounds(left=0, top=0, right=400, bottom=800)
NO_TREE = UiTree(status=TreeStatus.FAILED, reason="uiautomator died")


def box(left: int, top: int, right: int, bottom: int) -> Bounds:
    return Bounds(left=left, top=top, right=right, bottom=bottom)


def tree(*elements: Element) -> UiTree:
    numbered = (e.model_copy(update={"index": i}) for i, e in enumerate(elements))
    return UiTree(status=TreeStatus.OK, dialect=Dialect.DOM, elements=tuple(numbered))


def element(role: str, bounds: Bounds, text: str = "", **more: Any) -> Element:
    return Element(index=0, role=role, bounds=bounds, text=text, **more)


TITLE = element("heading", box(0, 0, 400, 60), "Gauge")
CANVAS = element("canvas", box(10, 100, 390, 660), "Gauge")
WORD = element("text", box(9, 150, 90, 170), "Sale")


def read(*lines: tuple[str, Bounds]) -> PictureText:
    return PictureText(lines=tuple(TextLine(text=t, bounds=b) for t, b in lines), size=PIXELS)


def regions(seen: UiTree, share: float = 0.15) -> tuple[Bounds, ...]:
    return unread_regions(seen, WINDOW, share, bare=is_bare(seen))


# --- where ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ((TITLE,), 0),
        ((TITLE, CANVAS), 1),
        ((TITLE, element("canvas", box(0, 100, 100, 200), "")), 0),
        ((TITLE, CANVAS.model_copy(update={"visible": False})), 0),
        ((TITLE, element("image", box(0, 100, 400, 500))), 1),
        ((TITLE, element("image", box(0, 100, 400, 500), "A cat")), 0),
        ((TITLE, element("image", box(0, 100, 400, 500)), WORD), 0),
        ((TITLE, CANVAS, element("button", box(20, 120, 90, 160), "Menu")), 1),
        ((TITLE, element("web", box(0, 60, 400, 800))), 1),
        ((TITLE, element("frame", box(0, 60, 400, 800)), WORD), 0),
        ((TITLE, element("group", box(0, 60, 400, 800))), 0),
    ],
    ids=[
        "words", "canvas", "small-canvas", "covered-canvas", "mute-picture", "named-picture",
        "background", "button-on-canvas", "empty-web-view", "read-frame", "group",
    ],
)  # fmt: skip
def test_only_what_the_tree_cannot_say_is_read(
    elements: tuple[Element, ...], expected: int
) -> None:
    assert len(regions(tree(*elements))) == expected


@pytest.mark.parametrize(
    "bare",
    [NO_TREE, UiTree(status=TreeStatus.EMPTY), tree(element("group", WHOLE))],
    ids=["failed", "empty", "mute"],
)
def test_a_screen_without_words_is_read_whole(bare: UiTree) -> None:
    assert regions(bare) == (WHOLE,)


def test_only_the_part_in_view_counts_for_the_size() -> None:
    below = element("canvas", box(0, 700, 400, 2000))
    assert regions(tree(TITLE, below)) == ()
    assert regions(tree(TITLE, below), share=0.1) == (box(0, 700, 400, 800),)


def test_nothing_is_read_where_the_window_is_unknown() -> None:
    assert unread_regions(NO_TREE, Size(width=0, height=0), 0.15, bare=True) == ()


def test_a_canvas_that_calls_itself_an_image_is_a_canvas() -> None:
    drawn = {
        "tag": "canvas",
        "role": "image",
        "text": "Gauge",
        "x": 10,
        "y": 100,
        "w": 380,
        "h": 560,
    }
    title = {"tag": "h1", "role": "heading", "text": "Gauge", "x": 0, "y": 0, "w": 400, "h": 60}
    source = json.dumps({"v": 1, "w": 400, "h": 800, "elements": [title, drawn]})
    seen = parse(UiSource(dialect=Dialect.DOM, text=source), WINDOW, PerceptionConfig())
    assert [e.role for e in seen.elements] == ["heading", "canvas"]
    assert len(regions(seen)) == 1


# --- what -----------------------------------------------------------------------------------


def test_lines_become_elements_that_can_be_tapped_and_listed_as_read() -> None:
    seen = with_text(NO_TREE, read(("Sign in", box(200, 800, 600, 880))), (WHOLE,), WINDOW)
    assert seen.usable and seen.status is TreeStatus.PARTIAL and "uiautomator died" in seen.reason
    (found,) = seen.elements
    assert found.bounds == box(100, 400, 300, 440), "from pixels to the unit of the window"
    assert (found.role, found.clickable, found.source) == ("text", True, ElementSource.OCR)
    assert target_problem(found, seen, WINDOW) == ""
    assert hit_test(seen, 200, 420) == found
    assert render(seen, WINDOW).text == '[0] text "Sign in" ocr @500,525'
    assert is_bare(seen), "the tree itself still says nothing"
    assert LabelSource.OCR.value == ElementSource.OCR.value


def test_the_trees_own_elements_keep_their_indexes_and_words() -> None:
    own = tree(TITLE, CANVAS)
    text = read(
        ("Gauge", box(20, 20, 200, 100)),
        ("412", box(300, 500, 500, 600)),
        ("GAUGE!", box(40, 240, 200, 280)),
        ("units", box(320, 640, 480, 700)),
    )
    seen = with_text(own, text, regions(own), WINDOW)
    assert seen.elements[:2] == own.elements
    assert [e.text for e in seen.elements[2:]] == ["412", "units"]
    assert [e.index for e in seen.elements] == [0, 1, 2, 3]
    assert (seen.status, seen.reason) == (TreeStatus.OK, "")


def test_a_word_that_stands_elsewhere_on_the_screen_is_not_yet_said() -> None:
    own = tree(
        element("text", box(0, 0, 400, 60), "412"), element("canvas", box(10, 100, 390, 660))
    )
    seen = with_text(own, read(("412", box(300, 500, 500, 600))), regions(own), WINDOW)
    assert [e.text for e in seen.elements] == ["412", "", "412"]


def test_nothing_found_leaves_the_tree_as_it_is() -> None:
    own = tree(TITLE, CANVAS)
    assert with_text(own, read(), regions(own), WINDOW) is own
    assert with_text(NO_TREE, read(), (WHOLE,), WINDOW) is NO_TREE


def test_a_page_source_gives_way_to_elements_with_places() -> None:
    source = UiTree(
        status=TreeStatus.PARTIAL,
        dialect=Dialect.HTML,
        elements=(element("link", box(0, 0, 0, 0)),),
    )
    seen = with_text(source, read(("Go", box(0, 0, 100, 50))), (WHOLE,), WINDOW)
    assert [e.text for e in seen.elements] == ["Go"]
    assert target_problem(seen.elements[0], seen, WINDOW) == ""


# --- what changed ---------------------------------------------------------------------------


def observed(seen: UiTree) -> Observation:
    return Observation(
        observation_id="o",
        taken_at="2026-01-01T00:00:00Z",  # type: ignore[arg-type]
        tree=seen,
        window=WINDOW,
        url="http://phone/gauge",
        dhash="0" * 16,
        signature=signature(seen, WINDOW, url="http://phone/gauge"),
        content_hash=content_hash(seen, WINDOW),
    )


def gauge(*lines: str) -> UiTree:
    own = tree(TITLE, CANVAS)
    placed = [(t, box(300, 400 + 100 * i, 500, 460 + 100 * i)) for i, t in enumerate(lines)]
    return with_text(own, read(*placed), regions(own), WINDOW)


def test_a_drawn_value_that_changes_is_a_change() -> None:
    before, after = observed(gauge("412", "units")), observed(gauge("422", "units"))
    change = diff(before, after)
    assert (change.changed, change.page_changed) == (True, False)
    assert (change.added, change.removed) == (("422",), ("412",))
    assert before.content_hash != after.content_hash
    assert before.signature == after.signature


@pytest.mark.parametrize("first_read", [True, False])
def test_a_picture_read_in_time_only_once_is_no_change(first_read: bool) -> None:
    both = observed(gauge("412")), observed(gauge())
    before, after = both if first_read else both[::-1]
    assert not diff(before, after).changed


# --- reading order --------------------------------------------------------------------------


def test_a_label_and_its_value_stand_in_one_row_of_the_search_text() -> None:
    text = read(
        ("Total", box(20, 102, 100, 130)),
        ("€ 45.20", box(600, 98, 700, 134)),
        ("Cart", box(20, 20, 100, 60)),
        ("Tax", box(20, 150, 80, 178)),
        ("8.1 %", box(610, 148, 690, 180)),
    )
    assert plain_text(text) == "Cart\nTotal  € 45.20\nTax  8.1 %"


def test_rows_hold_every_line_once() -> None:
    lines = [
        TextLine(text=str(n), bounds=box(n % 3 * 50, n * 7, n % 3 * 50 + 40, n * 7 + 20))
        for n in range(60)
    ]
    rows = in_rows(lines)
    assert sorted(line.text for row in rows for line in row) == sorted(line.text for line in lines)
    assert in_rows([]) == []
