"""Reads the body of a Gemini answer; anything may stand in it."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NoReturn

from app.domain.messages import (
    Call,
    Finish,
    JsonObject,
    Message,
    ModelReply,
    Part,
    ProviderContent,
    Text,
    Usage,
)
from app.errors import ModelUnavailable, SignatureMissing
from app.llm.provider import TryFailed

PROVIDER = "gemini"

BLOCKED = frozenset(
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY "
    "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR".split()
)
MALFORMED = frozenset(
    "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE".split()
)
MISSING_SIGNATURE = "MISSING_THOUGHT_SIGNATURE"


def read_reply(body: str, model: str) -> ModelReply:
    """The neutral reply. Raises TryFailed when the body is no reply at all."""
    answer = _decode(body)
    candidate = next(iter(_objects(answer.get("candidates"))), None)
    content = _object((candidate or {}).get("content"))
    parts = tuple(_read_part(part) for part in _objects(content.get("parts")))
    message = Message(
        role="model",
        parts=tuple(part for part in parts if part is not None),
        provider=ProviderContent(provider=PROVIDER, model=model, content=content)
        if content.get("parts")
        else None,
    )
    finish, detail = _finish(answer, candidate, message)
    return ModelReply(
        message=message,
        finish=finish,
        finish_detail=detail,
        usage=_usage(_object(answer.get("usageMetadata"))),
        provider=PROVIDER,
        model=model,
        raw=body.encode("utf-8", "replace"),
    )


def _decode(body: str) -> JsonObject:
    try:
        answer = json.loads(body, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        error = ModelUnavailable(f"The answer is not a JSON object: {body[:80]!r}.")
        raise TryFailed(error, retry=True)
    return _object(_clean(answer))


def _clean(value: Any) -> Any:
    """Replaces lone surrogates, which no UTF-8 store or socket could carry."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _read_part(part: JsonObject) -> Part | None:
    signature = _signature(part.get("thoughtSignature"))
    if isinstance(part.get("functionCall"), dict):
        return _read_call(part["functionCall"], signature)
    if isinstance(part.get("text"), str):
        return Text(text=part["text"], thought=part.get("thought") is True, signature=signature)
    return None


def _read_call(call: JsonObject, signature: bytes | None) -> Call:
    args, problem = call.get("args"), ""
    if args is None:
        args = {}
    elif not isinstance(args, dict):
        shown = json.dumps(args, ensure_ascii=False)[:200]
        args, problem = {}, f"the arguments are not an object: {shown}"
    return Call(
        id=str(call.get("id") or ""),
        name=str(call.get("name") or ""),
        args=args,
        signature=signature,
        problem=problem,
    )


def _signature(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    text = value.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return None


def _finish(
    answer: JsonObject, candidate: JsonObject | None, message: Message
) -> tuple[Finish, str]:
    if candidate is None:
        blocked = _object(answer.get("promptFeedback")).get("blockReason")
        if blocked:
            return Finish.SAFETY, f"the request was blocked: {blocked}"
        return Finish.EMPTY, "no candidate"
    reason = str(candidate.get("finishReason") or "no finish reason")
    told = candidate.get("finishMessage")
    detail = f"{reason}: {told}"[:300] if told else reason
    if reason == MISSING_SIGNATURE:
        _signature_missing()
    if reason == "MAX_TOKENS":
        return Finish.LENGTH, detail
    if reason in BLOCKED:
        return Finish.SAFETY, _categories(candidate, detail)
    if reason in MALFORMED:
        return Finish.MALFORMED_CALL, detail
    if reason != "STOP":
        return Finish.OTHER, detail
    if not message.calls and not message.text.strip():
        return Finish.EMPTY, "no text and no call"
    return Finish.STOP, ""


def _signature_missing() -> NoReturn:
    raise TryFailed(SignatureMissing(f"The model stopped with {MISSING_SIGNATURE}."))


def _categories(candidate: JsonObject, detail: str) -> str:
    names = [
        str(rating.get("category"))
        for rating in _objects(candidate.get("safetyRatings"))
        if rating.get("blocked") is True
    ]
    return f"{detail}: {', '.join(names)}" if names else detail


def _usage(usage: JsonObject) -> Usage:
    def count(name: str) -> int:
        value = usage.get(name)
        return value if type(value) is int and value >= 0 else 0

    return Usage(
        prompt=count("promptTokenCount") + count("toolUsePromptTokenCount"),
        cached=count("cachedContentTokenCount"),
        thinking=count("thoughtsTokenCount"),
        output=count("candidatesTokenCount"),
    )
