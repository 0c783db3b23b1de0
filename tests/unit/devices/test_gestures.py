"""Finger movements as a driver gets them."""

from typing import Any

from app.devices import gestures

STILL = 40
"""Milliseconds after which Chromium takes a resting finger for still."""


def steps_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = body["actions"][0]["actions"]
    return steps


def test_a_swipe_rests_before_the_finger_leaves_so_that_nothing_flings_on() -> None:
    *_, rest, up = steps_of(gestures.swipe((200, 700), (200, 250), 0.3))
    assert up["type"] == "pointerUp"
    assert rest["type"] == "pause"
    assert rest["duration"] > 2 * STILL


def test_a_swipe_goes_through_many_points_from_start_to_end() -> None:
    steps = steps_of(gestures.swipe((200, 700), (200, 250), 0.3))
    moves = [(s["x"], s["y"]) for s in steps if s["type"] == "pointerMove"]
    assert moves[0] == (200, 700)
    assert moves[-1] == (200, 250)
    assert len(moves) > 10
    assert [y for _, y in moves] == sorted((y for _, y in moves), reverse=True)
