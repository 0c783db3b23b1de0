"""Keeps other origins and oversized bodies out, and every page inside a strict policy."""

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
BODY_LIMIT = 64 * 1024  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'self'; "
    "base-uri 'none'"
)


class Guard:
    """Refuses a request by its headers alone, before any route sees it."""

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = POLICY
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if _host_name(headers.get("host", "")) not in self._hosts:
            return PlainTextResponse("This host name is not served here.", 421)
        if scope["method"] in SAFE_METHODS:
            return None
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > BODY_LIMIT:
            return PlainTextResponse("The body is too large or of unknown length.", 413)
        # A reset is guarded by its token instead; see routes/reset.py.
        if scope["path"].endswith("/reset") or _same_origin(headers, scope["scheme"]):
            return None
        return PlainTextResponse("Forms are accepted from the phone's own pages only.", 403)


def _host_name(host: str) -> str:
    """The name without its port; an IPv6 address keeps its brackets."""
    return host[: host.index("]") + 1] if "]" in host else host.partition(":")[0]


def _same_origin(headers: Headers, scheme: str) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return headers.get("origin") == f"{scheme}://{headers.get('host', '')}"
