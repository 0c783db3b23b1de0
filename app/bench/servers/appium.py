"""Appium's HTTP: sessions, and a phone that answers their commands."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, NamedTuple, Protocol

from app.bench.servers.local import Handler, Json


class Refusal(NamedTuple):
    """A WebDriver error."""

    message: str
    error: str = "unknown error"
    status: int = 500


class Phone(Protocol):
    """What a server shows."""

    sessions: dict[str, Json]
    """Wanted capabilities by session."""

    def answer(self, method: str, path: str, body: Json) -> Any:
        """The value of a command; `path` stands below its session. A Refusal is an error."""


class AppiumHandler(Handler):
    """Serves one phone; a subclass names it."""

    phone: Phone

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def intercept(self, method: str, path: str, body: Json) -> bool:
        """True when a request was answered, or never will be, by something else."""
        return False

    def _serve(self, method: str) -> None:
        body = json.loads(self.read_body() or b"{}")
        parts = re.fullmatch(r"/session/([^/]+)(/.*)?", self.path)
        session, path = (parts[1], parts[2] or "") if parts else ("", self.path)
        if self.intercept(method, path, body):
            return
        if method == "POST" and path == "/session":
            self._open(body)
        elif session not in self.phone.sessions:
            told = "A session is either terminated or not started"
            self.reply(Refusal(told, "invalid session id", 404))
        elif method == "DELETE" and not path:
            del self.phone.sessions[session]
            self.reply(None)
        else:
            self.reply(self.phone.answer(method, path, body))

    def _open(self, body: Json) -> None:
        session = str(uuid.uuid4())
        wanted = dict(body["capabilities"]["alwaysMatch"])
        self.phone.sessions[session] = wanted
        bare = {name.split(":")[-1]: value for name, value in wanted.items()}
        self.reply({"sessionId": session, "capabilities": bare})

    def reply(self, value: Any) -> None:
        if isinstance(value, Refusal):
            told = {"error": value.error, "message": value.message, "stacktrace": "at Server.js"}
            self.send_json(value.status, {"value": told})
        else:
            self.send_json(200, {"value": value})
