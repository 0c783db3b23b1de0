"""Targets: the element under a point, the point of an element, and what stands in the way."""

import pytest

from app.domain.actions import Point
from app.domain.screens import Bounds, Dialect, Element, Size, TreeStatus, UiTree
from app.perception.hit import centre, hit_test, resolve_element, target_problem, to_window

WINDOW = Size(width=400, height=800)


def element(index: int, box: tuple[int, int, int, int], **more: object) -> Element:
    left, top, right, bottom = box
    return Element(
        index=index,
        bounds=Bounds(left=left, top=top, right=right, bottom=bottom),
        **more,  # type: ignore[arg-type]
    )


PAGE = UiTree(
    status=TreeStatus.OK,
    keyboard=Bounds(left=0, top=500, right=400, bottom=800),
    elements=(
        element(0, (0, 0, 400, 800), role="list", text="everything"),
        element(1, (0, 100, 400, 200), role="button", text="Row", clickable=True),
        element(2, (10, 110, 100, 190), role="text", text="Label"),
        element(3, (20, 120, 40, 140), role="image"),
        element(4, (0, 600, 400, 700), role="button", text="Send", clickable=True, visible=False),
        element(5, (0, 300, 400, 340), role="field", password=True, editable=True),
        element(6, (0, 900, 400, 950), role="text", text="Below", visible=False),
        element(7, (0, -80, 400, -10), role="text", text="Above", visible=False),
        element(8, (50, 50, 50, 90), role="text", text="Flat", visible=False),
        element(9, (-100, 400, 100, 460), role="button", text="Half", clickable=True),
        element(10, (0, 450, 400, 700), role="text", text="Long"),
        element(11, (0, 210, 400, 250), role="text", text="Hidden", visible=False),
    ),
)


@pytest.mark.parametrize(
    ("x", "y", "index"),
    [
        (30, 130, 2),
        (300, 150, 1),
        (200, 320, 5),
        (300, 50, 0),
        (50, 430, 9),
        (399.5, 799.5, 0),
        (400, 800, None),
    ],
)
def test_a_point_means_the_smallest_thing_with_a_meaning(
    x: float, y: float, index: int | None
) -> None:
    found = hit_test(PAGE, x, y)
    assert (found.index if found else None) == index


def test_of_two_things_in_the_same_place_the_upper_one_is_meant() -> None:
    twins = [element(k, (0, 0, 50, 50), role="text", text=f"layer {k}") for k in range(2)]
    found = hit_test(UiTree(status=TreeStatus.OK, elements=tuple(twins)), 10, 10)
    assert found is not None
    assert found.text == "layer 1"


def test_only_indexes_of_this_tree_are_elements() -> None:
    assert resolve_element(PAGE, 4) == PAGE.elements[4]
    assert resolve_element(PAGE, len(PAGE.elements)) is None
    assert resolve_element(PAGE, -1) is None


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (1, ""), (5, ""), (9, ""), (10, ""),
        (4, "under the keyboard"), (6, "off the screen (below)"), (7, "off the screen (above)"),
        (8, "no size"), (11, "not visible"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_of_a_tap_is_named(index: int, words: str) -> None:
    problem = target_problem(PAGE.elements[index], PAGE, WINDOW)
    assert words in problem
    assert bool(problem) == bool(words)


def test_an_element_of_a_page_source_cannot_be_tapped() -> None:
    page = PAGE.model_copy(update={"dialect": Dialect.HTML})
    assert "page source" in target_problem(PAGE.elements[1], page, WINDOW)


def test_the_centre_is_that_of_the_visible_part() -> None:
    assert centre(PAGE.elements[1], WINDOW) == Point(x=500, y=187.5)
    assert centre(PAGE.elements[9], WINDOW) == Point(x=125, y=537.5)
    assert centre(PAGE.elements[10], WINDOW, PAGE.keyboard) == Point(x=500, y=593.75)
    for index in (6, 7, 8):
        point = centre(PAGE.elements[index], WINDOW)
        assert 0 <= point.x <= 1000 and 0 <= point.y <= 1000


def test_an_unknown_window_gives_a_point_all_the_same() -> None:
    assert centre(PAGE.elements[1], Size(width=0, height=0)) == Point(x=0, y=0)


def test_a_normalised_point_comes_back_to_its_place() -> None:
    assert to_window(Point(x=500, y=187.5), WINDOW) == (200, 150)
