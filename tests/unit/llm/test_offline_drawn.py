"""Values beside drawn labels, as the offline operator reads them."""

from __future__ import annotations

import pytest

from app.llm.offline.elements import find, read_elements
from app.llm.offline.values import read_value

GAUGE = r"""
[1] heading "Gauge" @500,60
[6] canvas "Gauge" @500,480
[7] text "453" ocr @500,390
[8] text "units" ocr @500,450
[9] text "Unlocked" ocr @500,560
[10] text "- 10" ocr @250,650
[11] text "+ 10" ocr @750,650
[12] text "Total" ocr @200,800
[13] text "€ 45.20" ocr @800,801
"""


@pytest.mark.parametrize(
    ("label", "value"),
    [("units", "453"), ("Total", "€ 45.20"), ("453", "units")],
    ids=["figure-over-its-unit", "in-one-row", "just-below"],
)
def test_a_drawn_labels_value(label: str, value: str) -> None:
    assert read_value(read_elements(GAUGE), label) == value


def test_the_number_over_a_unit() -> None:
    assert read_value(read_elements(GAUGE), "units", number=True) == "453"


def test_what_the_tree_names_is_read_downwards_only() -> None:
    named = GAUGE.replace(" ocr", "")
    assert read_value(read_elements(named), "+ 10") == ""


def test_a_drawn_button_is_found_by_its_whole_text() -> None:
    found = find(read_elements(GAUGE + '[14] text "Lock" ocr @500,720'), "Lock")
    assert found is not None and found.index == 14
