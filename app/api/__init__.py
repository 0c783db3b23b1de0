"""REST and event streams: `build_router()` for the routes, `install()` for the error answers."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from fastapi.security import HTTPBearer

from app.api import artifacts, devices, events, health, imports, records, tasks
from app.api.problems import PROBLEMS, install

__all__ = ["OPENAPI_URL", "PREFIX", "build_router", "install"]

PREFIX = "/api/v1"
OPENAPI_URL = f"{PREFIX}/openapi.json"
"""Give it to FastAPI, with `docs_url=None`: the stock pages load scripts from elsewhere."""

# The guard in security.py checks the token before any route; this only tells OpenAPI of it.
BEARER = Depends(HTTPBearer(auto_error=False, description="The token in DATA_DIR/token."))


def build_router() -> APIRouter:
    """All routes of the API, health included."""
    router = APIRouter()
    versioned = APIRouter(prefix=PREFIX, responses=PROBLEMS, dependencies=[BEARER])
    for part in (tasks, imports, records, artifacts, events, devices, health):
        versioned.include_router(part.router)
    router.include_router(versioned)
    router.include_router(events.sockets, prefix=PREFIX)
    router.include_router(health.probes)
    return router
