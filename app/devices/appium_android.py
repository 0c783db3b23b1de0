"""Drives an Android phone through Appium's UiAutomator2 driver."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from html import unescape

from selenium.webdriver.remote.webelement import WebElement

from app.devices.appium_native import NativePhone
from app.devices.keys import find_key
from app.domain import actions as act
from app.domain.config import Platform
from app.domain.screens import Dialect, Screenshot, Size
from app.errors import DeviceError

_TOAST = re.compile(r"<(?:android\.widget\.Toast|node)\b[^>]*>")
_ATTRIBUTE = re.compile(r'\b(class|text)="([^"]*)"')
_PACKAGE = re.compile(r'\bpackage="([^"]+)"')
_SYSTEM = ("com.android.systemui", "android", "com.android.permissioncontroller")
MAX_SHELL = 200_000
"""Characters of a command's output."""
SHELL_TIMEOUT = 20_000
"""Milliseconds the driver waits for a command."""


class AndroidPhone(NativePhone):
    """One UiAutomator2 session."""

    dialect = Dialect.UIAUTOMATOR2

    def _front_app(self) -> tuple[str, str]:
        package = self._try(lambda: self._wire.mobile("getCurrentPackage"))
        activity = self._try(lambda: self._wire.mobile("getCurrentActivity"))
        return str(package or ""), str(activity or "")

    def _other_app(self, package: str, source: str) -> str:
        counts = Counter(_PACKAGE.findall(source))
        if not counts or package in counts:
            return ""
        other = counts.most_common(1)[0][0]
        return "" if other in _SYSTEM else other

    def _size(self, shot: Screenshot | None) -> Size:
        """Bounds are pixels of the whole display, but the driver's window may leave out the bars;
        a picture that is somewhat larger than the window shows the whole display."""
        rect = self._rect()
        if shot is None:
            return rect
        if not rect.width or not rect.height:
            return Size(width=shot.width, height=shot.height)
        across, down = shot.width / rect.width, shot.height / rect.height
        if 1 <= across < 1.3 and 1 <= down < 1.3:
            return Size(width=shot.width, height=shot.height)
        return rect

    def _toasts(self, source: str) -> tuple[str, ...]:
        if "android.widget.Toast" not in source:
            return ()
        texts = []
        for tag in _TOAST.findall(source):
            found = dict(_ATTRIBUTE.findall(tag))
            is_toast = tag.startswith("<android.widget.Toast") or (
                found.get("class") == "android.widget.Toast"
            )
            if is_toast and found.get("text"):
                texts.append(unescape(found["text"])[:200])
        return tuple(texts[:20])

    def _is_password(self, element: WebElement) -> bool:
        return self._attribute(element, "password") == "true"

    def _press(self, key: str) -> None:
        self._wire.mobile("pressKey", keycode=find_key(key, Platform.ANDROID).android)

    def _launch(self, target: str) -> None:
        if "://" in target:
            self._open_url(target)
        elif "/" in target:
            self._wire.mobile("startActivity", intent=target)
        else:
            self._wire.mobile("activateApp", appId=target)

    def _terminate(self, target: str) -> None:
        if "://" in target:
            raise DeviceError("An address cannot be terminated; name the browser's package.")
        self._wire.mobile("terminateApp", appId=target.partition("/")[0])

    def _open_url(self, url: str) -> None:
        self._wire.mobile("deepLink", url=url)

    def _answer_alert(self, action: act.AcceptAlert | act.DismissAlert) -> None:
        if isinstance(action, act.AcceptAlert):
            if action.text is not None:
                raise DeviceError("Type into the dialog's field first, then accept it.")
            self._wire.mobile("acceptAlert")
        else:
            self._wire.mobile("dismissAlert")

    def shell(self, command: Sequence[str]) -> str:
        """Each argument is quoted, since the device joins them with spaces for its own shell."""
        if not command:
            raise DeviceError("The command is empty.")
        first, *rest = (shlex.quote(part) for part in command)
        answer = self._wire.mobile("shell", command=first, args=rest, timeout=SHELL_TIMEOUT)
        if isinstance(answer, dict):
            answer = f"{answer.get('stdout', '')}{answer.get('stderr', '')}"
        text = str(answer if answer is not None else "")
        return text if len(text) <= MAX_SHELL else f"{text[:MAX_SHELL]}…"
