"""Tries to get past the guard, each way an attacker or an accident would."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request, WebSocket
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app import security
from app.domain.config import ServerConfig
from app.errors import ConfigurationError
from app.security import Access, check_bind

ONE_TIME, API_TOKEN, ACCESS_TOKEN = "one-time", "api-token", "a long access token"
HOST = "127.0.0.1:8765"
OWN = {"Host": HOST, "Sec-Fetch-Site": "same-origin"}
BEARER = {"Host": HOST, "Authorization": f"Bearer {API_TOKEN}"}


def build(server: ServerConfig | None = None, client: str = "127.0.0.1") -> FastAPI:
    app = FastAPI()

    @app.get("/page")
    @app.post("/page")
    async def page(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.get("/healthz")
    async def healthz() -> str:
        return "ok"

    @app.get("/sign-in")
    async def sign_in() -> str:
        return "sign in"

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("hello")
        await websocket.close()

    security.install(
        app,
        server=server or ServerConfig(max_body_bytes=1_000),
        session_secret=b"secret",
        one_time_token=ONE_TIME,
        api_token=API_TOKEN,
    )
    return app


def client(app: FastAPI, address: str = "127.0.0.1") -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, client=(address, 1234))
    return httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}")


def session(app: FastAPI) -> str:
    access: Access = app.state.access
    return access.session_cookie(secure=False).split(";")[0]


async def status(app: FastAPI, method: str, headers: dict[str, str], **more: Any) -> int:
    async with client(app) as http:
        return (
            await http.request(method, more.pop("path", "/page"), headers=headers, **more)
        ).status_code


# --- sessions and tokens ------------------------------------------------------------------


async def test_without_a_cookie_nothing_is_served_but_the_open_paths() -> None:
    app = build()
    assert await status(app, "GET", {"Host": HOST}) == 401
    assert await status(app, "GET", {"Host": HOST}, path="/healthz") == 200
    assert await status(app, "GET", {"Host": HOST, "Cookie": session(app)}) == 200


async def test_a_person_without_a_cookie_is_shown_the_sign_in_page() -> None:
    async with client(build()) as http:
        answer = await http.get("/page", headers={"Accept": "text/html"})
    assert answer.json() == "sign in"


@pytest.mark.parametrize("change", ["other secret", "cut", "swapped", "empty"])
async def test_a_forged_cookie_opens_nothing(change: str) -> None:
    app = build()
    name, _, value = session(app).partition("=")
    forged = {
        "other secret": Access(
            ServerConfig(), session_secret=b"guess", one_time_token="", api_token=""
        )
        .session_cookie(secure=False)
        .split(";")[0]
        .partition("=")[2],
        "cut": value[:-1],
        "swapped": "x" + value[1:],
        "empty": "",
    }[change]
    assert await status(app, "GET", {"Host": HOST, "Cookie": f"{name}={forged}"}) == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    access: Access = build().state.access
    cookie = access.session_cookie(secure=True)
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Secure"):
        assert part in cookie.split("; ")


def test_a_one_time_token_works_once() -> None:
    access: Access = build().state.access
    assert not access.redeem("guess")
    assert access.redeem(ONE_TIME)
    assert not access.redeem(ONE_TIME)
    assert access.redeem(access.new_one_time_token())


def test_guessing_is_slowed_down_for_the_guesser_alone() -> None:
    now = [0.0]
    access = Access(
        ServerConfig(host="0.0.0.0", access_token=SecretStr(ACCESS_TOKEN)),
        session_secret=b"s",
        one_time_token=ONE_TIME,
        api_token=API_TOKEN,
        monotonic=lambda: now[0],
    )
    for _ in range(security.FAILURES_PER_MINUTE):
        assert not access.sign_in("guess", "192.0.2.7")
    assert not access.sign_in(ACCESS_TOKEN, "192.0.2.7")
    assert access.sign_in(ACCESS_TOKEN, "192.0.2.8")
    assert access.redeem(ONE_TIME)
    now[0] = 61.0
    assert access.sign_in(ACCESS_TOKEN, "192.0.2.7")


def test_nobody_can_lock_a_program_out_by_guessing() -> None:
    access: Access = build().state.access
    wrong = Headers({"authorization": "Bearer wrong"})
    for _ in range(3 * security.FAILURES_PER_MINUTE):
        assert not access.knows_bearer(wrong, "127.0.0.1")
    assert access.knows_bearer(Headers({"authorization": f"Bearer {API_TOKEN}"}), "127.0.0.1")


async def test_a_program_uses_the_token_on_this_machine_only() -> None:
    app = build()
    assert await status(app, "POST", BEARER) == 200
    assert await status(app, "GET", {**BEARER, "Authorization": "Bearer wrong"}) == 401
    async with client(app, "192.0.2.7") as http:
        assert (await http.get("/page", headers=BEARER)).status_code == 401


async def test_an_access_token_is_good_from_anywhere() -> None:
    app = build(ServerConfig(host="0.0.0.0", access_token=SecretStr(ACCESS_TOKEN)))
    headers = {"Host": "192.0.2.1:8765", "Authorization": f"Bearer {ACCESS_TOKEN}"}
    async with client(app, "192.0.2.7") as http:
        assert (await http.get("/page", headers=headers)).status_code == 200
        headers["Authorization"] = f"Bearer {API_TOKEN}"
        assert (await http.get("/page", headers=headers)).status_code == 401


# --- where a request comes from -------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (HOST, 200),
        ("localhost:8765", 200),
        ("[::1]:8765", 200),
        ("LOCALHOST", 200),
        ("evil.example:8765", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("192.168.1.4:8765", 421),
        ("", 421),
        ("[broken", 421),
    ],
)
async def test_only_our_own_host_names_are_answered(host: str, expected: int) -> None:
    app = build()
    headers = {"Host": host, "Cookie": session(app)}
    assert await status(app, "GET", headers) == expected


async def test_a_configured_host_name_is_answered() -> None:
    app = build(ServerConfig(allowed_hosts=("phones.example",)))
    assert await status(app, "GET", {"Host": "phones.example", "Cookie": session(app)}) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": f"http://{HOST}"}, 403),
        ({"Origin": f"http://{HOST}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
async def test_an_unsafe_request_must_come_from_our_pages(
    headers: dict[str, str], expected: int
) -> None:
    app = build()
    full = {"Host": HOST, "Cookie": session(app), **headers}
    assert await status(app, "POST", full) == expected


async def test_a_cross_site_form_cannot_ride_on_a_bearer_beside_the_cookie() -> None:
    app = build()
    headers = {**BEARER, "Cookie": session(app), "Origin": "http://evil.example"}
    assert await status(app, "POST", headers) == 403


# --- sockets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "opens"),
    [
        ({"Origin": f"http://{HOST}"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://127.0.0.1:9999"}, False),
        ({}, False),
    ],
)
def test_a_socket_must_come_from_our_pages(headers: dict[str, str], opens: bool) -> None:
    app = build()
    full = {"Host": HOST, "Cookie": session(app), **headers}
    assert _connects(app, full) is opens


def test_a_socket_needs_a_session_and_our_host() -> None:
    app = build()
    own = {"Host": HOST, "Origin": f"http://{HOST}"}
    assert not _connects(app, own)
    rebound = {"Host": "evil.example", "Origin": "http://evil.example", "Cookie": session(app)}
    assert not _connects(app, rebound)


def _connects(app: FastAPI, headers: dict[str, str]) -> bool:
    try:
        with TestClient(app).websocket_connect("/socket", headers=headers) as socket:
            return bool(socket.receive_text() == "hello")
    except WebSocketDisconnect:
        return False


# --- bodies and headers --------------------------------------------------------------------------


async def test_a_large_body_is_refused_with_and_without_its_length() -> None:
    app = build()
    assert await status(app, "POST", BEARER, content=b"x" * 1_000) == 200
    assert await status(app, "POST", BEARER, content=b"x" * 1_001) == 413

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 400

    assert await status(app, "POST", BEARER, content=chunks()) == 413


async def test_every_answer_carries_the_headers() -> None:
    app = build()
    async with client(app) as http:
        answers = [
            await http.get("/page", headers=BEARER),
            await http.get("/page"),
            await http.get("/nothing", headers=BEARER),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


async def test_a_refusal_is_a_problem_that_says_what_to_do() -> None:
    async with client(build()) as http:
        answer = await http.get("/page")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "no_session"
    assert "artemis serve" in answer.json()["hint"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "phones.example", ""])
def test_no_bind_beyond_loopback_without_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="ARTEMIS_ACCESS_TOKEN"):
        check_bind(host, "")
    check_bind(host, ACCESS_TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_token(host: str) -> None:
    check_bind(host, "")


def test_vendored_scripts_are_what_their_readme_says() -> None:
    from app.console.dependencies import folder

    vendor = folder("static") / "vendor"
    readme = (vendor / "README.md").read_text()
    scripts = sorted(vendor.glob("*.js"))
    assert len(scripts) == 3
    for script in scripts:
        assert f"`{script.name}`" in readme
        assert hashlib.sha256(script.read_bytes()).hexdigest() in readme
