"""Finds the pictures of a task whose text was never read, and what was read in the others."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from app.domain.events import TextRead
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


async def texts_read(db: Database, task_id: str, first: int, last: int) -> dict[str, ArtifactRef]:
    """The texts read from the pictures of a range of steps, by the picture's name."""
    event = tables.event.c
    query = (
        select(event.event)
        .where(event.task_id == task_id, event.type == "text_read")
        .where(event.step_number.between(first, last))
        .order_by(event.seq)
    )
    async with db.read() as connection:
        found = (await connection.execute(query)).scalars().all()
    read = (TextRead.model_validate_json(document) for document in found)
    return {r.screenshot.sha256: r.text_ref for r in read if r.text_ref is not None}


def _picture(before: str, after: str | None) -> ArtifactRef | None:
    """A recorded run may show only what its actions led to."""
    for document in (before, after):
        seen = parsed(Observation, document)
        if seen is not None and seen.screenshot is not None:
            return None if seen.black else seen.screenshot
    return None
