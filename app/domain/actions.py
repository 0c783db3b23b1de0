"""What an operator can do to a device, and what came of it.

Longer than most modules: it is one list of small values, easier to read whole.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from app.domain.values import Value

NORMAL = 1000
"""Points are 0-1000 in both directions, normalised to the screenshot."""

Coordinate = Annotated[float, Field(ge=0, le=NORMAL, allow_inf_nan=False)]


class Point(Value):
    """A place on the screen, 0-1000 from the left and from the top."""

    x: Coordinate
    y: Coordinate


class LabelSource(StrEnum):
    """Where the meaning of a target came from."""

    INDEX = "index"
    """The model named an element of the current list."""
    HIT_TEST = "hit_test"
    """The model gave a point; the smallest element under it lends its label."""
    OCR = "ocr"
    """The element was read from the picture."""
    NONE = "none"
    """A bare point."""


class Target(Value):
    """Where an action lands, with its meaning, resolved before the device is touched."""

    point: Point
    element: int | None = None
    """Index in the element list of the observation it was resolved against."""
    text: str = ""
    role: str = ""
    resource_id: str = ""
    password: bool = False
    label_source: LabelSource = LabelSource.NONE

    def label(self) -> str:
        """A short text for people: the element's text, else its id, else the point."""
        return self.text or self.resource_id or f"({self.point.x:.0f}, {self.point.y:.0f})"


class Tap(Value):
    type: Literal["tap"] = "tap"
    target: Target


class LongPress(Value):
    type: Literal["long_press"] = "long_press"
    target: Target
    seconds: float = Field(default=1.0, gt=0, le=10)


class DoubleTap(Value):
    type: Literal["double_tap"] = "double_tap"
    target: Target


class InputText(Value):
    """Types into a field; without a target, into the focused one."""

    type: Literal["input_text"] = "input_text"
    text: str = Field(max_length=10_000)
    """May be `secret:NAME`; the value is put in at the device and stands nowhere else."""
    target: Target | None = None
    mode: Literal["replace", "append"] = "replace"
    submit: bool = False


class ClearText(Value):
    type: Literal["clear_text"] = "clear_text"
    target: Target | None = None


class Direction(StrEnum):
    """Which way the finger moves."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"


class Swipe(Value):
    """Moves a finger; the content follows it (a swipe up shows what is below)."""

    type: Literal["swipe"] = "swipe"
    start: Point
    end: Point
    seconds: float = Field(default=0.3, gt=0, le=10)


class ScrollTo(Value):
    """Scrolls until a text is in view, at most `max_swipes` times."""

    type: Literal["scroll_to"] = "scroll_to"
    text: str = Field(min_length=1, max_length=500)
    direction: Direction = Direction.UP
    """The way the finger moves; `up` looks further down the page."""
    max_swipes: int = Field(default=10, ge=1, le=30)


class Drag(Value):
    """Presses, holds, then moves and releases."""

    type: Literal["drag"] = "drag"
    start: Target
    end: Target
    seconds: float = Field(default=0.8, gt=0, le=10)


class PressKey(Value):
    type: Literal["press_key"] = "press_key"
    key: str = Field(min_length=1, max_length=40)
    """A name of devices' key table: enter, tab, escape, delete, volume_up, …"""


class Back(Value):
    type: Literal["back"] = "back"


class Home(Value):
    type: Literal["home"] = "home"


class LaunchApp(Value):
    type: Literal["launch_app"] = "launch_app"
    app: str = Field(min_length=1, max_length=200)
    """A name of the device's `apps` table, a package or bundle id, or a URL."""


class TerminateApp(Value):
    type: Literal["terminate_app"] = "terminate_app"
    app: str = Field(min_length=1, max_length=200)


class OpenUrl(Value):
    type: Literal["open_url"] = "open_url"
    url: str = Field(min_length=1, max_length=2_000)


class HideKeyboard(Value):
    type: Literal["hide_keyboard"] = "hide_keyboard"


class SetOrientation(Value):
    type: Literal["set_orientation"] = "set_orientation"
    orientation: Literal["portrait", "landscape"]


class AcceptAlert(Value):
    """Accepts the open alert, typing `text` first when it asks for one."""

    type: Literal["accept_alert"] = "accept_alert"
    text: str | None = Field(default=None, max_length=1_000)


