"""Drives an iPhone through Appium's XCUITest driver."""

from __future__ import annotations

from selenium.webdriver.remote.webelement import WebElement

from app.devices.appium_native import NativePhone
from app.devices.keys import find_key
from app.domain import actions as act
from app.domain.config import Platform
from app.domain.screens import Alert, Dialect, Screenshot, Size
from app.errors import DeviceError

_BUTTON = "button:"


class IosPhone(NativePhone):
    """One XCUITest session."""

    dialect = Dialect.XCUITEST

    def _front_app(self) -> tuple[str, str]:
        info = self._try(lambda: self._wire.mobile("activeAppInfo"))
        return (str(info.get("bundleId") or ""), "") if isinstance(info, dict) else ("", "")

    def _size(self, shot: Screenshot | None) -> Size:
        """In points. Some versions keep answering with the portrait size on a rotated phone."""
        rect = self._rect()
        if shot is not None and (shot.width > shot.height) != (rect.width > rect.height):
            return Size(width=rect.height, height=rect.width)
        return rect

    def _alert(self) -> Alert | None:
        text = self._try(lambda: self._wire.send("w3cGetAlertText"))
        return Alert(text=text) if isinstance(text, str) and text else None

    def _is_password(self, element: WebElement) -> bool:
        return self._attribute(element, "type") == "XCUIElementTypeSecureTextField"

    def _press(self, key: str) -> None:
        code = find_key(key, Platform.IOS).ios or ""
        if code.startswith(_BUTTON):
            self._wire.mobile("pressButton", name=code.removeprefix(_BUTTON))
        else:
            self._wire.type(self._focused(), code)

    def _launch(self, target: str) -> None:
        if "://" in target:
            self._open_url(target)
        else:
            self._wire.mobile("activateApp", bundleId=target)

    def _terminate(self, target: str) -> None:
        if "://" in target:
            raise DeviceError("An address cannot be terminated; name the app's bundle id.")
        self._wire.mobile("terminateApp", bundleId=target)

    def _open_url(self, url: str) -> None:
        self._wire.mobile("deepLink", url=url)

    def _answer_alert(self, action: act.AcceptAlert | act.DismissAlert) -> None:
        if isinstance(action, act.DismissAlert):
            self._wire.send("w3cDismissAlert")
            return
        if action.text is not None:
            text, _ = self._redactor.resolve(action.text)
            self._wire.send("w3cSetAlertValue", {"value": text, "text": text})
        self._wire.send("w3cAcceptAlert")
