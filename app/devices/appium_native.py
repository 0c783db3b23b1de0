"""What Android and iOS have in common when driven through Appium; the app's own context only."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from selenium.webdriver.remote.webelement import WebElement

from app.devices import gestures
from app.devices.appium_errors import NoAnswer
from app.devices.appium_typing import Entry, refuse_key_codes
from app.devices.appium_wire import Wire
from app.devices.pictures import Picture, read_picture
from app.devices.places import Places
from app.devices.secrets import Redactor
from app.domain import actions as act
from app.domain.messages import JsonObject
from app.domain.screens import Alert, DeviceView, Dialect, Screenshot, Size, UiSource
from app.errors import AbilityMissing, DeviceError, DeviceUnreachable, SessionLost

MAX_SOURCE = 64 * 1024 * 1024
"""Characters; perception has its own, lower bound."""
FOCUS_WAIT = 2.0
"""Seconds a native field gets to take the focus after a tap."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class NativePhone(ABC):
    """One session; blocking, used by one thread."""

    dialect: Dialect

    def __init__(
        self, wire: Wire, places: Places, redactor: Redactor, now: Callable[[], datetime]
    ) -> None:
        self._wire = wire
        self._places = places
        self._redactor = redactor
        self._now = now
        self._window = Size(width=0, height=0)

    def start(self) -> None:
        self._window = self._rect()

    # --- looking ---------------------------------------------------------------------------

    def look(self) -> DeviceView:
        picture = self._picture()
        text, problem = self._source()
        if not picture.screenshot and not text and "time" in picture.problem and "time" in problem:
            raise SessionLost("The device answers neither with a picture nor with its UI tree.")
        package, activity = self._front_app()
        notes = [picture.note] if picture.note else []
        if package and text and (again := self._other_app(package, text)):
            text, problem = self._source()
            if self._other_app(package, text):
                notes.append(f"the UI tree belongs to {again} while {package} is in front")
        self._window = self._size(picture.screenshot)
        return DeviceView(
            taken_at=self._now(),
            screenshot=picture.screenshot,
            screenshot_problem=picture.problem,
            source=UiSource(dialect=self.dialect, text=text) if text else None,
            source_problem=problem,
            window=self._window,
            orientation=self._orientation(picture.screenshot),
            package=package,
            activity=activity,
            alert=self._alert(),
            keyboard_shown=self._keyboard(),
            toasts=self._toasts(text),
            notes=tuple(notes),
        )

    def glance(self) -> Screenshot | None:
        return self._picture().screenshot

    def _picture(self) -> Picture:
        try:
            return read_picture(self._wire.send("screenshot"))
        except (SessionLost, DeviceUnreachable):
            raise
        except DeviceError as error:
            return Picture(None, f"the screenshot was refused: {error.message}")

    def _source(self) -> tuple[str, str]:
        """The UI source, or an empty text with the reason; a refusal is asked once more."""
        problem = ""
        for _ in range(2):
            try:
                answer = self._wire.send("getPageSource")
            except (SessionLost, DeviceUnreachable):
                raise
            except NoAnswer as error:
                return "", error.message
            except DeviceError as error:
                problem = f"the UI tree was refused: {error.message}"
                continue
            if isinstance(answer, str) and answer.strip():
                return self._readable(answer)
            problem = "the device sent an empty UI tree"
        return "", problem

    def _readable(self, text: str) -> tuple[str, str]:
        if len(text) > MAX_SOURCE:
            return "", f"the UI tree is too large ({len(text)} characters)"
        # Half an emoji can be neither stored nor sent.
        return _SURROGATE.sub("\ufffd", text), ""

    def _try(self, ask: Callable[[], Any]) -> Any:
        """A detail that the view can do without."""
        try:
            return ask()
        except (SessionLost, DeviceUnreachable):
            raise
        except DeviceError:
            return None

    def _rect(self) -> Size:
        rect = self._try(lambda: self._wire.send("getWindowRect"))
        if not isinstance(rect, dict):
            return self._window
        width, height = rect.get("width"), rect.get("height")
        if not isinstance(width, int | float) or not isinstance(height, int | float):
            return self._window
        return Size(width=max(0, round(width)), height=max(0, round(height)))

    def _orientation(self, shot: Screenshot | None) -> str:
        wide = shot.width > shot.height if shot else self._window.width > self._window.height
        return "landscape" if wide else "portrait"

    def _keyboard(self) -> bool | None:
        shown = self._try(lambda: self._wire.mobile("isKeyboardShown"))
        return shown if isinstance(shown, bool) else None

    def _alert(self) -> Alert | None:
        return None

    def _toasts(self, source: str) -> tuple[str, ...]:
        return ()

    @abstractmethod
    def _front_app(self) -> tuple[str, str]:
        """Package or bundle id, and activity, of the app in front."""

    def _other_app(self, package: str, source: str) -> str:
        """The app the UI source shows, where it is not the one in front."""
        return ""

    @abstractmethod
    def _size(self, shot: Screenshot | None) -> Size:
        """The window in the unit of element bounds and of taps."""

    # --- acting ----------------------------------------------------------------------------

    def perform(self, action: act.DeviceAction) -> str:
        """Performs it and returns a word on how it went; raises ArtemisError."""
        match action:
            case act.Tap(target=target):
                self._touch(gestures.tap(*self._place(target.point)))
            case act.LongPress(target=target, seconds=seconds):
                self._touch(gestures.long_press(*self._place(target.point), seconds))
            case act.DoubleTap(target=target):
                self._touch(gestures.double_tap(*self._place(target.point)))
            case act.Swipe(start=start, end=end, seconds=seconds):
                self._touch(gestures.swipe(self._place(start), self._place(end), seconds))
            case act.Drag(start=a, end=b, seconds=seconds):
                self._touch(gestures.drag(self._place(a.point), self._place(b.point), seconds))
            case act.InputText() | act.ClearText():
                return self._enter(action)
            case act.AcceptAlert() | act.DismissAlert():
                self._answer_alert(action)
            case act.SetOrientation(orientation=orientation):
                self._wire.send("setScreenOrientation", {"orientation": orientation.upper()})
                self._window = self._rect()
            case _:
                return self._go(action)
        return ""

    def _go(self, action: act.DeviceAction) -> str:
        match action:
            case act.PressKey(key=key):
                self._press(key)
            case act.Back():
                self._wire.send("goBack")
            case act.Home():
                self._press("home")
            case act.LaunchApp(app=app):
                self._launch(self._places.app(app))
            case act.TerminateApp(app=app):
                self._terminate(self._places.app(app))
            case act.OpenUrl(url=url):
                self._places.check(url.strip())
                self._open_url(url.strip())
            case act.HideKeyboard():
                self._wire.mobile("hideKeyboard")
            case _:
                raise AbilityMissing(f"A device does not perform {action.type} by itself.")
        return ""

    def _place(self, point: act.Point) -> tuple[int, int]:
        width, height = self._window.width, self._window.height
        if not width or not height:
            raise DeviceError("The device does not say how large its screen is.")
        x, y = point.x / act.NORMAL * width, point.y / act.NORMAL * height
        return min(round(x), width - 1), min(round(y), height - 1)

    def _touch(self, body: JsonObject) -> None:
        self._wire.send("actions", body)

    def _enter(self, action: act.InputText | act.ClearText) -> str:
        if isinstance(action, act.InputText):
            text, secret = self._redactor.resolve(action.text)
            entry = Entry(text, secret, action.mode, action.submit)
        else:
            entry = Entry("")
        refuse_key_codes(entry.text)
        if action.target:
            self._touch(gestures.tap(*self._place(action.target.point)))
        element = self._focused()
        hidden = entry.secret or self._is_password(element)
        before = "" if hidden else self._text_of(element)
        if entry.mode == "replace":
            self._wire.send("clearElement", {"id": element.id})
        if entry.text:
            self._wire.type(element, entry.text)
        said = "typed" if hidden else self._read_back(element, entry, before)
        if entry.submit:
            self._press("enter")
        return said

    def _focused(self) -> WebElement:
        deadline = time.monotonic() + FOCUS_WAIT
        while True:
            element = self._try(self._wire.active_element)
            if isinstance(element, WebElement):
                return element
            if time.monotonic() > deadline:
                raise DeviceError(
                    "Nothing that takes text has the focus.", hint="Tap a field first."
                )
            time.sleep(0.1)

    def _text_of(self, element: WebElement) -> str:
        text = self._try(lambda: self._wire.send("getElementText", {"id": element.id}))
        return text if isinstance(text, str) else ""

    def _read_back(self, element: WebElement, entry: Entry, before: str) -> str:
        value = self._text_of(element)
        if entry.text and entry.text in value:
            return f"the field reads “{value[:200]}”"
        if entry.text and value == before:
            raise DeviceError(f"The field did not take the text; it reads “{value[:200]}”.")
        # An empty field answers with its hint, so a cleared one is not checked.
        return f"the field reads “{value[:200]}”" if entry.text else "cleared"

    def _attribute(self, element: WebElement, name: str) -> str:
        params = {"id": element.id, "name": name}
        return str(self._try(lambda: self._wire.send("getElementAttribute", params)) or "")

    @abstractmethod
    def _is_password(self, element: WebElement) -> bool: ...

    @abstractmethod
    def _press(self, key: str) -> None: ...

    @abstractmethod
    def _launch(self, target: str) -> None: ...

    @abstractmethod
    def _terminate(self, target: str) -> None: ...

    @abstractmethod
    def _open_url(self, url: str) -> None: ...

    @abstractmethod
    def _answer_alert(self, action: act.AcceptAlert | act.DismissAlert) -> None: ...

    def shell(self, command: Sequence[str]) -> str:
        raise AbilityMissing("This driver has no shell.")

    def ping(self) -> None:
        self._wire.send("getWindowRect")
