"""Pages for people: `build_router()` for the routes, `error_page()` for what went wrong."""

from __future__ import annotations

from fastapi import APIRouter

from app.console import controls, devices, home, live, session, steps, task
from app.console.errors import error_page

__all__ = ["build_router", "error_page"]


def build_router() -> APIRouter:
    """All pages, fragments and static files."""
    router = APIRouter(include_in_schema=False)
    parts = (session.router, home.router, task.router, steps.router, controls.router, live.router)
    for part in parts:
        router.include_router(part)
    router.include_router(devices.build_router())
    return router
