"""Drives a phone-sized Chromium through Appium; its driver has no `mobile:` commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from app.devices import gestures
from app.devices.appium_errors import AlertOpen, NoAnswer, PageLeft
from app.devices.appium_page import WebPage
from app.devices.appium_typing import Entry, WebTyping
from app.devices.appium_wire import Wire
from app.devices.capabilities import HEIGHT, RATIO, WIDTH
from app.devices.keys import find_key, key_name
from app.devices.places import Places
from app.devices.secrets import Redactor
from app.domain import actions as act
from app.domain.config import Platform
from app.domain.messages import JsonObject
from app.domain.screens import Alert, DeviceView, Dialect, Screenshot, Size, UiSource
from app.errors import AbilityMissing, DeviceError, DeviceTimeout, SessionLost

_ERROR_PAGE = "chrome-error:"


class ChromiumPhone:
    """One session; blocking, used by one thread."""

    def __init__(
        self, wire: Wire, places: Places, home: str, redactor: Redactor, now: Callable[[], datetime]
    ) -> None:
        self._wire = wire
        self._places = places
        self._home = home or "about:blank"
        self._redactor = redactor
        self._now = now
        self._typing = WebTyping(wire, self._tap_at)
        self._page = WebPage(wire)
        self._window = Size(width=WIDTH, height=HEIGHT)
        self._landscape = False
        self._handle = ""
        self._handles: list[str] = []
        self._last: tuple[str, str] = ("", "")
        """URL and title of the last look, for when an alert hides them."""

    def start(self) -> None:
        """Opens the home page, as a phone that has just been unlocked."""
        self._handles = self._window_handles()
        self._handle = self._handles[-1]
        self._prepare_window()
        self._open(self._home)
        # Else the first `back` would lead to the browser's own empty page.
        self._wire.cdp("Page.resetNavigationHistory")

    # --- looking ---------------------------------------------------------------------------

    def look(self) -> DeviceView:
        notes = self._follow_windows()
        try:
            return self._look(notes)
        except AlertOpen:
            alert = self._alert_text()
        # It may have been closed again between the two calls.
        return self._look(notes) if alert is None else self._alert_view(alert, notes)

    def _look(self, notes: list[str]) -> DeviceView:
        page, problem, url = self._read_page()
        if self._places.blocked(url):
            notes.append(f"left {url[:200]}: the device may not open it")
            self._leave()
            page, problem, url = self._read_page()
        if str(page.get("url", "")).startswith(_ERROR_PAGE):
            notes.append("the page could not be loaded")
        title = str(page.get("title", ""))
        self._last = (url, title)
        if page:
            self._window = Size(width=int(page["w"]), height=int(page["h"]))
        picture = self._page.picture()
        notes += [picture.note] if picture.note else []
        return DeviceView(
            taken_at=self._now(),
            screenshot=picture.screenshot,
            screenshot_problem=picture.problem,
            source=UiSource(dialect=Dialect.DOM, text=page["json"]) if page else None,
            source_problem=problem,
            window=self._window,
            orientation="landscape" if self._landscape else "portrait",
            url=url,
            title=title,
            toasts=tuple(page.get("toasts", ())),
            windows=len(self._handles),
            notes=tuple(notes),
        )

    def _read_page(self) -> tuple[JsonObject, str, str]:
        """The page, why it is missing, and its address: an error page has one of its own."""
        page, problem = self._page.collect(self._handle)
        url = str(page.get("url", ""))
        if not url or url.startswith(_ERROR_PAGE):
            url = str(self._wire.send("getCurrentUrl") or "")
        return page, problem, url

    def _leave(self) -> None:
        """Away from a page that must not be shown; an error page will do."""
        try:
            self._open(self._home)
        except (SessionLost, AlertOpen, NoAnswer):
            raise
        except DeviceError:
            self._open("about:blank")

    def _alert_text(self) -> str | None:
        try:
            return str(self._wire.send("w3cGetAlertText") or "")
        except (SessionLost, NoAnswer):
            raise
        except DeviceError:
            return None

    def _alert_view(self, text: str, notes: list[str]) -> DeviceView:
        return DeviceView(
            taken_at=self._now(),
            screenshot_problem="an alert is open, and the browser gives no picture then",
            source_problem="an alert is open, and the browser gives no page then",
            window=self._window,
            orientation="landscape" if self._landscape else "portrait",
            url=self._last[0],
            title=self._last[1],
            alert=Alert(text=text),
            windows=len(self._handles),
            notes=tuple(notes),
        )

    def glance(self) -> Screenshot | None:
        return self._page.glance()

    # --- windows ---------------------------------------------------------------------------

    def _window_handles(self) -> list[str]:
        handles = self._wire.send("w3cGetWindowHandles")
        if not isinstance(handles, list) or not handles:
            raise SessionLost("The browser has no window left.")
        return [str(handle) for handle in handles]

    def _follow_windows(self) -> list[str]:
        """Goes to the newest window that was not there before, or away from a closed one."""
        handles = self._window_handles()
        fresh = [handle for handle in handles if handle not in self._handles]
        closed = self._handle not in handles
        self._handles = handles
        if not fresh and not closed:
            return []
        self._handle = fresh[-1] if fresh else handles[-1]
        self._wire.send("switchToWindow", {"handle": self._handle})
        self._prepare_window()
        return ["followed a new tab" if fresh else "the tab was closed; back in the one before"]

    def _prepare_window(self) -> None:
        self._page.watch_toasts()
        if self._landscape:
            self._rotate(landscape=True)

    def _close_tab(self) -> bool:
        """Closes a followed tab; back at its first page leads to the one that opened it."""
        if len(self._handles) < 2:
            return False
        self._wire.send("close")
        self._follow_windows()
        return True

    # --- acting ----------------------------------------------------------------------------

    def perform(self, action: act.DeviceAction) -> str:
        """Performs it and returns a word on how it went; raises ArtemisError."""
        match action:
            case act.Tap(target=target):
                self._tap_at(*self._place(target.point))
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
            case act.PressKey(key=key):
                self._press(key)
            case act.AcceptAlert() | act.DismissAlert():
                self._answer_alert(action)
            case act.SetOrientation(orientation=orientation):
                self._rotate(landscape=orientation == "landscape")
            case _:
                return self._go(action)
        return ""

    def _go(self, action: act.DeviceAction) -> str:
        """The actions that change the page as a whole."""
        match action:
            case act.Back():
                return self._back()
            case act.Home() | act.TerminateApp():
                self._open(self._home)
            case act.LaunchApp(app=app):
                self._open(self._places.app(app))
            case act.OpenUrl(url=url):
                self._open(self._places.web_address(url))
            case act.HideKeyboard():
                raise AbilityMissing("The browser phone has no on-screen keyboard.")
            case _:
                raise AbilityMissing(f"A device does not perform {action.type} by itself.")
        return ""

    def _place(self, point: act.Point) -> tuple[float, float]:
        width, height = self._window.width, self._window.height
        x = min(point.x / act.NORMAL * width, width - 1)
        y = min(point.y / act.NORMAL * height, height - 1)
        return round(x, 1), round(y, 1)

    def _touch(self, body: JsonObject) -> None:
        try:
            self._wire.send("actions", body)
        except PageLeft:
            # The finger was through: it is what led to another page.
            return

    def _tap_at(self, x: float, y: float) -> None:
        self._touch(gestures.tap(x, y))

    def _enter(self, action: act.InputText | act.ClearText) -> str:
        place = self._place(action.target.point) if action.target else None
        if isinstance(action, act.ClearText):
            return self._typing.enter(Entry(""), place)
        text, secret = self._redactor.resolve(action.text)
        return self._typing.enter(Entry(text, secret, action.mode, action.submit), place)

    def _press(self, key: str) -> None:
        if key_name(key) in ("back", "home"):
            self._go(act.Back() if key_name(key) == "back" else act.Home())
            return
        self._touch(gestures.keystroke(find_key(key, Platform.CHROMIUM).web or ""))

    def _answer_alert(self, action: act.AcceptAlert | act.DismissAlert) -> None:
        if isinstance(action, act.DismissAlert):
            self._wire.send("w3cDismissAlert")
            return
        if action.text is not None:
            text, _ = self._redactor.resolve(action.text)
            self._wire.send("w3cSetAlertValue", {"value": text, "text": text})
        self._wire.send("w3cAcceptAlert")

    def _open(self, url: str) -> None:
        """Loads a page. A failed load is an error, a slow one leaves the outcome open."""
        try:
            self._wire.send("get", {"url": url}, navigating=True)
        except DeviceTimeout as error:
            if isinstance(error, NoAnswer):
                raise SessionLost("The page hangs while it loads.") from None
            raise
        try:
            loaded = str(self._wire.script("return location.href"))
        except AlertOpen:
            return  # opened by the new page; the next look tells of it
        if loaded.startswith(_ERROR_PAGE):
            raise DeviceError(f"{url[:200]} could not be loaded.")

    def _back(self) -> str:
        history = self._wire.cdp("Page.getNavigationHistory")
        if history.get("currentIndex", 1) == 0:
            if self._close_tab():
                return "closed the tab"
            return "there is no page before this one"
        self._wire.send("goBack", navigating=True)
        return ""

    def _rotate(self, *, landscape: bool) -> None:
        width, height = (HEIGHT, WIDTH) if landscape else (WIDTH, HEIGHT)
        kind = "landscapePrimary" if landscape else "portraitPrimary"
        self._wire.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=RATIO,
            mobile=True,
            screenWidth=width,
            screenHeight=height,
            screenOrientation={"type": kind, "angle": 90 if landscape else 0},
        )
        self._landscape = landscape
        self._window = Size(width=width, height=height)

    def shell(self, command: Sequence[str]) -> str:
        raise AbilityMissing("The browser phone has no shell.")

    def ping(self) -> None:
        self._window_handles()
