"""The page, or the fragment, for something that went wrong."""

from __future__ import annotations

from typing import Protocol

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.console.dependencies import templates


class Problem(Protocol):
    """What the API's error handlers hand over."""

    title: str
    status: int
    code: str
    detail: str
    hint: str


def error_page(request: Request, problem: Problem) -> Response:
    """A whole page, or a notice where only a part of a page was asked for."""
    if request.headers.get("hx-request"):
        text = templates().text("components/problem.html", detail=problem.detail, hint=problem.hint)
        return HTMLResponse(text, problem.status)
    return templates().page(
        "pages/error.html",
        problem.status,
        title=problem.title,
        number=problem.status,
        code=problem.code,
        detail=problem.detail,
        hint=problem.hint,
    )
