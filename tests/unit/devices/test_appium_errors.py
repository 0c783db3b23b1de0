"""What drivers say, as it was recorded, and the error it becomes."""

import pytest
from selenium.common import exceptions as driver
from urllib3 import exceptions as connection

from app.devices.appium_errors import (
    AlertOpen,
    NoAnswer,
    PageLeft,
    PartTimeout,
    alert_text,
    convert,
    session_failure,
)
from app.errors import AbilityMissing, DeviceError, DeviceTimeout, DeviceUnreachable, SessionLost

SAID: list[tuple[Exception, type[DeviceError]]] = [
    (
        driver.InvalidSessionIdException(
            "session deleted as the browser has closed the connection\nfrom disconnected: not "
            "connected to DevTools"
        ),
        SessionLost,
    ),
    (driver.InvalidSessionIdException("invalid session id"), SessionLost),
    (
        driver.InvalidSessionIdException("A session is either terminated or not started"),
        SessionLost,
    ),
    (driver.WebDriverException("tab crashed\n  (Session info: chrome=156)"), SessionLost),
    (
        driver.WebDriverException(
            "Could not proxy command to the remote server. Original error: connect ECONNREFUSED "
            "127.0.0.1:9515"
        ),
        SessionLost,
    ),
    (
        driver.WebDriverException(
            "Could not proxy command to the remote server. Original error: timeout of 240000ms "
            "exceeded"
        ),
        SessionLost,
    ),
    (
        driver.TimeoutException("timeout: Timed out receiving message from renderer: 15.000"),
        SessionLost,
    ),
    (driver.TimeoutException("timeout\nfrom no such execution context"), PageLeft),
    (driver.NoSuchWindowException("no such window: target window already closed"), SessionLost),
    (driver.WebDriverException("Connection error (GET http://127.0.0.1:4731)"), SessionLost),
    (driver.TimeoutException("script timeout"), PartTimeout),
    (
        driver.UnexpectedAlertPresentException("unexpected alert open: {Alert text : Really?}"),
        AlertOpen,
    ),
    (
        driver.UnknownMethodException("unknown command: session/1/contexts"),
        AbilityMissing,
    ),
    (driver.JavascriptException("swipeGesture is not defined"), DeviceError),
    (
        driver.InvalidSelectorException("Locator Strategy 'id' is not supported for this session"),
        AbilityMissing,
    ),
    (driver.MoveTargetOutOfBoundsException("move target out of bounds"), DeviceError),
    (driver.WebDriverException("unknown error: net::ERR_CONNECTION_REFUSED"), DeviceError),
    (driver.InvalidArgumentException("invalid argument"), DeviceError),
    (driver.NoAlertPresentException("no such alert"), DeviceError),
    (
        driver.WebDriverException(
            "Potentially insecure feature 'adb_shell' has not been enabled. If you want to..."
        ),
        AbilityMissing,
    ),
    (
        driver.WebDriverException("Unsupported execute method 'mobile: x'"),
        AbilityMissing,
    ),
    (connection.ReadTimeoutError(None, "/", "Read timed out."), NoAnswer),  # type: ignore[arg-type]
    (connection.ProtocolError("Connection aborted."), SessionLost),
    (
        connection.MaxRetryError(
            None,  # type: ignore[arg-type]
            "/",
            connection.NewConnectionError(None, "Connection refused"),  # type: ignore[arg-type]
        ),
        DeviceUnreachable,
    ),
    (
        connection.MaxRetryError(
            None,  # type: ignore[arg-type]
            "/",
            connection.ReadTimeoutError(None, "/", "Read timed out."),  # type: ignore[arg-type]
        ),
        NoAnswer,
    ),
    (ConnectionResetError("reset"), DeviceUnreachable),
]


@pytest.mark.parametrize(("said", "error"), SAID, ids=lambda value: str(value)[:40])
def test_recorded_failures(said: Exception, error: type[DeviceError]) -> None:
    assert type(convert(said)) is error


def test_a_page_that_never_comes_leaves_the_session() -> None:
    slow = driver.TimeoutException("timeout: Timed out receiving message from renderer: 14.9")
    assert type(convert(slow, navigating=True)) is PartTimeout
    assert isinstance(convert(slow, navigating=True), DeviceTimeout)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("unexpected alert open: {Alert text : Really? : {x}}", "Really? : {x}"),
        ("unexpected alert open: {Alert text: two\nlines}", "two\nlines"),
        ("unexpected alert open: {Alert text : }", ""),
        ("something else", ""),
    ],
)
def test_the_alert_s_own_words(message: str, text: str) -> None:
    assert alert_text(message) == text


def test_messages_are_short_and_without_credentials() -> None:
    long = driver.WebDriverException("a\nb https://me:key@farm/ " + "x" * 900 + "\nStacktrace:\n#0")
    message = convert(long).message
    assert message.startswith("a b https://farm/") and len(message) <= 400
    assert "Stacktrace" not in convert(driver.WebDriverException("no\nStacktrace:\n#0")).message


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("session not created: No matching capabilities found", "lower case"),
        ("Could not find a driver for automationName 'X' and platformName 'Y'", "Appium driver"),
        ("session not created from unknown error: no chrome binary at /x", "appium.chromium"),
        ("session not created: Chrome instance exited", "headless"),
        ("unknown error: unable to discover open pages", "user-data-dir"),
        ("No Chromedriver found that can automate Chrome '156.0.8078'", "chromedriver"),
        ("something new", ""),
    ],
)
def test_a_session_failure_names_the_remedy(said: str, hint: str) -> None:
    failure = session_failure(convert(driver.WebDriverException(said)), "http://127.0.0.1:1")
    assert hint in failure.hint and said[:20] in failure.message
