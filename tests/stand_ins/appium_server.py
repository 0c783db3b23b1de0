"""A server that speaks Appium's HTTP as UiAutomator2 and XCUITest do, with faults on demand.

It is a stand-in for tests of the native drivers' paths where no phone can be had: real requests
over a real socket, a phone that is a few values, and for any command a queue of misbehaviours.
"""

import base64
import io
import re
import socket
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from PIL import Image

from app.bench.servers.appium import AppiumHandler, Refusal
from app.bench.servers.local import serving

__all__ = [
    "Drop",
    "Fault",
    "Hang",
    "Raw",
    "Refusal",
    "StandIn",
    "Value",
    "android_source",
    "appium_stand_in",
    "picture",
]

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FIELD = "field-1"


class Hang(NamedTuple):
    """The answer comes late."""

    seconds: float


class Drop(NamedTuple):
    """The connection breaks without an answer."""


class Raw(NamedTuple):
    """Something that is no WebDriver answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/html"


class Value(NamedTuple):
    """Another value than the phone's own."""

    value: Any


Fault = Refusal | Hang | Drop | Raw | Value


def picture(width: int = 108, height: int = 240, colour: str = "navy") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


def android_source(*nodes: str, package: str = "com.example.shop") -> str:
    inside = "".join(nodes) or (
        '<android.widget.Button text="Buy" resource-id="com.example.shop:id/buy" '
        f'package="{package}" bounds="[10,20][98,60]" clickable="true"/>'
    )
    return (
        "<?xml version='1.0' encoding='UTF-8'?><hierarchy rotation='0'>"
        f'<android.widget.FrameLayout package="{package}" bounds="[0,0][108,240]">'
        f"{inside}</android.widget.FrameLayout></hierarchy>"
    )


IOS_SOURCE = (
    '<?xml version="1.0"?><XCUIElementTypeApplication name="Shop" x="0" y="0" width="54" '
    'height="120"><XCUIElementTypeButton name="Buy" label="Buy" x="5" y="10" width="44" '
    'height="20" enabled="true" visible="true"/></XCUIElementTypeApplication>'
)


class Request(NamedTuple):
    method: str
    path: str
    """Below the session."""
    body: dict[str, Any]


@dataclass
class StandIn:
    """The phone and what happened to it; tests change it while it runs."""

    platform: Literal["android", "ios"] = "android"
    url: str = ""
    source: str = ""
    screenshot: bytes = b""
    package: str = "com.example.shop"
    activity: str = ".MainActivity"
    size: tuple[int, int] = (108, 240)
    keyboard: bool = False
    focused: bool = True
    text: str = ""
    password: bool = False
    alert: str = ""
    shell_output: str = ""
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))

    def fail(self, command: str, *faults: Fault) -> None:
        """The next calls of `command` (a path below the session, or a script) go wrong."""
        self.faults[command].extend(faults)

    def scripts(self) -> list[tuple[str, Any]]:
        """The `mobile:` commands so far, with their arguments."""
        return [
            (r.body["script"], (r.body["args"] or [None])[0])
            for r in self.requests
            if r.path == "/execute/sync"
        ]

    def sent(self, path: str) -> list[dict[str, Any]]:
        return [r.body for r in self.requests if r.path == path and r.method == "POST"]

    # --- what the phone answers ---------------------------------------------------------------

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if path == "/execute/sync":
            return self._mobile(body["script"], (body["args"] or [{}])[0])
        element = re.fullmatch(r"/element/([^/]+)/(\w+)(?:/(\w+))?", path)
        if element:
            return self._field(element[1], element[2], element[3] or "", body)
        width, height = self.size
        match method, path:
            case "GET", "/source":
                return self.source
            case "GET", "/screenshot":
                return base64.b64encode(self.screenshot).decode()
            case "GET", "/window/rect":
                return {"x": 0, "y": 0, "width": width, "height": height}
            case "POST", "/orientation":
                if (width > height) != (body["orientation"] == "LANDSCAPE"):
                    self.size = (height, width)
                return None
            case "GET", "/element/active":
                if not self.focused:
                    return Refusal("no element has the focus", "no such element", 404)
                return {ELEMENT: FIELD}
            case ("POST", "/actions" | "/back"):
                return None
            case _ if path.startswith("/alert/"):
                return self._alert(path, body)
        return Refusal(f"{method} {path}", "unknown command", 404)

    def _field(self, element: str, what: str, attribute: str, body: dict[str, Any]) -> Any:
        if element != FIELD:
            return Refusal("no such element", "stale element reference", 404)
        match what:
            case "clear":
                self.text = ""
            case "value":
                self.text += body["text"]
            case "text":
                return "•" * len(self.text) if self.password else self.text
            case "attribute" if attribute == "password":
                return "true" if self.password else "false"
            case "attribute" if attribute == "type":
                return f"XCUIElementType{'Secure' if self.password else ''}TextField"
        return None

    def _alert(self, path: str, body: dict[str, Any]) -> Any:
        if not self.alert:
            return Refusal("there is no alert", "no such alert", 404)
        if path == "/alert/text":
            return self.alert if not body else None
        self.alert = ""
        return None

    def _mobile(self, script: str, args: dict[str, Any]) -> Any:
        common = {
            "mobile: isKeyboardShown": self.keyboard,
            "mobile: activateApp": None,
            "mobile: terminateApp": True,
            "mobile: deepLink": None,
        }
        android = {
            "mobile: getCurrentPackage": self.package,
            "mobile: getCurrentActivity": self.activity,
            "mobile: pressKey": None,
            "mobile: startActivity": None,
            "mobile: acceptAlert": None,
            "mobile: dismissAlert": None,
            "mobile: shell": self.shell_output,
        }
        ios = {
            "mobile: activeAppInfo": {"bundleId": self.package, "name": "Shop", "pid": 7},
            "mobile: pressButton": None,
        }
        if script == "mobile: hideKeyboard":
            self.keyboard = False
            return True
        known = common | (android if self.platform == "android" else ios)
        if script not in known:
            return Refusal(f"Unknown mobile command {script!r}", "unknown method", 405)
        return known[script]


class _Handler(AppiumHandler):
    phone: StandIn

    def intercept(self, method: str, path: str, body: dict[str, Any]) -> bool:
        """Notes the request; a queued misbehaviour may take the place of its answer."""
        self.phone.requests.append(Request(method, path, body))
        script = str(body.get("script", ""))
        queue = self.phone.faults.get(script) or self.phone.faults.get(path)
        return bool(queue) and self._misbehave(queue.popleft())

    def _misbehave(self, fault: Fault) -> bool:
        """True when the request is answered (or never will be) by this."""
        match fault:
            case Hang(seconds):
                time.sleep(seconds)
                return False
            case Drop():
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            case Raw(body, status, content_type):
                self.send_bytes(status, body, {"Content-Type": content_type})
            case Value(value):
                self.reply(value)
            case Refusal():
                self.reply(fault)
        return True


@contextmanager
def appium_stand_in(platform: Literal["android", "ios"] = "android") -> Iterator[StandIn]:
    """Serves a phone on a free port until the block ends."""
    ios = platform == "ios"
    phone = StandIn(
        platform,
        source=IOS_SOURCE if ios else android_source(),
        screenshot=picture(),
        size=(54, 120) if ios else (108, 240),
    )
    handler = type("Handler", (_Handler,), {"phone": phone})
    with serving(handler) as phone.url:
        yield phone
