"""What drivers and their connections say when something fails, as errors of Artemis."""

from __future__ import annotations

import re

from selenium.common import exceptions as driver_errors
from urllib3 import exceptions as connection_errors

from app.errors import (
    AbilityMissing,
    DeviceError,
    DeviceTimeout,
    DeviceUnreachable,
    SessionLost,
)


class AlertOpen(DeviceError):
    """An alert is open, and nothing else answers until it is closed."""

    code = "alert_open"


class PartTimeout(DeviceTimeout):
    """The page was not ready in time; the session is still alive."""


class PageLeft(DeviceTimeout):
    """The page was left while the driver still worked in it; the session is still alive."""


class NoAnswer(DeviceTimeout):
    """The device's server did not answer in time."""


_LOST = (
    "tab crashed",
    "target frame detached",
    "not connected to devtools",
    "disconnected",
    "could not proxy command",
    "session deleted",
    "session is either terminated or not started",
    "invalid session id",
    "instrumentation process is not running",
    "instrumentation process cannot be initialized",
    "socket hang up",
    "econnrefused",
    "econnreset",
    "chrome not reachable",
    "from renderer",
    "connection error (get",
    "connection error (post",
)
_MISSING = (
    "unknown command",
    "unknown method",
    "unknown mobile command",
    "not implemented",
    "unsupported execute method",
    "has not been implemented",
    "not supported for this",
)
_INSECURE = "potentially insecure feature"
_URL_USER = re.compile(r"(https?://)[^/\s@]+@")
_NOISE = re.compile(
    r"(?:;? ?for documentation on this error|\n? ?Stacktrace:|\n? ?\(Session info:).*", re.I | re.S
)
MAX_MESSAGE = 400


def message_of(error: BaseException) -> str:
    """The first words of a failure, without stack traces and without credentials."""
    raw = error.msg if isinstance(error, driver_errors.WebDriverException) else str(error)
    text = " ".join(_NOISE.sub("", str(raw or type(error).__name__)).split())
    return _URL_USER.sub(r"\1", text)[:MAX_MESSAGE]


def convert(error: Exception, *, navigating: bool = False) -> DeviceError:
    """The error of errors.py for a foreign one.

    `navigating`: a page that is never delivered ends `get` with the same time-out as a page
    that hangs, but leaves the session usable.
    """
    text = message_of(error)
    if isinstance(error, connection_errors.HTTPError):
        return _connection_failure(error, text)
    if isinstance(error, OSError):
        return DeviceUnreachable(f"The connection to the device's server failed: {text}")
    return _driver_failure(error, text, navigating)


def _connection_failure(error: connection_errors.HTTPError, text: str) -> DeviceError:
    reason = error.reason if isinstance(error, connection_errors.MaxRetryError) else error
    if isinstance(reason, connection_errors.ReadTimeoutError):
        return NoAnswer()
    refused = (
        connection_errors.NewConnectionError,
        connection_errors.ConnectTimeoutError,
        connection_errors.NameResolutionError,
        connection_errors.SSLError,
        connection_errors.ProxyError,
    )
    if isinstance(reason, refused):
        return DeviceUnreachable(f"The device's server cannot be reached: {text}")
    return SessionLost(f"The connection to the device broke: {text}")


def _driver_failure(error: Exception, text: str, navigating: bool) -> DeviceError:
    low = text.lower()
    match error:
        case driver_errors.UnexpectedAlertPresentException():
            return AlertOpen(f"An alert is open: {alert_text(text)}")
        case driver_errors.InvalidSessionIdException():
            return SessionLost(f"The device session has ended: {text}")
        case driver_errors.TimeoutException() if navigating:
            return PartTimeout(f"The page did not load in time: {text}")
        case driver_errors.TimeoutException() if "script timeout" in low:
            return PartTimeout(f"A script in the page did not end in time: {text}")
        case driver_errors.TimeoutException() if "no such execution context" in low:
            return PageLeft(f"The page was left in the middle of it: {text}")
        case driver_errors.TimeoutException():
            return SessionLost(f"The page hangs: {text}")
        case driver_errors.NoSuchWindowException():
            return SessionLost(f"The window is closed: {text}")
    if _INSECURE in low:
        return AbilityMissing(text, hint="Start Appium with --allow-insecure for this feature.")
    if any(sign in low for sign in _LOST):
        return SessionLost(f"The device session has ended: {text}")
    if isinstance(error, driver_errors.UnknownMethodException) or any(s in low for s in _MISSING):
        return AbilityMissing(f"The driver cannot do this: {text}")
    if isinstance(error, driver_errors.MoveTargetOutOfBoundsException):
        return DeviceError(f"The point is outside the screen: {text}")
    return DeviceError(text)


_ALERT = re.compile(r"\{Alert text ?: ?(.*)\}", re.S)


def alert_text(message: str) -> str:
    """The alert's own words out of the driver's message."""
    match = _ALERT.search(message)
    return match[1] if match else ""


SESSION_HINTS = (
    (
        "no matching capabilities found",
        "platformName must be linux, browserName chrome, lower case.",
    ),
    ("could not find a driver for", "Install that Appium driver, or correct platformName."),
    ("no chrome binary", "Set the browser's path: appium.chromium."),
    ("chrome instance exited", "Run headless; as root also with --no-sandbox."),
    ("unable to discover open pages", "Take --user-data-dir out of the capabilities."),
    ("no chromedriver found", "Set the driver's path: appium.chromedriver; versions must match."),
    ("only supports chrome version", "Install a chromedriver of the browser's own version."),
    ("neither android_home nor android_sdk_root", "Start Appium with ANDROID_HOME set."),
    ("could not find a connected android device", "Connect the phone and allow USB debugging."),
    ("unable to launch webdriveragent", "Sign WebDriverAgent for this phone (docs/devices.md)."),
    ("unknown device or simulator udid", "Correct appium:udid."),
    ("authorization required", "The server wants credentials: put them into its address."),
    ("unauthorized", "The server does not accept the credentials."),
)


def session_failure(error: DeviceError, server: str) -> DeviceError:
    """What is said when no session could be opened, with the remedy where it is known."""
    if isinstance(error, DeviceUnreachable | NoAnswer):
        return DeviceUnreachable(
            f"No answer from the Appium server {server}: {error.message}",
            hint="Start it, or correct the device's server address.",
        )
    low = error.message.lower()
    hint = next((remedy for sign, remedy in SESSION_HINTS if sign in low), "")
    return DeviceError(f"No session could be opened at {server}: {error.message}", hint=hint)
