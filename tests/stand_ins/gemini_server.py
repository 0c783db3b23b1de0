"""A local server that speaks Gemini's REST over a real socket and answers by script.

It checks thought signatures the way the service documents it: the first function call of
every model message of the current turn (what follows the last plain user message) must
carry the bytes it was sent with.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

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
from app.llm.offline.model import answer

Json = dict[str, Any]
Brain = Callable[[Json], list[Json]]
"""Answers a request's body with the parts of the reply."""

MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for "
    "tools to work correctly, and missing thought_signature may lead to degraded model "
    "performance. Additional data, function call `default_api:{name}`, position {position}."
)
CORRUPTED = "Corrupted thought signature."
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"


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


# --- behaviours ----------------------------------------------------------------------------


def calls(
    *made: tuple[str, Any], text: str = "", thought: str = "", signature: bytes = b"\xff\x00sig"
) -> Behaviour:
    parts: list[Json] = []
    if thought:
        parts.append({"text": thought, "thought": True})
    if text:
        parts.append({"text": text})
    parts += [{"functionCall": {"name": name, "args": args}} for name, args in made]
    return Behaviour(parts=parts, signature=signature)


def says(text: str, finish: str = "STOP") -> Behaviour:
    return Behaviour(parts=[{"text": text}], finish=finish)


def error(
    code: int, status: str, message: str, *details: Json, headers: dict[str, str] | None = None
) -> Behaviour:
    body: Json = {"error": {"code": code, "message": message, "status": status}}
    if details:
        body["error"]["details"] = list(details)
    return Behaviour(status=code, body=body, headers=headers or {})


def quota(delay: str = "") -> Behaviour:
    details = [{"@type": RETRY_INFO, "retryDelay": delay}] if delay else []
    return error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", *details)


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


def connection_cut() -> Behaviour:
    return Behaviour(parts=[{"text": "half of"}], cut=True)


def blocked_answer() -> Behaviour:
    rating = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
    candidate = {"content": {"role": "model"}, "finishReason": "SAFETY", "safetyRatings": [rating]}
    return Behaviour(body={"candidates": [candidate]})


