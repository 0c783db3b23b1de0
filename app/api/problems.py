"""Errors as problem documents (RFC 9457) that say what to change."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from app import errors
from app.errors import ArtemisError

MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger(__name__)


class FieldProblem(BaseModel):
    """One thing in the request that cannot be used."""

    where: str
    """Dotted path, such as `body.goal`."""
    problem: str


class Problem(BaseModel):
    """Why a request was not served."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    """A stable word: `not_found`, `conflict`, `invalid_input`, …"""
    detail: str
    hint: str = ""
    """What to change so that it works."""
    fields: list[FieldProblem] = Field(default_factory=list)


STATUS: tuple[tuple[type[ArtemisError], int], ...] = (
    (errors.InvalidInput, 422),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.Forbidden, 403),
    (errors.LimitReached, 409),
    (errors.AbilityMissing, 422),
    (errors.StoreLocked, 503),
    (errors.ConfigurationError, 422),
    (errors.DeviceError, 502),
    (errors.ModelQuota, 503),
    (errors.ModelError, 502),
)
"""The first class that fits gives the status; anything else of ours is 500."""


def _answer(description: str) -> dict[str, Any]:
    return {"model": Problem, "description": description, "content": {MEDIA_TYPE: {}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: _answer("No session and no valid token."),
    403: _answer("A browser request from another origin."),
    404: _answer("There is nothing under that name."),
    409: _answer("The present state does not allow this."),
    413: _answer("The body is too large."),
    422: _answer("The request cannot be used as it is; `fields` says where."),
    "default": _answer("Any other problem."),
}
"""For every route; OpenAPI shows them."""

ErrorPage = Callable[[Request, Problem], Response]


def install(app: FastAPI, error_page: ErrorPage) -> None:
    """Answers errors: problem documents for programs, `error_page` for people."""

    def answer(
        request: Request, problem: Problem, headers: dict[str, str] | None = None
    ) -> Response:
        if _is_for_people(request):
            response = error_page(request, problem)
        else:
            body = problem.model_dump(mode="json")
            response = JSONResponse(body, problem.status, media_type=MEDIA_TYPE)
        response.headers.update(headers or {})
        return response

    async def of_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, ArtemisError)
        return answer(request, problem_of(error))

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(request, _invalid(error))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return answer(request, _http(error), dict(error.headers or {}))

    async def of_anything(request: Request, error: Exception) -> Response:
        log.error("request failed", path=request.url.path, exc_info=error)
        return answer(request, _unexpected())

    app.add_exception_handler(ArtemisError, of_ours)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, of_anything)


def problem_of(error: ArtemisError) -> Problem:
    """One of our errors as a problem; its message is for people already."""
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
    return Problem(
        title=error.code.replace("_", " ").capitalize(),
        status=status,
        code=error.code,
        detail=error.message,
        hint=error.hint,
    )


def _invalid(error: RequestValidationError) -> Problem:
    fields = [
        FieldProblem(where=".".join(str(part) for part in item["loc"]), problem=item["msg"])
        for item in error.errors()
    ]
    return Problem(
        title="Invalid request",
        status=422,
        code="invalid_input",
        detail="; ".join(f"{field.where}: {field.problem}" for field in fields[:5]),
        hint="The fields and their bounds are in the OpenAPI document.",
        fields=fields,
    )


def _http(error: HTTPException) -> Problem:
    words = {404: "There is nothing under that address.", 405: "That method is not served here."}
    phrase = HTTPStatus(error.status_code).phrase
    return Problem(
        title=phrase,
        status=error.status_code,
        code=phrase.lower().replace(" ", "_").replace("-", "_"),
        detail=words.get(error.status_code, str(error.detail)),
    )


def _unexpected() -> Problem:
    return Problem(
        title="Unexpected error",
        status=500,
        code="unexpected",
        detail="Artemis failed at this; the server's log has the details.",
    )


def _is_for_people(request: Request) -> bool:
    path = request.url.path
    return not path.startswith("/api/") and path not in ("/healthz", "/readyz")
