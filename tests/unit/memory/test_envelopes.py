"""What one tool result may put into a turn."""

from __future__ import annotations

import json

from app.domain.screens import ArtifactRef
from app.memory.envelopes import MAX_LINES, envelope, fits, shortened
from app.memory.tokens import count_text

REF = ArtifactRef(sha256="b" * 64, media_type="text/plain", size=1)


def cost(value: object) -> int:
    return count_text(json.dumps(value, ensure_ascii=False))


def test_a_result_is_bounded_in_tokens_lines_and_as_it_is_written() -> None:
    assert fits("x" * 4_000, 1_200)
    assert not fits("x" * 5_000, 1_200)
    assert not fits("\n" * MAX_LINES, 1_200)
    assert not fits("\x01" * 2_000, 1_200), "a control character is six in a request"


def test_a_match_in_the_middle_of_one_long_line_survives() -> None:
    text = "a" * 500_000 + " order number AB-1234 " + "b" * 300_000 + " Traceback here " + "c" * 9
    shown = envelope(text, 1_200, REF, matching="order number")
    assert any("AB-1234" in line for line in shown["important_lines"])
    assert any("Traceback here" in line for line in shown["errors"])
    assert shown["tail"][0].endswith("c" * 9)
    assert cost(shown) <= 1_200
    assert shown["original_chars"] == len(text)


def test_words_of_a_query_are_no_pattern() -> None:
    shown = envelope("see (a+ here\n" + "x\n" * 4_000, 300, REF, matching="(a+ [here")
    assert shown["important_lines"] == ["see (a+ here"]


def test_control_characters_keep_the_bound() -> None:
    shown = envelope("\x01" * 900_000, 1_200, REF, matching="x")
    assert cost(shown) <= 1_200


def test_shortening_keeps_what_fits_and_names_what_does_not() -> None:
    assert shortened({"result": "short"}, 150) == {"result": "short"}
    cut = shortened({"result": "很" * 900}, 150)
    assert cut["result"].endswith("… (shortened; recall_history has it all)")
    assert cost(cut) <= 150
    assert list(shortened({"error": "e" * 9_000}, 150)) == ["error"]
    assert cost(shortened({"strange": "e" * 9_000}, 150)) <= 150


def test_an_envelope_shortens_to_its_errors_and_matches() -> None:
    text = "\n".join(f"line {n} of it" for n in range(3_000)) + "\nERROR: row 7"
    shown = shortened(envelope(text, 1_200, REF, matching="2999"), 150)
    assert shown["errors"] == ["ERROR: row 7"]
    assert shown["important_lines"] == ["line 2999 of it"]
    assert cost(shown) <= 170
    assert {"full_result_ref", "original_chars", "truncated"} <= shown.keys()
