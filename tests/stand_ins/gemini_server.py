"""A local server that speaks Gemini's REST over a real socket and answers by script.

It checks thought signatures the way the service documents it: the first function call of
every model message of the current turn (what follows the last plain user message) must
carry the bytes it was sent with.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Self

from app.bench.servers.gemini import (
    BACKGROUND,
    RETRY_INFO,
    Behaviour,
    GeminiHandler,
    Recorded,
    daily_quota,
    either,
    error,
    hang,
    parts_of,
    reply_of,
    request_of,
    role_of,
    says,
    unavailable,
)
from app.bench.servers.local import Json, serving
from app.llm.offline.model import answer

__all__ = [
    "Behaviour",
    "GeminiServer",
    "Json",
    "Recorded",
    "blocked_answer",
    "blocked_prompt",
    "calls",
    "connection_cut",
    "daily_quota",
    "decode",
    "either",
    "empty_candidate",
    "error",
    "hang",
    "malformed_call",
    "no_candidate",
    "offline_brain",
    "quota",
    "role_of",
    "says",
    "unavailable",
]
Brain = Callable[[Json], list[Json]]
"""Answers a request's body with the parts of the reply."""

MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for "
    "tools to work correctly, and missing thought_signature may lead to degraded model "
    "performance. Additional data, function call `default_api:{name}`, position {position}."
)
CORRUPTED = "Corrupted thought signature."


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


def quota(delay: str = "") -> Behaviour:
    details = [{"@type": RETRY_INFO, "retryDelay": delay}] if delay else []
    return error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", *details)


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
    return parts_of(answer(request_of(body)))


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
        self._serving = ExitStack()
        self.url = ""

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
        handler = type("Handler", (GeminiHandler,), {"model": self})
        self.url = self._serving.enter_context(serving(handler))
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._serving.close()

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
                return reply_of(request, parts, behaviour.finish, len(text) // 4, 0)
            shared = _shared_prefix(self._last, text)
            self._last = text
        cached = shared // 4 if shared > 4 * 4096 else 0
        return reply_of(request, parts, behaviour.finish, len(text) // 4, cached)


def _offline_background(request: Recorded) -> Behaviour:
    return Behaviour(parts=offline_brain(request.body))


def decode(raw: str) -> bytes:
    text = raw.replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _is_plain(content: Json) -> bool:
    return any("text" in part for part in content.get("parts") or [])


def _shared_prefix(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
