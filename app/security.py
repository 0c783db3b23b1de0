"""Who may reach the service: hosts, origins, sessions, tokens, body bounds, headers.

A web page must not reach this service through its visitor's browser, and neither may the
phone's browser, which runs on the same machine. So every request is checked before any route
sees it: its Host must be one of ours (DNS rebinding), an unsafe request or a socket must come
from our own pages (`Sec-Fetch-Site`, else `Origin` compared with `Host`; no tokens in forms),
and everything but the open paths needs the session cookie or a bearer token.

Longer than 300 lines: it is the one gate, and is to be read and reviewed as one piece.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from fastapi import FastAPI
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.config import ServerConfig
from app.errors import ConfigurationError

OPEN_ADDRESS = "/open"
SIGN_IN = "/sign-in"
OPEN_PATHS = frozenset({"/healthz", "/readyz", OPEN_ADDRESS, SIGN_IN})
OPEN_FOLDERS = ("/static/",)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SESSION_AGE = 30 * 86_400  # seconds
FAILURES_PER_MINUTE = 10  # wrong access tokens from one address
REMEMBERED_CLIENTS = 1_000  # addresses whose failures are counted

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With no-referrer a browser says `Origin: null` even to its own site, and beyond loopback
    # without TLS it sends no Sec-Fetch-Site either: every form would be refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Set on every answer that does not set its own."""


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    code: str
    detail: str
    hint: str = ""


NO_HOST = Refusal(
    421,
    "wrong_host",
    "This service does not answer under that host name.",
    "Use 127.0.0.1 or localhost, or add the name to the server's allowed_hosts.",
)
FOREIGN = Refusal(
    403,
    "cross_origin",
    "The request does not come from this service's own pages.",
    "Programs send `Authorization: Bearer TOKEN` and no cookie.",
)
NO_SESSION = Refusal(
    401,
    "no_session",
    "This needs a session or a token.",
    "Open the address that `artemis serve` printed, or send `Authorization: Bearer TOKEN`.",
)
TOO_LARGE = Refusal(413, "too_large", "The request's body is larger than this service accepts.")


