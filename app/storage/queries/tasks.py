"""Questions about tasks: lists, one task, what was planned, noted, said and asked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Table, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.config import DeviceConfig
from app.domain.events import StoredEvent
from app.domain.plans import Check, Plan
from app.domain.screens import Observation
from app.domain.tasks import Instruction, Note, Question, Task, TaskState
from app.errors import InvalidInput, NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.queries.views import (
    AnsweredQuestion,
    DeviceUse,
    PlanRevision,
    RememberedValue,
    TaskPage,
    TaskView,
)
from app.storage.rows import (
    EVENT_COLUMNS,
    TASK,
    AnyRow,
    parsed,
    to_check,
    to_event,
    to_instruction,
    to_note,
    to_question,
    to_task,
)

_task = tables.task.c
_ACTIVE = tuple(state.value for state in TaskState if state.active)
_UNDER_WAY = (*_ACTIVE, TaskState.QUEUED.value, TaskState.INTERRUPTED.value)


class TaskQueries:
    """Everything about tasks but their steps and their costs. Unknown tasks raise NotFound."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page(
        self,
        *,
        states: Collection[TaskState] = (),
        device: str = "",
        text: str = "",
        cursor: str = "",
        limit: int = 50,
    ) -> TaskPage:
        """Tasks that pass all filters, newest first. `text` is part of the goal or of the id."""
        wanted = _filters(states, device, text)
        before = [] if not cursor else [_task.number < _cursor_number(cursor)]
        query = select(*TASK).where(*wanted, *before).order_by(_task.number.desc())
        async with self._db.read() as connection:
            rows = (await connection.execute(query.limit(limit + 1))).all()
            total = await connection.scalar(
                select(func.count()).select_from(tables.task).where(*wanted)
            )
        more = len(rows) > limit
        rows = rows[:limit]
        return TaskPage(
            tasks=tuple(map(to_task, rows)),
            next=str(rows[-1].number) if more else "",
            total=total or 0,
        )

    async def queue(self) -> tuple[Task, ...]:
        """Tasks that wait for their device, first come first."""
        query = select(*TASK).where(_task.state == TaskState.QUEUED.value).order_by(_task.number)
        async with self._db.read() as connection:
            return tuple(map(to_task, (await connection.execute(query)).all()))

    async def get(self, task_id: str) -> Task:
        async with self._db.read() as connection:
            return to_task(await _task_row(connection, task_id))

    async def view(self, task_id: str) -> TaskView:
        async with self._db.read() as connection:
            row = await _task_row(connection, task_id)
            asked = await _all(connection, tables.question, task_id, "place")
        unanswered = [question for question in asked if question.answered_at is None]
        return TaskView(
            task=to_task(row),
            seconds_spent=row.seconds_spent,
            running_since=row.running_since,
            turn=row.turn,
            observation=parsed(Observation, row.observation),
            open_question=to_question(unanswered[-1]) if unanswered else None,
            frozen_through=row.frozen_through,
        )

    async def events(
        self, task_id: str, *, after: int = 0, limit: int = 1_000
    ) -> tuple[StoredEvent, ...]:
        """The events that follow number `after`, in order."""
        event = tables.event.c
        query = select(*EVENT_COLUMNS).where(event.task_id == task_id, event.seq > after)
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(event.seq).limit(limit))).all()
        return tuple(map(to_event, rows))

    async def events_of(
        self,
        task_id: str,
        *types: str,
        step_number: int | None = None,
        limit: int = 1_000,
    ) -> tuple[StoredEvent, ...]:
        """The newest events of some types, in order: tool results, compactions, controls, …"""
        event = tables.event.c
        query = select(*EVENT_COLUMNS).where(event.task_id == task_id, event.type.in_(types))
        if step_number is not None:
            query = query.where(event.step_number == step_number)
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(event.seq.desc()).limit(limit))).all()
        return tuple(map(to_event, reversed(rows)))

    async def plan(self, task_id: str) -> Plan | None:
        """The newest revision."""
        revisions = await self.plan_revisions(task_id)
        return revisions[-1].plan if revisions else None

    async def plan_revisions(self, task_id: str) -> tuple[PlanRevision, ...]:
        rows = await self._rows(tables.plan_revision, task_id, "revision")
        return tuple(
            PlanRevision(
                plan=Plan.model_validate_json(row.plan), step_number=row.step_number, at=row.at
            )
            for row in rows
        )

    async def checks(self, task_id: str) -> tuple[Check, ...]:
        return tuple(map(to_check, await self._rows(tables.required_check, task_id, "number")))

    async def notes(self, task_id: str) -> tuple[Note, ...]:
        return tuple(map(to_note, await self._rows(tables.note, task_id, "place")))

    async def remembered(self, task_id: str) -> tuple[RememberedValue, ...]:
        rows = await self._rows(tables.remembered, task_id, "place")
        return tuple(
            RememberedValue(key=row.key, value=row.value, step_number=row.step_number)
            for row in rows
        )

    async def instructions(self, task_id: str) -> tuple[Instruction, ...]:
        return tuple(map(to_instruction, await self._rows(tables.instruction, task_id, "number")))

    async def questions(self, task_id: str) -> tuple[AnsweredQuestion, ...]:
        rows = await self._rows(tables.question, task_id, "place")
        return tuple(
            AnsweredQuestion(
                question=to_question(row),
                asked_at=row.asked_at,
                answer=row.answer,
                approved=row.approved,
                answered_by=row.answered_by,
                answered_at=row.answered_at,
            )
            for row in rows
        )

    async def open_question(self, task_id: str) -> Question | None:
        return (await self.view(task_id)).open_question

    async def devices(self, *, retired: bool = False) -> tuple[DeviceUse, ...]:
        """Devices by name, with the task each is busy with."""
        device = tables.device.c
        query = select(device.config, device.configured).order_by(device.name)
        if not retired:
            query = query.where(device.retired.is_(False))
        under_way = select(*TASK).where(_task.state.in_(_UNDER_WAY))
        async with self._db.read() as connection:
            rows = (await connection.execute(query)).all()
            tasks = [to_task(row) for row in (await connection.execute(under_way)).all()]
        devices = [(DeviceConfig.model_validate_json(row.config), row.configured) for row in rows]
        busy = {task.spec.device: task for task in tasks if task.state.active}
        queued = [task.spec.device for task in tasks if task.state is TaskState.QUEUED]
        return tuple(
            DeviceUse(
                device=device,
                configured=configured,
                task=busy.get(device.name),
                queued=queued.count(device.name),
            )
            for device, configured in devices
        )

    async def events_of_steps(
        self, task_id: str, types: Collection[str], *, first: int, last: int, limit: int = 1_000
    ) -> tuple[StoredEvent, ...]:
        """The newest events of some types that belong to steps from first to last, in order."""
        event = tables.event.c
        query = select(*EVENT_COLUMNS).where(
            event.task_id == task_id,
            event.type.in_(types),
            event.step_number.between(first, last),
        )
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(event.seq.desc()).limit(limit))).all()
        return tuple(map(to_event, reversed(rows)))

    async def _rows(self, table: Table, task_id: str, order: str) -> list[AnyRow]:
        async with self._db.read() as connection:
            await _task_row(connection, task_id)
            return await _all(connection, table, task_id, order)


def _filters(states: Collection[TaskState], device: str, text: str) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if states:
        wanted.append(_task.state.in_([state.value for state in states]))
    if device:
        wanted.append(_task.device == device)
    if text:
        in_goal: Any = _task.goal.icontains(text, autoescape=True)
        wanted.append(or_(in_goal, _task.task_id.startswith(text, autoescape=True)))
    return wanted


def _cursor_number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput("That is not a place in this list.")
    return int(cursor)


async def _task_row(connection: AsyncConnection, task_id: str) -> AnyRow:
    query = select(tables.task).where(_task.task_id == task_id)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return row


async def _all(connection: AsyncConnection, table: Table, task_id: str, order: str) -> list[AnyRow]:
    query = select(table).where(table.c.task_id == task_id).order_by(table.c[order])
    return list((await connection.execute(query)).all())
