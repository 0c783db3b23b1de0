"""Gemini's REST: reads requests into our own types, and sends what a model answers."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.bench.servers.local import Handler, Json
from app.domain.messages import (
    Call,
    Message,
    ModelRequest,
    Part,
    Response,
    Role,
    Text,
    ToolSpec,
)

QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
BACKGROUND = (Role.SUMMARIZER, Role.CHUNK_WRITER)
NEVER = 3_600.0
"""Seconds after which every client has given up."""
_PATH = re.compile(r"/(v1\w*)/models/([^/:]+):(\w+)")


@dataclass(frozen=True)
class Behaviour:
    """What one request is answered with."""

    status: int = 200
    parts: list[Json] | None = None
    body: Any = None
    """The whole body instead of parts: JSON, or text sent as it is."""
    finish: str = "STOP"
    signature: bytes | None = None
    """Put on the first function call, else on the last part."""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False
    cut: bool = False
    """Close the connection in the middle of the body."""


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    version: str
    model: str
    verb: str
    key: str
    body: Json
    arrived: float = 0.0
    """Monotonic time at which all of it was there."""


# --- behaviours ----------------------------------------------------------------------------


def says(text: str, finish: str = "STOP") -> Behaviour:
    return Behaviour(parts=[{"text": text}], finish=finish)


def error(
    code: int, status: str, message: str, *details: Json, headers: dict[str, str] | None = None
) -> Behaviour:
    body: Json = {"error": {"code": code, "message": message, "status": status}}
    if details:
        body["error"]["details"] = list(details)
    return Behaviour(status=code, body=body, headers=headers or {})


def daily_quota() -> Behaviour:
    violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
    return error(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota.",
        {"@type": QUOTA_FAILURE, "violations": [violation]},
        {"@type": RETRY_INFO, "retryDelay": "0.01s"},
    )


def unavailable() -> Behaviour:
    return error(503, "UNAVAILABLE", "The model is overloaded.")


def hang() -> Behaviour:
    return Behaviour(hang=True)


# --- reading -------------------------------------------------------------------------------


def request_of(body: Json) -> ModelRequest:
    """The request as a model of ours would be asked; pictures are left out."""
    messages = tuple(_message(content) for content in body.get("contents") or [])
    system = either(body, "systemInstruction") or {}
    return ModelRequest(
        role=role_of(body),
        system="".join(part.get("text", "") for part in system.get("parts") or []),
        messages=messages,
        tools=tuple(_tools(body)),
        allowed_tools=_allowed(body),
    )


def role_of(body: Json) -> Role:
    """Whose request a body is."""
    contents = body.get("contents") or [{}]
    parts = contents[0].get("parts") or [{}]
    text = parts[0].get("text") or ""
    if body.get("tools"):
        return Role.OPERATOR
    if text.startswith("# CHUNK\n"):
        return Role.CHUNK_WRITER
    if text.startswith("# STEP\n"):
        return Role.SUMMARIZER
    marks = {
        "\n# REQUEST\n": Role.PLANNER,
        "\n# SCHEMA\n": Role.OUTPUTTER,
        "\n# SCREEN\n": Role.ANALYZER,
        "\n# RECALLED\n": Role.HISTORIAN,
    }
    return next((role for mark, role in marks.items() if mark in text), Role.OPERATOR)


def pictures_of(body: Json) -> int:
    parts = (part for content in body.get("contents") or [] for part in content.get("parts") or [])
    return sum(either(part, "inlineData") is not None for part in parts)


def either(part: Json, camel: str) -> Any:
    """A field by its camelCase or its snake_case name: clients send a mix."""
    snake = re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", camel)
    return part.get(camel, part.get(snake))


def _tools(body: Json) -> Iterable[ToolSpec]:
    for tool in body.get("tools") or []:
        for declared in either(tool, "functionDeclarations") or []:
            yield ToolSpec(name=declared["name"], description="", parameters={})


def _allowed(body: Json) -> tuple[str, ...] | None:
    calling = either(either(body, "toolConfig") or {}, "functionCallingConfig") or {}
    names = either(calling, "allowedFunctionNames")
    return tuple(names) if names else None


def _message(content: Json) -> Message:
    parts: list[Part] = []
    for part in content.get("parts") or []:
        if call := either(part, "functionCall"):
            parts.append(Call(name=call["name"], args=call.get("args") or {}))
        elif response := either(part, "functionResponse"):
            parts.append(Response(name=response["name"], response=response.get("response") or {}))
        elif "text" in part:
            parts.append(Text(text=part["text"], thought=bool(part.get("thought"))))
    return Message(role=content["role"], parts=tuple(parts))


# --- answering -----------------------------------------------------------------------------


def parts_of(message: Message) -> list[Json]:
    """A message as the parts of a reply."""
    return [_part(part) for part in message.parts]


def _part(part: Part) -> Json:
    if isinstance(part, Call):
        return {"functionCall": {"name": part.name, "args": part.args}}
    return {"text": part.text if isinstance(part, Text) else ""}


def reply_of(request: Recorded, parts: list[Json], finish: str, prompt: int, cached: int) -> Json:
    """The JSON body of a good answer."""
    output = len(json.dumps(parts)) // 4
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"content": content, "finishReason": finish, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": output,
            "totalTokenCount": prompt + output,
        },
        "modelVersion": request.model,
    }


class GeminiModel(Protocol):
    """Who answers."""

    closing: threading.Event
    """Set when nothing is to be waited for any more."""

    def take(self, request: Recorded) -> Behaviour:
        """What a request is answered with."""

    def reply(self, request: Recorded, behaviour: Behaviour) -> Json:
        """The body of a good answer."""


class GeminiHandler(Handler):
    """Serves one model; a subclass names it."""

    model: GeminiModel

    def do_POST(self) -> None:
        raw = self.read_body()
        arrived = time.monotonic()
        found = _PATH.search(self.path)
        if found is None:
            self.send_json(404, {})
            return
        key = self.headers.get("x-goog-api-key") or ""
        body = json.loads(raw or b"{}")
        request = Recorded(found[1], found[2], found[3], key, body, arrived)
        self._answer(request, self.model.take(request))

    def _answer(self, request: Recorded, behaviour: Behaviour) -> None:
        if behaviour.hang:
            self.model.closing.wait(NEVER)
            self.close_connection = True
            return
        if behaviour.delay:
            self.model.closing.wait(behaviour.delay)
        body = behaviour.body
        if body is None:
            body = self.model.reply(request, behaviour)
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_bytes(behaviour.status, raw, behaviour.headers, cut=behaviour.cut)