def blocked_prompt() -> Behaviour:
    return Behaviour(body={"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})


def no_candidate() -> Behaviour:
    return Behaviour(body={"candidates": None, "usageMetadata": {"promptTokenCount": 7}})


def empty_candidate() -> Behaviour:
    return Behaviour(parts=[{"text": ""}])


def malformed_call() -> Behaviour:
    told = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "call(tap"}
    return Behaviour(body={"candidates": [told]})


# --- a brain -------------------------------------------------------------------------------


def offline_brain(body: Json) -> list[Json]:
    """Answers as the offline model would, so that a whole agent can run through this server."""
    messages = tuple(_message(content) for content in body.get("contents") or [])
    system = either(body, "systemInstruction") or {}
    request = ModelRequest(
        role=_role(body, messages[0].text if messages else ""),
        system="".join(part.get("text", "") for part in system.get("parts") or []),
        messages=messages,
        tools=tuple(_tools(body)),
        allowed_tools=_allowed(body),
    )
    return [_part(part) for part in answer(request).parts]


def role_of(body: Json) -> Role:
    """Whose request a body is."""
    contents = body.get("contents") or [{}]
    parts = contents[0].get("parts") or [{}]
    return _role(body, parts[0].get("text") or "")


def _role(body: Json, text: str) -> Role:
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


def _part(part: Part) -> Json:
    if isinstance(part, Call):
        return {"functionCall": {"name": part.name, "args": part.args}}
    return {"text": part.text if isinstance(part, Text) else ""}


BACKGROUND = (Role.SUMMARIZER, Role.CHUNK_WRITER)

# --- the server ----------------------------------------------------------------------------


class GeminiServer:
    """`with GeminiServer([calls(("tap", {}))]) as server:` then point a client at `server.url`.

    The script is used up in order; after it, `brain` answers, and without one every further
    request gets 500, so that a request too many is seen.
    """

    def __init__(
        self,
        script: Iterable[Behaviour] = (),
        *,
        brain: Brain | None = None,
        key: str = "",
        models: Iterable[str] = (),
        checks_signatures: bool = True,
        background: Callable[[Recorded], Behaviour] | None = None,
    ) -> None:
        self._background = background or _offline_background
        self.background_requests: list[Recorded] = []
        """Summaries and capsules asked for: kept apart, since they come at any time."""
        self._script = list(script)
        self._brain = brain
        self._key = key
        self._models = frozenset(models)
        self._checks_signatures = checks_signatures
        self._issued: dict[bytes, str] = {}
        self._last = ""
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.requests: list[Recorded] = []
        self.arrived = threading.Semaphore(0)
        """Released once per request, for tests that act while one is in flight."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def add(self, *behaviours: Behaviour, first: bool = False) -> None:
        """More behaviours, behind the script or before it."""
        with self._lock:
            at = 0 if first else len(self._script)
            self._script[at:at] = behaviours

    def knows(self, signature: bytes, model: str) -> None:
        """Takes a signature for its own, as if it had sent it."""
        with self._lock:
            self._issued[signature] = model

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def take(self, request: Recorded) -> Behaviour:
        """Records a request and says what it is answered with."""
        if role_of(request.body) in BACKGROUND:
            self.background_requests.append(request)
            return self._background(request)
        with self._lock:
            self.requests.append(request)
            self.arrived.release()
            if self._key and request.key != self._key:
                told = f"API key not valid: {request.key}"
                reason = {"reason": "API_KEY_INVALID", "@type": "google.rpc.ErrorInfo"}
                return error(400, "INVALID_ARGUMENT", told, reason)
            if self._models and request.model not in self._models:
                return error(404, "NOT_FOUND", f"models/{request.model} is not found")
            if self._checks_signatures and (problem := self._signature_problem(request)):
                return error(400, "INVALID_ARGUMENT", problem)
            if self._script:
                return self._script.pop(0)
        if self._brain is None:
            return error(500, "INTERNAL", "the script has no answer left")
        return Behaviour(parts=self._brain(request.body), signature=self._fresh_signature())

    def _fresh_signature(self) -> bytes:
        # All byte values that base64 alphabets disagree on turn up in 251, 239, 190 …
        return bytes([251, 239, 190, 255]) + f"signature {len(self.requests)}".encode()

    def _signature_problem(self, request: Recorded) -> str:
        contents = request.body.get("contents") or []
        plain = [i for i, c in enumerate(contents) if c.get("role") == "user" and _is_plain(c)]
        start = plain[-1] if plain else 0
        for position, content in enumerate(contents):
            found = [p for p in content.get("parts") or [] if either(p, "functionCall")]
            if content.get("role") != "model" or not found:
                continue
            raw = either(found[0], "thoughtSignature")
            if raw is None:
                if position > start:
                    name = either(found[0], "functionCall")["name"]
                    return MISSING.format(name=name, position=position + 1)
            elif self._issued.get(decode(raw)) != request.model:
                return CORRUPTED
        return ""

    def reply(self, request: Recorded, behaviour: Behaviour) -> Json:
        """The JSON body of a good answer."""
        parts = [json.loads(json.dumps(part)) for part in behaviour.parts or []]
        if behaviour.signature is not None and parts:
            carrier = next((p for p in parts if "functionCall" in p), parts[-1])
            carrier["thoughtSignature"] = base64.b64encode(behaviour.signature).decode()
            with self._lock:
                self._issued[behaviour.signature] = request.model
        text = json.dumps(request.body, ensure_ascii=False)
        with self._lock:
            if role_of(request.body) in BACKGROUND:
                return _good(request, behaviour, parts, text, 0, len(self.background_requests))
            shared = _shared_prefix(self._last, text)
            self._last = text
        return _good(request, behaviour, parts, text, shared, len(self.requests))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                found = re.search(r"/(v1\w*)/models/([^/:]+):(\w+)", self.path)
                if found is None:
                    self._send(404, b"{}", {})
                    return
                key = self.headers.get("x-goog-api-key") or ""
                request = Recorded(found[1], found[2], found[3], key, json.loads(raw or b"{}"))
                if request.verb == "countTokens":
                    self._send_json(200, {"totalTokens": len(raw) // 4}, {})
                    return
                self._answer(request, server.take(request))

            def _answer(self, request: Recorded, behaviour: Behaviour) -> None:
                if behaviour.hang:
                    server.closing.wait(30)
                    self.close_connection = True
                    return
                if behaviour.delay:
                    server.closing.wait(behaviour.delay)
                body = behaviour.body
                if body is None:
                    body = server.reply(request, behaviour)
                if isinstance(body, str):
                    self._send(behaviour.status, body.encode(), behaviour.headers, behaviour.cut)
                elif request.verb == "streamGenerateContent" and behaviour.status == 200:
                    self._stream(body, behaviour)
                else:
                    self._send_json(behaviour.status, body, behaviour.headers, behaviour.cut)

            def _stream(self, body: Json, behaviour: Behaviour) -> None:
                events = b"".join(b"data: " + e + b"\r\n\r\n" for e in _chunks(body))
                headers = {**behaviour.headers, "Content-Type": "text/event-stream"}
                self._send(200, events, headers, behaviour.cut)

            def _send_json(
                self, status: int, body: Any, headers: dict[str, str], cut: bool = False
            ) -> None:
                self._send(status, json.dumps(body).encode(), headers, cut)

            def _send(
                self, status: int, body: bytes, headers: dict[str, str], cut: bool = False
            ) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body[: len(body) // 2] if cut else body)
                except OSError:
                    cut = True
                self.close_connection = self.close_connection or cut

        return Handler


def _good(
    request: Recorded, behaviour: Behaviour, parts: list[Json], text: str, shared: int, number: int
) -> Json:
    output = len(json.dumps(parts)) // 4
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": parts},
                "finishReason": behaviour.finish,
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": len(text) // 4,
            "cachedContentTokenCount": shared // 4 if shared > 4 * 4096 else 0,
            "candidatesTokenCount": output,
            "totalTokenCount": len(text) // 4 + output,
        },
        "modelVersion": request.model,
        "responseId": f"stand-in-{number}",
    }


def _offline_background(request: Recorded) -> Behaviour:
    return Behaviour(parts=offline_brain(request.body))


def either(part: Json, camel: str) -> Any:
    """A field by its camelCase or its snake_case name: clients send a mix."""
    snake = re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", camel)
    return part.get(camel, part.get(snake))


def decode(raw: str) -> bytes:
    text = raw.replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _is_plain(content: Json) -> bool:
    return any("text" in part for part in content.get("parts") or [])


def _chunks(body: Json) -> Iterable[bytes]:
    """One event per part, the finish reason on the last."""
    for candidate in body.get("candidates") or [{}]:
        parts = (candidate.get("content") or {}).get("parts") or [{"text": ""}]
        for number, part in enumerate(parts, start=1):
            one: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if number == len(parts):
                one["finishReason"] = candidate.get("finishReason")
            yield json.dumps({**body, "candidates": [one]}).encode()


def _shared_prefix(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
