"""The similarity hint: when it speaks, and when it does not."""

from __future__ import annotations

from app.domain.screens import Observation
from app.memory.hints import LOOKED_AT, ScreenHistory
from tests.unit.memory.steps import observation


def seen(signature: str = "", dhash: int | None = None, app: str = "org.one") -> Observation:
    return observation(1).model_copy(
        update={
            "package": app,
            "signature": signature,
            "dhash": f"{dhash:016x}" if dhash is not None else "",
        }
    )


def history(*screens: Observation) -> ScreenHistory:
    held = ScreenHistory()
    for number, screen in enumerate(screens, 1):
        held.add(number, screen)
    return held


OTHERS = tuple(seen(f"other {n}", (0xABCDE << 30) + n * 0x111_1111_1111) for n in range(4))


def test_a_screen_seen_before_is_named_by_its_newest_step() -> None:
    held = history(seen("s", 7), OTHERS[0], seen("s", 7), *OTHERS)
    assert "the one of step 3." in held.hint(seen("s", 7))


def test_pictures_that_differ_in_a_few_bits_are_the_same() -> None:
    held = history(seen("s", 0), *OTHERS)
    assert "step 1." in held.hint(seen("s", 0b1111))
    assert held.hint(seen("s", 0b11111)) == ""


def test_bits_apart_are_found_without_a_signature() -> None:
    far_apart = 1 | 1 << 20 | 1 << 40 | 1 << 63
    held = history(seen("", 0), *OTHERS)
    assert "step 1." in held.hint(seen("", far_apart))
    assert "step 1." in held.hint(seen("s", far_apart))


def test_structure_alone_is_enough_without_pictures() -> None:
    assert "step 1." in history(seen("s"), *OTHERS).hint(seen("s"))
    assert history(seen("s"), *OTHERS).hint(seen("t")) == ""


def test_another_app_is_another_screen() -> None:
    assert history(seen("s", 7, "org.two"), *OTHERS).hint(seen("s", 7)) == ""


def test_silent_while_the_screen_was_just_there() -> None:
    held = history(seen("s", 7), *OTHERS, seen("s", 7), *OTHERS[:2])
    assert held.hint(seen("s", 7)) == ""


def test_silent_in_a_polling_loop_and_without_anything_to_compare() -> None:
    held = history(seen("s", 7), *OTHERS)
    assert held.hint(seen("s", 7), polling=True) == ""
    assert held.hint(seen()) == ""


def test_a_screen_seen_ten_thousand_times_is_compared_a_few_times() -> None:
    held = ScreenHistory()
    for number in range(1, 10_001):
        held.add(number, seen("s", number * 0x9E37_79B9_7F4A_7C15 % 2**64))
    assert max(len(v) for v in held._by_key.values()) > LOOKED_AT
    for number, other in enumerate(OTHERS[:3], 10_001):
        held.add(number, other)
    assert "step 9990." in held.hint(seen("s", 9_990 * 0x9E37_79B9_7F4A_7C15 % 2**64))
