"""Element lines and values, as the offline operator reads them."""

from __future__ import annotations

import pytest

from app.llm.offline.elements import find, find_switch, read_elements
from app.llm.offline.values import after_label, kept_value, read_value, recalled_value

LINES = r"""
[0] button "Back" @60,40
[3] field "Search" value="a \"b\" @5,5" hint="Search contacts" focused @500,120
[9] switch "Wi-Fi" checked @900,300
[12] image id=logo_big @10,10
[13] button "Far away" offscreen
[14] field "" password @10,20
[15] text "hidden @1,2 checked" ocr @3,4
(3 off screen not listed: explore_ui finds them)
not [1] an element
"""


def test_lines_are_read_with_their_attributes() -> None:
    back, search, wifi, logo, far, secret, odd = read_elements(LINES)
    assert (back.index, back.role, back.text, back.x, back.y) == (0, "button", "Back", 60, 40)
    assert search.value == 'a "b" @5,5' and search.hint == "Search contacts"
    assert search.flags == {"focused"} and search.field
    assert wifi.checked is True and back.checked is None
    assert logo.resource_id == "logo_big" and logo.text == ""
    assert not far.on_screen and back.on_screen
    assert "password" in secret.flags
    assert odd.text == "hidden @1,2 checked" and odd.checked is None and (odd.x, odd.y) == (3, 4)


@pytest.mark.parametrize(
    ("label", "index"),
    [("back", 0), ("  BACK ", 0), ("search contacts", 3), ("wi", 9), ("logo_big", 12), ("zzz", -1)],
)
def test_finding(label: str, index: int) -> None:
    found = find(read_elements(LINES), label)
    assert (found.index if found else -1) == index


def test_a_cut_text_still_fits_its_label() -> None:
    whole = "A very long label that goes on and on"
    elements = read_elements(f'[1] button "{whole[:25]}…" @1,1\n[2] button "{whole[:5]}" @1,2')
    found = find(elements, whole)
    assert found is not None and found.index == 1


def test_a_switch_is_found_by_the_text_in_its_row() -> None:
    text = (
        '[1] text "Bluetooth" @100,200\n[2] switch unchecked @900,205\n[3] switch checked @900,400'
    )
    found = find_switch(read_elements(text), "Bluetooth")
    assert found is not None and found.index == 2


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ('[1] text "Total: 12" @1,1', "12"),
        ('[1] text "Total 12 EUR" @1,1', "12 EUR"),
        ('[1] text "Totally 12" @1,1', ""),
        ('[1] text "Total" @100,100\n[2] text "12" @800,105', "12"),
        ('[1] text "Total" @100,100\n[2] text "12" @120,150', "12"),
        ('[1] text "Total" @100,100\n[2] text "12" @120,400', ""),
        ('[1] text "Total" @800,100\n[2] text "12" @100,100', ""),
        ('[1] field "Total" value="12" @100,100', "12"),
        ('[1] field "" value="12" hint="Total" @100,100', "12"),
    ],
)
def test_reading_a_value(lines: str, value: str) -> None:
    assert read_value(read_elements(lines), "Total") == value


def test_what_follows_a_label() -> None:
    assert after_label("Order number: A-17", "order number") == "A-17"
    assert after_label("Order numbers", "Order number") == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Step 4 (remembered): phone = 555-0142", "555-0142"),
        ('- phone = "a \\"b\\"" (step 4)', 'a "b"'),
        ('{"x": "phone = \\"555\\""}', "555"),
        ("Step 4 (remembered): phone = old\nStep 9 (remembered): phone = new", "new"),
        ("Step 9 (remembered): phone = new\nStep 4 (remembered): phone = old", "new"),
        ("Step 4 (remembered): telephone = 555", None),
        ("Step 4 (screen): phone = 555", None),
        ("Nothing recorded matches.", None),
    ],
)
def test_a_kept_value_in_a_recall(text: str, value: str | None) -> None:
    assert kept_value(text, "phone") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Step 3 (screen): … Order: A-17 | Total 3", "A-17"),
        ("Step 3 (note): order — A-17\nmore", "A-17"),
        ("Step 3 (screen): Orders\nOrder:\nA-17\nTotal:\n3", "A-17"),
        ("Step 3 (verdict): executed Back; Order:; A-17; Total:; 3", "A-17"),
        ("Step 3 (screen): Order:\nStep 5 (note): Order: A-18", "A-18"),
        ("Step 3 (note): just this", "just this"),
        ("Nothing recorded matches. Nothing was invented.", ""),
        ("", ""),
    ],
)
def test_a_recalled_value(text: str, value: str) -> None:
    assert recalled_value(text, "Order") == value
