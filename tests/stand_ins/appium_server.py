"""A server that speaks Appium's HTTP as UiAutomator2 and XCUITest do, with faults on demand.

It is a stand-in for tests of the native drivers' paths where no phone can be had: real requests
over a real socket, a phone that is a few values, and for any command a queue of misbehaviours.
"""

import base64
import io
import json
import re
import socket
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

from PIL import Image

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FIELD = "field-1"


class Refusal(NamedTuple):
    """A WebDriver error."""

    message: str
    error: str = "unknown error"
    status: int = 500


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    phone: StandIn

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def log_message(self, format: str, *args: object) -> None:
        return

    def _serve(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}") if length else {}
        if method == "POST" and self.path == "/session":
            self._new_session(body)
            return
        parts = re.fullmatch(r"/session/([^/]+)(/.*)?", self.path)
        session, path = (parts[1], parts[2] or "") if parts else ("", self.path)
        self.phone.requests.append(Request(method, path, body))
        script = str(body.get("script", ""))
        queue = self.phone.faults.get(script) or self.phone.faults.get(path)
        fault = queue.popleft() if queue else None
        if fault is not None and self._misbehave(fault):
            return
        if session not in self.phone.sessions:
            self._refuse(
                Refusal("A session is either terminated or not started", "invalid session id", 404)
            )
        elif method == "DELETE" and not path:
            del self.phone.sessions[session]
            self._send({"value": None})
        else:
            self._reply(self.phone.answer(method, path, body))

    def _new_session(self, body: dict[str, Any]) -> None:
        self.phone.requests.append(Request("POST", "/session", body))
        queue = self.phone.faults.get("/session")
        if queue and self._misbehave(queue.popleft()):
            return
        session = str(uuid.uuid4())
        wanted = dict(body["capabilities"]["alwaysMatch"])
        self.phone.sessions[session] = wanted
        bare = {name.split(":")[-1]: value for name, value in wanted.items()}
        self._send({"value": {"sessionId": session, "capabilities": bare}})

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
                self._send_bytes(body, status, content_type)
            case Value(value):
                self._send({"value": value})
            case Refusal():
                self._refuse(fault)
        return True

    def _reply(self, answer: Any) -> None:
        if isinstance(answer, Refusal):
            self._refuse(answer)
        else:
            self._send({"value": answer})

    def _refuse(self, refusal: Refusal) -> None:
        value = {"error": refusal.error, "message": refusal.message, "stacktrace": "at Server.js"}
        self._send({"value": value}, refusal.status)

    def _send(self, answer: dict[str, Any], status: int = 200) -> None:
        # As Java does, half an emoji is written as an escape and arrives as a lone surrogate.
        body = json.dumps(answer).encode()
        self._send_bytes(body, status, "application/json; charset=utf-8")

    def _send_bytes(self, body: bytes, status: int, content_type: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the client has given up


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is part of the tests."""


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
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    phone.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield phone
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
