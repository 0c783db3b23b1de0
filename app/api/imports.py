"""Imports of recorded runs that a command has laid into the data directory."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.api.dependencies import ArchiveDep, TaskId
from app.api.schemas import ImportAnswer, ImportBody
from app.domain.tasks import Task

router = APIRouter(prefix="/imports", tags=["imports"])

MAX_WAIT = 60.0


@router.post("", status_code=201)
async def take_in(body: ImportBody, archive: ArchiveDep, response: Response) -> Task:
    """Makes a recording a task: all of it, or nothing and a message that names the line."""
    task = await archive.take_in(body.name)
    response.headers["Location"] = f"/api/v1/tasks/{task.task_id}"
    return task


@router.get("/{task_id}")
async def pending(
    task_id: TaskId,
    archive: ArchiveDep,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT, description="Seconds to wait for the background work.")
    ] = 0,
) -> ImportAnswer:
    """What is still done in the background for an imported run."""
    left = await archive.pending(task_id, wait)
    return ImportAnswer(task=task_id, settled=left.settled, **left._asdict())
