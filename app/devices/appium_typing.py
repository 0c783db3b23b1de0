"""Types into fields of a web page: text, secrets, option lists, pickers, in frames and shadows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from selenium.webdriver.remote.webelement import WebElement

from app.devices.appium_wire import Wire
from app.devices.keys import KEYS
from app.errors import DeviceError, InvalidInput, SessionLost

LONG = 200
"""Characters; longer texts are inserted at once, since keystrokes take 6 ms each."""
FOCUS_WAIT = 0.6
"""Seconds a page gets to move the focus after a tap."""
MAX_FRAMES = 5
_PICKER_FORMATS = {
    "date": "YYYY-MM-DD",
    "time": "HH:MM",
    "datetime-local": "YYYY-MM-DDTHH:MM",
    "month": "YYYY-MM",
    "week": "YYYY-Www",
    "color": "#rrggbb",
    "range": "a number in its range",
}


class Field(NamedTuple):
    """The focused element; the driver stands in its frame."""

    element: WebElement
    kind: str
    type: str
    multiline: bool
    password: bool
    locked: bool


class Entry(NamedTuple):
    """What is to be typed."""

    text: str
    secret: bool = False
    mode: Literal["replace", "append"] = "replace"
    submit: bool = False


def refuse_key_codes(text: str) -> None:
    """WebDriver reads private code points as keys (Enter, Meta, …), wherever they came from."""
    if any("\ue000" <= character <= "\uf8ff" for character in text):
        raise InvalidInput("The text holds private code points, which a keyboard cannot type.")


class WebTyping:
    """Typing for one Chromium session."""

    def __init__(self, wire: Wire, tap: Callable[[float, float], None]) -> None:
        self._wire = wire
        self._tap = tap
        self._script = files("app.devices").joinpath("field.js").read_text(encoding="utf-8")

    def enter(self, entry: Entry, place: tuple[float, float] | None) -> str:
        """Types, and returns what the field reads afterwards; raises DeviceError."""
        refuse_key_codes(entry.text)
        if place is not None and self._page("at", *place) != "given":
            self._tap(*place)
        with self._focused() as field:
            said = self._fill(field, entry)
            if entry.submit:
                self._wire.type(field.element, KEYS["enter"].web or "")
            return said

    def _fill(self, field: Field, entry: Entry) -> str:
        if field.locked:
            raise DeviceError("The field is read-only or disabled.")
        match field.kind:
            case "select":
                return self._choose(field, entry.text)
            case "picker":
                return self._set(field, entry.text)
            case "file":
                raise DeviceError("Files cannot be chosen: they would come from Artemis' own disk.")
            case "text" | "rich":
                return self._type(field, entry)
        raise DeviceError("Nothing that takes text has the focus.", hint="Tap a field first.")

    def _choose(self, field: Field, text: str) -> str:
        answer = self._page("choose", field.element, text)
        options = ", ".join(answer["options"])
        if answer["chosen"] is None:
            raise DeviceError(f"The list has no single option “{text[:100]}”; it has: {options}.")
        return f"chose “{answer['chosen']}”"

    def _set(self, field: Field, text: str) -> str:
        value = self._page("set", field.element, text)
        if text and value != text:
            form = _PICKER_FORMATS.get(field.type, "another form")
            raise DeviceError(f"The field takes {form}; it now reads “{value}”.")
        return f"the field reads “{value}”"

    def _type(self, field: Field, entry: Entry) -> str:
        hidden = entry.secret or field.password
        if "\n" in entry.text and not field.multiline:
            raise DeviceError("The field takes one line; use submit for Enter.")
        before = "" if hidden else str(self._page("read", field.element) or "")
        if entry.mode == "replace" and (hidden or before):
            self._page("select", field.element)
            self._wire.type(field.element, KEYS["delete"].web or "")
        if entry.text:
            self._send_text(field.element, entry.text)
        return "typed" if hidden else self._read_back(field, entry, before)

    def _send_text(self, element: WebElement, text: str) -> None:
        if len(text) <= LONG:
            self._wire.type(element, text)
        else:
            self._wire.cdp("Input.insertText", text=text)

    def _read_back(self, field: Field, entry: Entry, before: str) -> str:
        value = str(self._page("read", field.element) or "")
        wanted = entry.text if entry.mode == "replace" else before + entry.text
        if _plain(value) == _plain(wanted):
            return f"the field reads “{value[:200]}”"
        untouched = value == before and entry.text != ""
        if untouched or (not entry.text and value.strip()):
            raise DeviceError(f"The field did not take the text; it reads “{value[:200]}”.")
        return f"the field changed the text; it reads “{value[:200]}”"

    @contextmanager
    def _focused(self) -> Iterator[Field]:
        """The focused field, with the driver in its frame; back in the top document afterwards."""
        depth = 0
        try:
            deadline = time.monotonic() + FOCUS_WAIT
            field = self._describe()
            while field is None or field.kind in ("frame", "none"):
                if field is not None and field.kind == "frame" and depth < MAX_FRAMES:
                    self._wire.send("switchToFrame", {"id": field.element})
                    depth += 1
                elif time.monotonic() > deadline:
                    raise DeviceError(
                        "Nothing that takes text has the focus.", hint="Tap a field first."
                    )
                else:
                    time.sleep(0.05)
                field = self._describe()
            yield field
        finally:
            if depth:
                self._leave_frames()

    def _leave_frames(self) -> None:
        try:
            self._wire.send("switchToFrame", {"id": None})
        except SessionLost:
            raise
        except DeviceError:
            pass  # an alert opened by Enter; look() returns to the top document

    def _describe(self) -> Field | None:
        element = self._page("active")
        if not isinstance(element, WebElement):
            return None
        about = self._page("describe", element)
        return Field(
            element,
            kind=about["kind"],
            type=about["type"],
            multiline=about["multiline"],
            password=about["password"],
            locked=about["locked"],
        )

    def _page(self, part: str, *args: object) -> Any:
        return self._wire.script(self._script, part, *args)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\xa0", " ").strip("\n")
