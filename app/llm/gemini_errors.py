"""Turns what google-genai raises into one TryFailed, without ever quoting the key."""

from __future__ import annotations

import re
from typing import Any

import httpx2
from google.genai import errors

from app.errors import (
    ModelError,
    ModelQuota,
    ModelRejected,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnavailable,
    SignatureMissing,
)
from app.llm.provider import TryFailed

MAX_TEXT = 400
"""Characters of a server's message that are passed on."""


def converted(error: Exception, model: str, key: str) -> TryFailed:
    """What a foreign exception means for the gateway."""
    if isinstance(error, errors.APIError):
        return _answered(error, model, key)
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
        told = ModelUnavailable("The model's service cannot be reached.", hint=_shown(error, key))
        return TryFailed(told, retry=True)
    if isinstance(error, httpx2.TimeoutException):
        return TryFailed(ModelTimeout("The model's service stopped answering."), retry=True)
    if isinstance(error, httpx2.HTTPError):
        what = _shown(error, key) or type(error).__name__
        return TryFailed(ModelUnavailable(f"The connection broke: {what}."), retry=True)
    return TryFailed(ModelRejected(f"The request cannot be sent: {_shown(error, key)}"))


def _answered(error: errors.APIError, model: str, key: str) -> TryFailed:
    """By status code, then by the words that Gemini documents."""
    code = error.code or 0
    text = f"{code} {error.status or ''}: {_clip(str(error.message or ''), key)}".strip(": ")
    details = _details(error.details)
    if code in (401, 403) or any(d.get("reason") == "API_KEY_INVALID" for d in details):
        return TryFailed(ModelUnauthorized(text, hint="Check GEMINI_API_KEY."))
    if code == 404:
        told = ModelRejected(f"The service has no model {model!r} ({text}).")
        return TryFailed(told, fallback=True)
    if code == 429:
        daily = any("PerDay" in quota for quota in _quotas(details))
        delay = _delay(details, error.response)
        return TryFailed(ModelQuota(text), retry=not daily, fallback=daily, delay=delay)
    if code == 408:
        return TryFailed(ModelTimeout(text), retry=True)
    if code == 400 and re.search(r"thought[ _]signature", text, re.IGNORECASE):
        return TryFailed(SignatureMissing(text))
    if 400 <= code < 500:
        return TryFailed(ModelRejected(text))
    kind: type[ModelError] = ModelUnavailable
    return TryFailed(kind(text), retry=True, delay=_delay(details, error.response))


def _details(body: Any) -> list[dict[str, Any]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details") if isinstance(error, dict) else None
    return [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []


def _quotas(details: list[dict[str, Any]]) -> list[str]:
    return [
        str(violation.get("quotaId", ""))
        for detail in details
        for violation in detail.get("violations") or []
        if isinstance(violation, dict)
    ]


def _delay(details: list[dict[str, Any]], response: Any) -> float | None:
    """RetryInfo in the body, else the Retry-After header in seconds."""
    headers = getattr(response, "headers", None) or {}
    told = [d["retryDelay"] for d in details if "retryDelay" in d]
    told.append(headers.get("Retry-After") or headers.get("retry-after") or "")
    for value in told:
        if found := re.fullmatch(r"(\d{1,7}(?:\.\d{1,9})?)s?", str(value).strip()):
            return float(found[1])
    return None


def _shown(error: Exception, key: str) -> str:
    return _clip(str(error), key)


def _clip(text: str, key: str) -> str:
    return " ".join(text.replace(key, "[key]").split())[:MAX_TEXT]
