"""Is it up, is it ready, and what is it doing."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Request, Response

from app import __version__
from app.api.dependencies import QueriesDep, ServiceDep
from app.api.schemas import Health, OpenAddress, Ready
from app.errors import ArtemisError
from app.security import OPEN_ADDRESS, Access

probes = APIRouter(tags=["health"])
router = APIRouter(tags=["health"])


@probes.get("/healthz")
async def healthz() -> Ready:
    """The process answers."""
    return Ready(status="ok", version=__version__)


@probes.get("/readyz", responses={503: {"model": Ready, "description": "Not ready yet."}})
async def readyz(request: Request, response: Response) -> Ready:
    """The store answers, so tasks can be taken."""
    try:
        await request.app.state.queries.tasks.queue()
    except ArtemisError as error:
        response.status_code = 503
        return Ready(status="not ready", version=__version__, problems=[error.message])
    return Ready(status="ok", version=__version__)


@router.post("/open-addresses", status_code=201)
async def open_address(request: Request) -> OpenAddress:
    """One more address that signs a browser in; it works once."""
    access = cast(Access, request.app.state.access)
    return OpenAddress(path=f"{OPEN_ADDRESS}?token={access.new_one_time_token()}")


@router.get("/health")
async def health(queries: QueriesDep, service: ServiceDep) -> Health:
    """Figures over the newest model calls, tasks by state, disk use, live viewers."""
    return Health(
        version=__version__,
        viewers=service.bus.viewers,
        providers=list(service.providers()),
        figures=await queries.figures.health(),
        disk=await queries.figures.disk_use(),
    )
