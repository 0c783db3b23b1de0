"""Whether an action is the recorded one again: the same kind, and the same place or text."""

from __future__ import annotations

import re

from app.devices.keys import key_name
from app.devices.recording import RecordedAction, Recording
from app.domain import actions as act

TOLERANCE = 60.0
"""Of 1000: half the height of a list row."""
_OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}


def repeats(action: act.DeviceAction, recorded: RecordedAction, recording: Recording) -> bool:
    """Parts that the recording does not have cannot differ."""
    match action:
        case act.Tap(target=target):
            return recorded.kind == "tap" and _same_target(target, recorded)
        case act.LongPress(target=target):
            return recorded.kind == "long_press" and _same_target(target, recorded)
        case act.DoubleTap(target=target):
            return recorded.kind == "double_tap" and _same_target(target, recorded)
        case act.InputText(text=text):
            return recorded.kind == "type" and _plain(text) == _plain(recorded.text)
        case act.Swipe(start=start, end=end):
            return recorded.kind == "swipe" and _same_way(start, end, recorded)
        case act.PressKey(key=key):
            return recorded.kind == "key" and key_name(key) == key_name(_key(recorded))
        case act.Back():
            return recorded.kind == "key" and key_name(_key(recorded)) == "back"
        case act.Home():
            return recorded.kind == "key" and key_name(_key(recorded)) == "home"
        case act.LaunchApp(app=app):
            return recorded.kind == "launch" and _names(recorded, app)
        case act.TerminateApp(app=app):
            return recorded.kind == "terminate" and _names(recorded, app)
        case act.OpenUrl(url=url):
            return recorded.kind == "launch" and _names(recorded, url)
    return False


def _same_target(target: act.Target, recorded: RecordedAction) -> bool:
    if recorded.text and target.text and _plain(recorded.text) == _plain(target.text):
        return True
    if recorded.start is None:
        return not recorded.text
    x, y = recorded.start
    return abs(target.point.x - x) <= TOLERANCE and abs(target.point.y - y) <= TOLERANCE


def _same_way(start: act.Point, end: act.Point, recorded: RecordedAction) -> bool:
    """A swipe is known by its direction; where it begins hardly matters."""
    ours = _direction(end.x - start.x, end.y - start.y)
    if recorded.start is not None and recorded.end is not None:
        (x, y), (x2, y2) = recorded.start, recorded.end
        return ours is _direction(x2 - x, y2 - y)
    word = re.search(r"\b(up|down|left|right)\b", recorded.raw)
    if word is None:
        return True
    # A scroll or a page is named after the content's side, a swipe after the finger's way.
    about_content = re.search(r"\b(scroll|page)\b", recorded.raw)
    return ours == (_OPPOSITE[word[1]] if about_content else word[1])


def _direction(across: float, down: float) -> act.Direction:
    if abs(across) > abs(down):
        return act.Direction.RIGHT if across > 0 else act.Direction.LEFT
    return act.Direction.DOWN if down > 0 else act.Direction.UP


def _key(recorded: RecordedAction) -> str:
    return recorded.key or recorded.text or recorded.raw


def _names(recorded: RecordedAction, app: str) -> bool:
    wanted = _plain(app)
    known = _plain(recorded.text) or recorded.raw
    return bool(wanted) and (wanted in known or known in wanted)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
