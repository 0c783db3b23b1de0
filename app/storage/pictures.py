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
_HAS_TEXT = '%"text_ref":{%'


class StepPicture(NamedTuple):
    """The decision screenshot of a step."""

    step_number: int
    picture: ArtifactRef


async def unread_pictures(db: Database, task_id: str) -> tuple[StepPicture, ...]:
    """Of the newest steps those with a picture and without its text, oldest first."""
    step, event = tables.step.c, tables.event.c
    read = select(event.step_number).where(
        event.task_id == task_id, event.type == "text_read", event.event.like(_HAS_TEXT)
    )
    query = (
        select(step.step_number, step.observation)
        .where(step.task_id == task_id, step.step_number.not_in(read))
        .order_by(step.step_number.desc())
        .limit(NEWEST)
    )
    async with db.read() as connection:
        rows = (await connection.execute(query)).all()
    seen = ((row.step_number, parsed(Observation, row.observation)) for row in reversed(rows))
    return tuple(
        StepPicture(number, observation.screenshot)
        for number, observation in seen
        if observation is not None and observation.screenshot is not None and not observation.black
    )
