"""The connection to an Appium server: one session's requests and what they answer."""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import ParseResult, unquote, urlsplit

from appium import webdriver
from appium.options.common.base import AppiumOptions
from appium.webdriver.appium_connection import AppiumConnection
from appium.webdriver.client_config import AppiumClientConfig
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.proxy import Proxy, ProxyType
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.remote.webelement import WebElement
from urllib3.exceptions import HTTPError

from app.devices.appium_errors import convert, session_failure
from app.devices.places import bare_url, is_local
from app.domain.messages import JsonObject
from app.errors import DeviceError, DeviceUnreachable

T = TypeVar("T")


class _Connection(AppiumConnection):
    """Appium's connection without its class-wide header.

    The original keeps the idempotency key of a new session where other threads' requests pick
    it up; Appium then answers them with the wrong session, or not at all.
    """

    @classmethod
    def get_remote_connection_headers(
        cls, parsed_url: ParseResult, keep_alive: bool = True
    ) -> dict[str, Any]:
        inherited = super(AppiumConnection, cls).get_remote_connection_headers
        headers: dict[str, Any] = inherited(parsed_url, keep_alive=keep_alive)
        if parsed_url.path.endswith("/session"):
            headers["X-Idempotency-Key"] = str(uuid.uuid4())
        return headers


class Wire:
    """One session. Blocking; every call ends at the client time-out at the latest."""

    def __init__(self, driver: webdriver.Remote) -> None:
        self._driver = driver
        self.capabilities: JsonObject = dict(driver.capabilities)

    @property
    def browser_pid(self) -> int:
        pid = self.capabilities.get("goog:processID")
        return pid if isinstance(pid, int) else 0

    @property
    def profile(self) -> str:
        chrome = self.capabilities.get("chrome")
        folder = chrome.get("userDataDir") if isinstance(chrome, dict) else ""
        return folder if isinstance(folder, str) else ""

    def send(
        self, command: str, params: JsonObject | None = None, *, navigating: bool = False
    ) -> Any:
        """Sends one command and returns its value; raises a DeviceError."""
        answer = _ask(lambda: self._driver.execute(command, params), navigating)
        # The client takes an error page of a proxy for an answer.
        status = answer.get("status", 0)
        if isinstance(status, int) and status >= 400:
            raise DeviceUnreachable(f"The device's server answered with HTTP status {status}.")
        return answer.get("value")

    def script(self, script: str, *args: object) -> Any:
        """Runs JavaScript, or a driver's `mobile:` command."""
        return self.send("w3cExecuteScript", {"script": script, "args": list(args)})

    def mobile(self, command: str, /, **args: object) -> Any:
        """A `mobile:` command; only for drivers that have them."""
        return self.script(f"mobile: {command}", args)

    def cdp(self, command: str, /, **params: object) -> JsonObject:
        """A DevTools command of the Chromium driver."""
        answer = self.send("cdp", {"cmd": command, "params": params})
        return answer if isinstance(answer, dict) else {}

    def active_element(self) -> WebElement | None:
        found = self.send("w3cGetActiveElement")
        return found if isinstance(found, WebElement) else None

    def type(self, element: WebElement, text: str) -> None:
        self.send("sendKeysToElement", {"id": element.id, "text": text, "value": list(text)})

    def quit(self) -> None:
        """Ends the session; whatever it says to that is of no use to anybody."""
        try:
            self.send("quit")
        except DeviceError:
            pass
        finally:
            self._driver.command_executor.close()  # type: ignore[no-untyped-call]


def connect(
    server_url: str, capabilities: JsonObject, timeout: float, session_timeout: float
) -> Wire:
    """Opens a session; raises DeviceUnreachable or DeviceError with the remedy."""
    _keep_typed_text_out_of_logs()
    config = _client_config(server_url, session_timeout)
    options = AppiumOptions().load_capabilities(capabilities)
    connection = _Connection(client_config=config)
    cdp = "/session/$sessionId/goog/cdp/execute"
    connection.add_command("cdp", "POST", cdp)  # type: ignore[no-untyped-call]
    try:
        driver = _ask(lambda: webdriver.Remote(command_executor=connection, options=options), False)
    except DeviceError as error:
        connection.close()  # type: ignore[no-untyped-call]
        failure = session_failure(error, bare_url(server_url))
    else:
        config.timeout = timeout
        return Wire(driver)
    raise failure


def _client_config(server_url: str, timeout: float) -> AppiumClientConfig:
    parts = urlsplit(server_url)
    extra: dict[str, Any] = {}
    if is_local(server_url):
        extra["proxy"] = Proxy(raw={"proxyType": ProxyType.DIRECT})
    if parts.username:
        # In the address the client would warn and send them only as long as it pleases.
        extra["username"] = unquote(parts.username)
        extra["password"] = unquote(parts.password or "")
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    return AppiumClientConfig(
        address,
        timeout=timeout,
        # Nested on purpose: this is where the client looks. Without it every GET and DELETE
        # is sent four times.
        init_args_for_pool_manager={"init_args_for_pool_manager": {"retries": False}},
        **extra,
    )


def _ask(call: Callable[[], T], navigating: bool) -> T:
    """Converts what the client raises. Raised outside the handler, so that the driver's own
    words, which may repeat a typed secret, are not carried along as a context."""
    try:
        return call()
    except (WebDriverException, HTTPError, OSError) as error:
        failure = convert(error, navigating=navigating)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The client trips over an answer that is no WebDriver answer at all.
        failure = DeviceUnreachable(
            f"The server's answer is not WebDriver's ({type(error).__name__})."
        )
    raise failure


def _without_bodies(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO


def _keep_typed_text_out_of_logs() -> None:
    """At debug level the client logs the body of every request and answer, typed text included."""
    logging.getLogger(RemoteConnection.__module__).addFilter(_without_bodies)


_ports_lock = threading.Lock()
_ports_in_use: set[int] = set()


def reserve_port() -> int:
    """A free port of five digits that no other session of this process holds.

    At each start the driver ends every chromedriver whose command line begins with the same
    port number, so none may be the beginning of another.
    """
    with _ports_lock:
        for _ in range(200):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind(("127.0.0.1", 0))
                port: int = probe.getsockname()[1]
            if port >= 10_000 and port not in _ports_in_use:
                _ports_in_use.add(port)
                return port
    raise DeviceError("There is no free port for a chromedriver.")


def release_port(port: int) -> None:
    with _ports_lock:
        _ports_in_use.discard(port)
