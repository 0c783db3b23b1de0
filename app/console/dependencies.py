"""What pages ask for: the parts that main put into the application's state, and the templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends
from fastapi import Path as PathParameter
from starlette.requests import HTTPConnection

from app.console.templating import Templates
from app.domain.config import MemoryConfig, ServerConfig
from app.security import Access
from app.storage.queries import Queries
from app.tasks.service import TaskService

APP = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """`templates` or `static`: beside app in a checkout, inside it in a wheel."""
    bundled = APP / "_bundled" / name
    return bundled if bundled.is_dir() else APP.parent / name


@cache
def templates() -> Templates:
    """One environment a process: templates are compiled once."""
    return Templates(folder("templates"), folder("static"))


def _service(connection: HTTPConnection) -> TaskService:
    return cast(TaskService, connection.app.state.service)


def _queries(connection: HTTPConnection) -> Queries:
    return cast(Queries, connection.app.state.queries)


def _server(connection: HTTPConnection) -> ServerConfig:
    return cast(ServerConfig, connection.app.state.server)


def _memory(connection: HTTPConnection) -> MemoryConfig:
    return cast(MemoryConfig, connection.app.state.memory)


def _access(connection: HTTPConnection) -> Access:
    return cast(Access, connection.app.state.access)


ServiceDep = Annotated[TaskService, Depends(_service)]
QueriesDep = Annotated[Queries, Depends(_queries)]
ServerDep = Annotated[ServerConfig, Depends(_server)]
MemoryDep = Annotated[MemoryConfig, Depends(_memory)]
AccessDep = Annotated[Access, Depends(_access)]
TemplatesDep = Annotated[Templates, Depends(templates)]

TaskId = Annotated[str, PathParameter(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
StepNumber = Annotated[int, PathParameter(ge=1, le=1_000_000)]
DeviceName = Annotated[str, PathParameter(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]

BY_CONSOLE = "console"
"""Who used a control, as its receipt says."""
