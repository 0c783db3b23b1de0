"""Finger movements and key strokes as W3C action sequences."""

from __future__ import annotations

from app.domain.messages import JsonObject

HOLD = 0.05
"""Seconds between down and up of a tap."""
BETWEEN_TAPS = 0.08
PRESS_BEFORE_DRAG = 0.6
"""Longer than the long-press limit of Android and iOS (0.5 s)."""
REST = 0.1
"""At the end of a swipe: a list flings on past what was to be seen if the finger leaves it in
motion. Chromium takes a finger for still after 40 ms, and events may come late."""
STEPS_PER_SECOND = 40
"""A finger that jumps is not seen as a scroll by every page; this many moves are enough."""


class Finger:
    """Builds one finger's movement; x and y are in the unit of the device's window."""

    def __init__(self) -> None:
        self._steps: list[JsonObject] = []

    def down(self, x: float, y: float) -> Finger:
        self._steps.append(
            {"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": "viewport"}
        )
        self._steps.append({"type": "pointerDown", "button": 0})
        return self

    def hold(self, seconds: float) -> Finger:
        self._steps.append({"type": "pause", "duration": round(seconds * 1000)})
        return self

    def move(self, start: tuple[float, float], end: tuple[float, float], seconds: float) -> Finger:
        count = max(2, min(60, round(seconds * STEPS_PER_SECOND)))
        for step in range(1, count + 1):
            part = step / count
            self._steps.append(
                {
                    "type": "pointerMove",
                    "duration": round(seconds * 1000 / count),
                    "x": round(start[0] + (end[0] - start[0]) * part, 1),
                    "y": round(start[1] + (end[1] - start[1]) * part, 1),
                    "origin": "viewport",
                }
            )
        return self

    def up(self) -> Finger:
        self._steps.append({"type": "pointerUp", "button": 0})
        return self

    def actions(self) -> JsonObject:
        """The body of POST /session/{id}/actions."""
        return {
            "actions": [
                {
                    "type": "pointer",
                    "id": "finger",
                    "parameters": {"pointerType": "touch"},
                    "actions": list(self._steps),
                }
            ]
        }


def tap(x: float, y: float) -> JsonObject:
    return Finger().down(x, y).hold(HOLD).up().actions()


def long_press(x: float, y: float, seconds: float) -> JsonObject:
    return Finger().down(x, y).hold(seconds).up().actions()


def double_tap(x: float, y: float) -> JsonObject:
    finger = Finger().down(x, y).hold(HOLD).up().hold(BETWEEN_TAPS)
    return finger.down(x, y).hold(HOLD).up().actions()


def swipe(start: tuple[float, float], end: tuple[float, float], seconds: float) -> JsonObject:
    return Finger().down(*start).move(start, end, seconds).hold(REST).up().actions()


def drag(start: tuple[float, float], end: tuple[float, float], seconds: float) -> JsonObject:
    finger = Finger().down(*start).hold(PRESS_BEFORE_DRAG).move(start, end, seconds)
    return finger.hold(0.1).up().actions()


def keystroke(key: str) -> JsonObject:
    return {
        "actions": [
            {
                "type": "key",
                "id": "keyboard",
                "actions": [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}],
            }
        ]
    }
