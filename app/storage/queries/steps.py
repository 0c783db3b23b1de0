"""Questions about the steps of a task and the artifacts they left."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from app.domain.memory import WorldState
from app.domain.ports import Artifacts
from app.domain.screens import ArtifactRef
from app.domain.tasks import StepRecord
from app.errors import NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.history import load_step
from app.storage.queries.views import CallView, StepsWindow, StepView
from app.storage.rows import CALL, STEP, AnyRow, parsed, to_call, to_step

_step = tables.step.c
_call = tables.model_call.c


class StepQueries:
    """Steps, model calls and artifacts. What does not exist raises NotFound."""

    def __init__(self, db: Database, artifacts: Artifacts) -> None:
        self._db = db
        self._artifacts = artifacts

    async def window(
        self,
        task_id: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 30,
        newest_first: bool = True,
    ) -> StepsWindow:
        """Steps next to a number: those before it, those after it, or else the newest."""
        query = select(*STEP).where(_step.task_id == task_id)
        if before is not None:
            query = query.where(_step.step_number < before)
        if after is not None:
            query = query.where(_step.step_number > after)
        forward = after is not None and before is None
        order = _step.step_number if forward else _step.step_number.desc()
        total = select(tables.task.c.steps).where(tables.task.c.task_id == task_id)
        async with self._db.read() as connection:
            steps = await connection.scalar(total)
            if steps is None:
                raise NotFound(f"There is no task {task_id}.")
            rows = (await connection.execute(query.order_by(order).limit(limit))).all()
        found = sorted(map(to_step, rows), key=lambda step: step.step_number, reverse=newest_first)
        numbers = [step.step_number for step in found]
        return StepsWindow(
            steps=tuple(found),
            total=steps,
            older=bool(numbers) and min(numbers) > 1,
            newer=bool(numbers) and max(numbers) < steps,
        )

    async def numbered(self, task_id: str, numbers: Collection[int]) -> tuple[StepRecord, ...]:
        """Some steps in order, without their messages and elements; unknown ones are left out."""
        query = select(*STEP).where(_step.task_id == task_id, _step.step_number.in_(numbers))
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(_step.step_number))).all()
        return tuple(map(to_step, rows))

    async def one(self, task_id: str, step_number: int) -> StepView:
        """A step whole: messages, elements, model calls."""
        query = select(*STEP).where(_step.task_id == task_id, _step.step_number == step_number)
        calls = (
            select(*CALL)
            .where(_call.task_id == task_id, _call.step_number == step_number)
            .order_by(_call.seq)
        )
        async with self._db.read() as connection:
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                raise NotFound(f"The task {task_id} has no step {step_number}.")
            call_rows = (await connection.execute(calls)).all()
        return StepView(
            step=await load_step(row, self._artifacts), calls=tuple(map(_call_view, call_rows))
        )

    async def calls(
        self,
        task_id: str,
        *,
        step_number: int | None = None,
        first_of_turn: bool = False,
        limit: int = 500,
    ) -> tuple[CallView, ...]:
        """The newest model calls with their figures, in order."""
        query = select(*CALL).where(_call.task_id == task_id)
        if step_number is not None:
            query = query.where(_call.step_number == step_number)
        if first_of_turn:
            query = query.where(_call.first_of_turn.is_(True))
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(_call.seq.desc()).limit(limit))).all()
        return tuple(map(_call_view, reversed(rows)))

    async def call(self, task_id: str, call_id: str) -> CallView:
        """One model call."""
        query = select(*CALL).where(_call.task_id == task_id, _call.call_id == call_id)
        async with self._db.read() as connection:
            row = (await connection.execute(query.limit(1))).one_or_none()
        if row is None:
            raise NotFound(f"The task {task_id} has no model call {call_id}.")
        return _call_view(row)

    async def world(self, task_id: str, *, through: int | None = None) -> WorldState | None:
        """What was believed after the newest step that says so, or up to one step."""
        query = select(_step.world).where(_step.task_id == task_id, _step.world.is_not(None))
        if through is not None:
            query = query.where(_step.step_number <= through)
        async with self._db.read() as connection:
            document = await connection.scalar(query.order_by(_step.step_number.desc()).limit(1))
        return parsed(WorldState, document)

    async def artifact(self, sha256: str, *, task_id: str = "") -> ArtifactRef:
        """An artifact that a task needs (this one, if given): no other can be asked for."""
        row, link = tables.artifact.c, tables.task_artifact.c
        query = (
            select(row.sha256, row.media_type, row.size)
            .join(tables.task_artifact, link.sha256 == row.sha256)
            .where(row.sha256 == sha256)
        )
        if task_id:
            query = query.where(link.task_id == task_id)
        async with self._db.read() as connection:
            found = (await connection.execute(query.limit(1))).one_or_none()
        if found is None:
            raise NotFound("No task has this artifact.")
        return ArtifactRef(sha256=found.sha256, media_type=found.media_type, size=found.size)


def _call_view(row: AnyRow) -> CallView:
    return CallView(seq=row.seq, at=row.at, call=to_call(row))
