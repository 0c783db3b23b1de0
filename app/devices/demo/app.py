"""The demo phone as a web application of its own."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from app.devices.demo.guard import Guard
from app.devices.demo.phone import Phones, template_environment
from app.devices.demo.routes import (
    account,
    catalogue,
    clock,
    contacts,
    dialogs,
    faults,
    gauge,
    lab,
    launcher,
    messages,
    notes,
    reader,
    reset,
    settings,
    shop,
)
from app.devices.demo.state import StateStore

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ROUTERS = (
    reset.router,
    launcher.router,
    settings.router,
    contacts.router,
    notes.router,
    shop.router,
    messages.router,
    clock.router,
    catalogue.router,
    dialogs.router,
    account.router,
    reader.router,
    gauge.router,
    lab.router,
    faults.router,
)


def create_demo_app(
    state_dir: Path,
    *,
    token: str,
    now: Callable[[], float] = time.time,
    allowed_hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Serve `/{device}/…`; `token` opens `POST /{device}/reset`, `now` is the time in seconds."""
    if not token:
        raise ValueError("The demo phone needs a token, or its pages could reset it.")
    app = FastAPI(openapi_url=None)
    app.state.phones = Phones(
        store=StateStore(state_dir), templates=template_environment(), now=now
    )
    app.state.token = token
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Guard, allowed_hosts=allowed_hosts)
    app.add_api_route("/", _open_default, include_in_schema=False)
    app.add_exception_handler(HTTPException, _error_page)
    app.add_exception_handler(RequestValidationError, _error_page)
    return app


def _open_default() -> RedirectResponse:
    return RedirectResponse("/demo/", status_code=303)


async def _error_page(request: Request, error: Exception) -> Response:
    """A plain page for people; what they sent is never repeated in it."""
    status = error.status_code if isinstance(error, HTTPException) else 400
    reason = error.detail if isinstance(error, HTTPException) else "The phone did not understand."
    phones: Phones = request.app.state.phones
    device = request.url.path.split("/")[1]
    page = phones.templates.get_template("error.html").render(
        base=f"/{device}", status=status, reason=reason, toast="", state=None
    )
    return HTMLResponse(page, status_code=status)
