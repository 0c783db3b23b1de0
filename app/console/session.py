"""Signing in: the one-time address, the access token, and the static files that need neither."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from app.console.dependencies import AccessDep, TemplatesDep, folder

router = APIRouter()

FOR_GOOD = "public, max-age=31536000, immutable"


@router.get("/open")
async def open_address(
    request: Request,
    access: AccessDep,
    templates: TemplatesDep,
    token: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Turns a one-time address into a session."""
    if "prefetch" in request.headers.get("sec-purpose", ""):
        return Response(status_code=204)  # a browser that looks ahead must not use it up
    if access.knows_session(request.headers):
        return RedirectResponse("/", 303)
    if not access.redeem(token):
        problem = "That address was used already, or it is from an earlier start of the server."
        return _sign_in_page(access, templates, problem, "/")
    return _session(request, access, "/")


@router.get("/sign-in")
async def sign_in_page(
    access: AccessDep, templates: TemplatesDep, request: Request
) -> HTMLResponse:
    """Shown in place of any page while there is no session; the address stays."""
    raw = request.scope.get("wanted_path", "/")
    return _sign_in_page(access, templates, "", raw)


@router.post("/sign-in")
async def sign_in(
    request: Request,
    access: AccessDep,
    templates: TemplatesDep,
    token: Annotated[str, Form(max_length=500)] = "",
    next: Annotated[str, Form(max_length=2_000)] = "/",
) -> Response:
    """Exchanges the access token for a session."""
    client = request.client.host if request.client else ""
    if not access.sign_in(token, client):
        wait = " Too many tries; wait a minute." if access.throttled(client) else ""
        return _sign_in_page(access, templates, f"That is not the access token.{wait}", next)
    return _session(request, access, _own_path(next))


@router.get("/static/{path:path}")
async def static(request: Request, path: str) -> Response:
    """Style, script and icon; an address with a version is kept for good."""
    files = StaticFiles(directory=folder("static"))
    response = await files.get_response(path, request.scope)
    response.headers["Cache-Control"] = FOR_GOOD if request.query_params.get("v") else "no-cache"
    return response


def _session(request: Request, access: AccessDep, to: str) -> Response:
    response = RedirectResponse(to, 303)
    secure = request.url.scheme == "https"
    response.headers.append("Set-Cookie", access.session_cookie(secure=secure))
    return response


def _sign_in_page(
    access: AccessDep, templates: TemplatesDep, problem: str, wanted: str
) -> HTMLResponse:
    return templates.page(
        "pages/sign_in.html",
        401,
        problem=problem,
        asks_for_token=access.asks_for_token,
        next=_own_path(wanted),
    )


def _own_path(wanted: str) -> str:
    """A path on this service; anything that could lead elsewhere becomes the first page."""
    parts = urlsplit(wanted)
    inside = not parts.scheme and not parts.netloc and wanted.startswith("/")
    return wanted if inside and not wanted.startswith(("//", "/\\")) else "/"
