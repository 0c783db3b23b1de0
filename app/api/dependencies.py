"""What routes ask for: the parts that main put into the application's state."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path
from starlette.requests import HTTPConnection

from app.domain.config import ServerConfig
from app.domain.ports import Artifacts
from app.storage.queries import Queries
from app.tasks.archive import Archive
from app.tasks.service import TaskService


def _service(connection: HTTPConnection) -> TaskService:
    return cast(TaskService, connection.app.state.service)


def _archive(connection: HTTPConnection) -> Archive:
    return cast(Archive, connection.app.state.archive)


def _queries(connection: HTTPConnection) -> Queries:
    return cast(Queries, connection.app.state.queries)


def _artifacts(connection: HTTPConnection) -> Artifacts:
    return cast(Artifacts, connection.app.state.artifacts)


def _server(connection: HTTPConnection) -> ServerConfig:
    return cast(ServerConfig, connection.app.state.server)


ServiceDep = Annotated[TaskService, Depends(_service)]
ArchiveDep = Annotated[Archive, Depends(_archive)]
QueriesDep = Annotated[Queries, Depends(_queries)]
ArtifactsDep = Annotated[Artifacts, Depends(_artifacts)]
ServerDep = Annotated[ServerConfig, Depends(_server)]

TaskId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The task's id.")]
StepNumber = Annotated[int, Path(ge=1, le=1_000_000, description="The step's number, from 1.")]
DeviceName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Sha256 = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="The artifact's name.")]

BY_API = "api"
"""Who used a control, where the request does not say."""
