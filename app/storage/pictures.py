"""Finds the pictures of a task whose text was never read."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from app.domain.screens import ArtifactRef, Observation
from app.storage import tables
from app.storage.db import Database
from app.storage.rows import parsed

NEWEST = 1_000
"""Steps looked at; a picture further back stays unread."""
_AGAIN = '%"again":true%'


class StepPicture(NamedTuple):
    """The picture of a step: what it was decided on, else what it led to."""

    step_number: int
    picture: ArtifactRef


async def unread_pictures(db: Database, task_id: str) -> tuple[StepPicture, ...]:
    """Of the newest steps those whose picture may still be read, oldest first."""
    step, event = tables.step.c, tables.event.c
    read = select(event.step_number).where(
        event.task_id == task_id, event.type == "text_read", event.event.not_like(_AGAIN)
    )
    query = (
        select(step.step_number, step.observation, step.after)
        .where(step.task_id == task_id, step.step_number.not_in(read))
        .order_by(step.step_number.desc())
        .limit(NEWEST)
    )
    async with db.read() as connection:
        rows = (await connection.execute(query)).all()
    found = ((row.step_number, _picture(row.observation, row.after)) for row in reversed(rows))
    return tuple(StepPicture(number, picture) for number, picture in found if picture is not None)


def _picture(before: str, after: str | None) -> ArtifactRef | None:
    """A recorded run may show only what its actions led to."""
    for document in (before, after):
        seen = parsed(Observation, document)
        if seen is not None and seen.screenshot is not None:
            return None if seen.black else seen.screenshot
    return None