class Access:
    """Knows the secrets: issues and checks sessions, one-time addresses and tokens."""

    def __init__(
        self,
        server: ServerConfig,
        *,
        session_secret: bytes,
        one_time_token: str,
        api_token: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._signer = URLSafeTimedSerializer(session_secret, salt="artemis session")
        self._one_time = {one_time_token} if one_time_token else set[str]()
        self._api_token = api_token
        self._monotonic = monotonic
        self._failures: dict[str, deque[float]] = {}
        self.cookie = f"artemis_{server.port}"
        """Cookies ignore ports: two servers on one machine must not overwrite each other's."""

    @property
    def max_body_bytes(self) -> int:
        return self._server.max_body_bytes

    @property
    def asks_for_token(self) -> bool:
        """A person can sign in with the access token."""
        return bool(self._server.access_token.get_secret_value())

    def new_one_time_token(self) -> str:
        """For one more `/open?token=…` address; gone with the process."""
        token = secrets.token_urlsafe(32)
        self._one_time.add(token)
        return token

    def redeem(self, token: str) -> bool:
        """True once for each one-time token."""
        for known in self._one_time:
            if _same(token, known):
                self._one_time.discard(known)
                return True
        return False

    def sign_in(self, token: str, client: str) -> bool:
        """Checks the access token that someone at this address shows.

        A person chose it, so it could be guessed: an address that failed too often waits. The
        other tokens are long and random; nobody can lock their owner out by failing.
        """
        known = self._server.access_token.get_secret_value()
        if not known or self.throttled(client):
            return False
        if _same(token, known):
            return True
        failures = self._failures.setdefault(client, deque(maxlen=FAILURES_PER_MINUTE))
        failures.append(self._monotonic())
        while len(self._failures) > REMEMBERED_CLIENTS:
            del self._failures[next(iter(self._failures))]
        return False

    def throttled(self, client: str) -> bool:
        """Too many wrong access tokens from this address within the last minute."""
        failures = self._failures.get(client, deque[float]())
        return len(failures) == FAILURES_PER_MINUTE and self._monotonic() - failures[0] < 60

    def session_cookie(self, *, secure: bool) -> str:
        """The value of a Set-Cookie header that starts a session."""
        value = self._signer.dumps(secrets.token_urlsafe(16))
        parts = [f"{self.cookie}={value}", "Path=/", f"Max-Age={SESSION_AGE}", "HttpOnly"]
        parts += ["SameSite=Strict", *(["Secure"] if secure else [])]
        return "; ".join(parts)

    def knows_session(self, headers: Headers) -> bool:
        value = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        try:
            self._signer.loads(value, max_age=SESSION_AGE)
        except BadSignature:
            return False
        return True

    def knows_bearer(self, headers: Headers, client: str) -> bool:
        """The access token from anywhere; the data directory's token from this machine."""
        token = _bearer(headers)
        if not token:
            return False
        if self._api_token and is_loopback(client) and _same(token, self._api_token):
            return True
        return self.sign_in(token, client)

    def allows_host(self, header: str) -> bool:
        name = _host_name(header)
        if name in LOOPBACK_NAMES or name == self._server.host.lower():
            return bool(name)
        if name in {allowed.lower() for allowed in self._server.allowed_hosts}:
            return True
        # An address cannot be rebound by DNS; whoever binds beyond loopback is reached by one.
        return not is_loopback(self._server.host) and _is_address(name)


class Guard:
    """The middleware: refuses, or passes on with security headers on the answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            refusal = self._refuse_socket(scope)
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await receive()  # websocket.connect; a close before accept becomes a 403
                await send({"type": "websocket.close", "code": 1008, "reason": refusal.detail})
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._refuse(scope, headers)
        if refusal is NO_SESSION and _wants_page(scope, headers):
            # The same address shows the sign-in page, so that a reload after signing in works.
            wanted = scope["path"]
            scope = {**scope, "path": SIGN_IN, "raw_path": SIGN_IN.encode(), "method": "GET"}
            scope["wanted_path"] = wanted
            refusal = None
        if refusal is None:
            await self._bounded(scope, receive, send, headers)
        else:
            await _send_problem(send, refusal, head=scope["method"] == "HEAD")

    def _refuse(self, scope: Scope, headers: Headers) -> Refusal | None:
        if not self._access.allows_host(headers.get("host", "")):
            return NO_HOST
        bearer_only = bool(_bearer(headers)) and self._access.cookie not in cookie_parser(
            headers.get("cookie", "")
        )
        if scope["method"] not in SAFE_METHODS and not bearer_only and not _own_page(headers):
            return FOREIGN
        if _is_open(scope["path"]) or self._knows(scope, headers):
            return None
        return NO_SESSION

    def _refuse_socket(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        if not self._access.allows_host(headers.get("host", "")):
            return NO_HOST
        bearer_only = bool(_bearer(headers)) and "origin" not in headers
        if not bearer_only and not _same_origin(headers):
            return FOREIGN
        return None if self._knows(scope, headers) else NO_SESSION

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        client = scope["client"][0] if scope.get("client") else ""
        return self._access.knows_session(headers) or self._access.knows_bearer(headers, client)

    async def _bounded(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        limit = self._access.max_body_bytes
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            await _send_problem(send, TOO_LARGE)
            return
        seen, started, too_large = 0, False, False

        async def counted() -> Message:
            nonlocal seen, too_large
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit and not started:
                too_large = True
                await _send_problem(send, TOO_LARGE)
                return {"type": "http.disconnect"}
            return message

        async def unless_refused(message: Message) -> None:
            nonlocal started
            started = True
            if not too_large:
                await send(message)

        try:
            await self._app(scope, counted, unless_refused)
        except ClientDisconnect:
            if not too_large:
                raise


def install(
    app: FastAPI,
    *,
    server: ServerConfig,
    session_secret: bytes,
    one_time_token: str,
    api_token: str,
) -> Access:
    """Puts the guard in front of an app; call it after every other middleware was added."""
    access = Access(
        server,
        session_secret=session_secret,
        one_time_token=one_time_token,
        api_token=api_token,
    )
    app.state.access = access
    app.add_middleware(Guard, access=access)
    return access


def check_bind(host: str, access_token: str) -> None:
    """Raises ConfigurationError for a bind beyond loopback without a token."""
    if not access_token and not is_loopback(host):
        raise ConfigurationError(
            f"Refusing to serve on {host or 'every address'} without an access token.",
            hint="Set ARTEMIS_ACCESS_TOKEN to a long random word, or serve on 127.0.0.1.",
        )


def is_loopback(host: str) -> bool:
    """True for localhost and loopback addresses; an empty host is a bind to everything."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def _bearer(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _host_name(header: str) -> str:
    """The name in a Host header, lower case, without port and brackets; empty if malformed."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def _own_page(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    return site in ("same-origin", "none") if site else _same_origin(headers)


def _same_origin(headers: Headers) -> bool:
    origin, host = headers.get("origin", ""), headers.get("host", "")
    return bool(host) and origin.partition("://")[2].lower() == host.lower()


def _wants_page(scope: Scope, headers: Headers) -> bool:
    if scope["path"].startswith("/api/"):
        return False
    return scope["method"] in ("GET", "HEAD") and "text/html" in headers.get("accept", "")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


async def _send_problem(send: Send, refusal: Refusal, *, head: bool = False) -> None:
    document = {
        "type": "about:blank",
        "title": refusal.code.replace("_", " ").capitalize(),
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.detail,
        "hint": refusal.hint,
    }
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})
