"""The element list: what gets a line, how the line reads, what is found beyond it."""

import pytest

from app.domain.screens import Bounds, Dialect, Element, ElementSource, Size, TreeStatus, UiTree
from app.perception.render import estimate_tokens, find, render

WINDOW = Size(width=400, height=800)


def element(
    index: int, text: str = "", box: tuple[int, int, int, int] = (0, 0, 100, 40), **more: object
) -> Element:
    left, top, right, bottom = box
    return Element(
        index=index,
        text=text,
        bounds=Bounds(left=left, top=top, right=right, bottom=bottom),
        **{"role": "text", **more},  # type: ignore[arg-type]
    )


def tree(*elements: Element, **more: object) -> UiTree:
    return UiTree(status=TreeStatus.OK, elements=elements, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (element(0, "Back", role="button", clickable=True), '[0] button "Back" @125,25'),
        (
            element(0, "Search", role="field", hint="Search contacts", editable=True, focused=True),
            '[0] field "Search" value="" hint="Search contacts" focused @125,25',
        ),
        (
            element(0, "Wi-Fi", role="switch", checked=True, clickable=True, enabled=False),
            '[0] switch "Wi-Fi" checked disabled @125,25',
        ),
        (
            element(0, role="button", clickable=True, resource_id="com.app:id/ok button"),
            "[0] button id=ok_button @125,25",
        ),
        (
            element(0, "1234", role="field", value="1234", editable=True, password=True),
            '[0] field "" password @125,25',
        ),
        (element(0, "Total", source=ElementSource.OCR), '[0] text "Total" ocr @125,25'),
        (
            element(0, "All", role="tab", selected=True, checked=False),
            '[0] tab "All" unchecked selected @125,25',
        ),
        (element(0, 'say "hi"\\'), '[0] text "say \\"hi\\"\\\\" @125,25'),
        (element(0, "half off", (-100, 780, 100, 840)), '[0] text "half off" @125,988'),
    ],
)
def test_a_line_says_what_applies(given: Element, line: str) -> None:
    assert render(tree(given), WINDOW).text == line


def test_texts_are_cut_with_an_ellipsis() -> None:
    assert (
        render(tree(element(0, "x" * 300)), WINDOW, max_text=10).lines[0].split('"')[1]
        == "x" * 9 + "…"
    )


def test_the_order_is_the_screens_and_not_the_trees() -> None:
    given = tree(
        element(0, "right", (200, 0, 300, 40)),
        element(1, "below", (0, 100, 100, 140)),
        element(2, "left", (0, 3, 100, 43)),
    )
    assert list(render(given, WINDOW).lines) == [2, 0, 1]


def test_what_matters_is_kept_when_there_is_no_room_for_all() -> None:
    noise = [
        element(k, role="group", clickable=True, box=(0, 10 * k, 90, 10 * k + 9)) for k in range(30)
    ]
    words = [element(30 + k, f"some words {k}", (100, 10 * k, 200, 10 * k + 9)) for k in range(30)]
    field = element(60, "Name", (0, 700, 90, 740), role="field", editable=True)
    button = element(61, "Save", (0, 750, 90, 790), role="button", clickable=True)
    listed = render(tree(*noise, *words, field, button), WINDOW, 120)
    assert {60, 61} <= set(listed.lines)
    assert not any(index < 30 for index in listed.lines)
    assert (listed.shown, listed.total) == (len(listed.lines), 62)
    assert f"({62 - listed.shown} less important not listed" in listed.text
    assert estimate_tokens(listed.text) <= 120


def test_a_cut_at_reading_is_told() -> None:
    assert "(7 were never read" in render(tree(element(0, "a"), truncated=7), WINDOW).text


@pytest.mark.parametrize("bound", [0, 1, 5, 17, 60])
def test_an_estimate_that_does_not_add_up_is_kept_to_as_well(bound: int) -> None:
    def estimate(text: str) -> int:
        return len(text) ** 2 // 2_000

    given = tree(*(element(k, f"row {k}", (0, 10 * k, 100, 10 * k + 9)) for k in range(40)))
    assert estimate(render(given, WINDOW, bound, estimate=estimate).text) <= bound


def test_words_inside_a_row_are_not_said_twice() -> None:
    given = tree(
        element(0, "Wi-Fi, Connected", (0, 0, 400, 80), role="button", clickable=True),
        element(1, "Wi-Fi", (10, 0, 100, 40)),
        element(2, "Connected", (10, 40, 100, 80)),
        element(3, "Help", (300, 0, 400, 80), role="button", clickable=True),
        element(4, "Wi-Fi", (10, 100, 100, 140)),
    )
    assert list(render(given, WINDOW).lines) == [0, 3, 4]


def test_tokens_of_wide_characters_count_one_each() -> None:
    assert [estimate_tokens(text) for text in ("", "abcd", "abcde", "设置", "设置ab")] == [
        0,
        1,
        2,
        2,
        3,
    ]


def test_find_ranks_and_tells_what_is_off_screen() -> None:
    given = tree(
        element(0, "Sound settings", role="button", clickable=True),
        element(1, "Settings", role="button", clickable=True),
        element(2, "Display", (0, 900, 100, 940), visible=False),
        element(3, "", role="button", clickable=True, resource_id="app:id/settings_icon"),
    )
    assert find(given, "SETTINGS", 2, WINDOW) == (
        '[1] button "Settings" @125,25',
        '[0] button "Sound settings" @125,25',
    )
    assert find(given, "displya", 1, WINDOW) == ('[2] text "Display" offscreen below',)
    assert find(given, "settings icon", 1, WINDOW) == ("[3] button id=settings_icon @125,25",)
    assert find(given, "zebra crossing", 5, WINDOW) == ()


@pytest.mark.parametrize(
    "query", ["", "  ", "%s {0} ' \" \\", "\ud800", "a" * 100_000, "设置", "*"]
)
def test_any_query_is_legal(query: str) -> None:
    given = tree(element(0, "设置"), element(1, "a" * 5_000))
    found = find(given, query, 5, WINDOW)
    assert len(found) <= 2
    assert (query != "设置") or found[0].startswith("[0]")


def test_a_password_is_not_found_by_its_value() -> None:
    given = tree(element(0, role="field", value="hunter2", password=True, editable=True))
    assert find(given, "hunter2", 5, WINDOW) == ()


def test_a_page_source_is_listed_without_places() -> None:
    page = tree(
        element(0, "Title", (0, 0, 0, 0), role="heading", visible=False),
        element(1, "More", (0, 0, 0, 0), role="link", clickable=True, visible=False),
        dialect=Dialect.HTML,
    )
    assert render(page, WINDOW).text == '[0] heading "Title"\n[1] link "More"'


@pytest.mark.parametrize(
    ("box", "way"),
    [
        ((0, -90, 100, 0), " above"),
        ((0, 800, 100, 840), " below"),
        ((-200, 100, 0, 140), " left"),
        ((400, 100, 500, 140), " right"),
        ((500, -90, 600, -10), " above"),
        ((0, 100, 100, 140), ""),
        ((0, -90, 0, -90), ""),
    ],
)
def test_what_is_off_screen_says_which_way(box: tuple[int, int, int, int], way: str) -> None:
    given = tree(element(0, "Far", box, visible=False), element(1, "Near"))
    assert find(given, "Far", 1, WINDOW) == (f'[0] text "Far" offscreen{way}',)