class DismissAlert(Value):
    type: Literal["dismiss_alert"] = "dismiss_alert"


class Wait(Value):
    type: Literal["wait"] = "wait"
    seconds: float = Field(gt=0, le=60)


class Finish(Value):
    """Ends the task with an answer."""

    type: Literal["finish"] = "finish"
    answer: str = Field(max_length=20_000)


class GiveUp(Value):
    """Ends the task without reaching the goal."""

    type: Literal["give_up"] = "give_up"
    reason: str = Field(min_length=1, max_length=5_000)


_OnDevice: TypeAlias = (
    Tap
    | LongPress
    | DoubleTap
    | InputText
    | ClearText
    | Swipe
    | ScrollTo
    | Drag
    | PressKey
    | Back
    | Home
    | LaunchApp
    | TerminateApp
    | OpenUrl
    | HideKeyboard
    | SetOrientation
    | AcceptAlert
    | DismissAlert
    | Wait
)

DeviceAction: TypeAlias = Annotated[_OnDevice, Field(discriminator="type")]
"""What a Device performs. `wait` and `scroll_to` are performed by the Validator in parts."""

Action: TypeAlias = Annotated[_OnDevice | Finish | GiveUp, Field(discriminator="type")]
"""What ends an operator's turn."""

ACTION: TypeAdapter[Action] = TypeAdapter(Action)

IRREVERSIBLE_WORDS = frozenset(
    "delete remove send pay buy purchase order checkout submit confirm transfer reset erase "
    "uninstall unsubscribe publish post".split()
)
"""A target whose text holds one of these words is treated as having an outside effect."""


class Outcome(StrEnum):
    """What a device said of an action. An unknown outcome is a value, never an exception."""

    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"
    """Timed out or the session was lost in mid-action: it may have happened."""


class Receipt(Value):
    """The device's own word on one action."""

    outcome: Outcome
    message: str = ""
    code: str = ""
    """The error's code where the outcome is not ok (errors.py)."""
    seconds: float = 0.0


class Verdict(StrEnum):
    """What the Validator saw of one step."""

    EXECUTED = "executed"
    NO_VISIBLE_CHANGE = "no_visible_change"
    UNCERTAIN = "uncertain"
    ERROR = "error"
    BLOCKED = "blocked"
    """Refused by the Execution check; the device was not touched."""


def describe(action: Action) -> str:
    """One line for people and for the ledger; quotes what the screen or the model said."""
    match action:
        case Tap(target=t):
            return f"tap [{t.label()}]"
        case LongPress(target=t):
            return f"long press [{t.label()}]"
        case DoubleTap(target=t):
            return f"double tap [{t.label()}]"
        case InputText(target=target, mode=mode, submit=submit):
            where = f" into [{target.label()}]" if target else ""
            return f"{mode} text “{action.text}”{where}{' and submit' if submit else ''}"
        case ClearText(target=target):
            return f"clear [{target.label()}]" if target else "clear the focused field"
        case Swipe(start=s, end=e):
            return f"swipe ({s.x:.0f}, {s.y:.0f}) → ({e.x:.0f}, {e.y:.0f})"
        case ScrollTo(text=text):
            return f"scroll to “{text}”"
        case Drag(start=start, end=end):
            return f"drag [{start.label()}] to [{end.label()}]"
        case PressKey(key=key):
            return f"press {key}"
        case LaunchApp(app=app):
            return f"launch {app}"
        case TerminateApp(app=app):
            return f"terminate {app}"
        case OpenUrl(url=url):
            return f"open {url}"
        case SetOrientation(orientation=orientation):
            return f"rotate to {orientation}"
        case AcceptAlert(text=text):
            return f"accept the alert with “{text}”" if text else "accept the alert"
        case DismissAlert():
            return "dismiss the alert"
        case HideKeyboard():
            return "hide the keyboard"
        case Wait(seconds=seconds):
            return f"wait {seconds:g} s"
        case Finish(answer=answer):
            return f"finish: “{answer}”"
        case GiveUp(reason=reason):
            return f"give up: “{reason}”"
        case Back() | Home():
            return action.type
