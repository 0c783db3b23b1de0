"""Tasks as a whole: creating, claiming, asking for something, settling after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, insert, select

from app.domain.actions import Outcome, Receipt, Verdict
from app.domain.events import (
    ControlRequested,
    Event,
    StepFinished,
    StoredEvent,
    TaskCreated,
    TaskStateChanged,
)
from app.domain.ports import Clock
from app.domain.tasks import StepState, Task, TaskSpec, TaskState
from app.errors import Conflict, NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.rows import TASK, AnyRow, to_task
from app.storage.types import to_document
from app.storage.writing import append

DIED = "The process that ran it ended."
_ACTIVE = tuple(state.value for state in TaskState if state.active)
_NEW_TASK: dict[str, Any] = {
    **dict.fromkeys(("reason", "code", "answer"), ""),
    **dict.fromkeys(("steps", "prompt_tokens", "cached_tokens", "thinking_tokens"), 0),
    **dict.fromkeys(("output_tokens", "unpriced_calls", "last_seq", "search_entries"), 0),
    **dict.fromkeys(("frozen_through", "turn"), 0),
    **dict.fromkeys(("cost_usd", "seconds_spent"), 0.0),
    **dict.fromkeys(("cancel_requested", "pause_requested", "offline"), False),
    "cited_steps": "[]",
}


class Submitted(NamedTuple):
    """A task, and whether this call made it."""

    task: Task
    new: bool


class Flags(NamedTuple):
    """What a running task must look at before every turn."""

    state: TaskState
    cancel_requested: bool
    pause_requested: bool


class Written(NamedTuple):
    """A task after a write, and the events to announce."""

    task: Task
    events: list[StoredEvent]


class TaskRepository:
    """All tasks. What happens within one is a TaskRecorder's."""

    def __init__(self, db: Database, bus: Callable[[StoredEvent], None], clock: Clock) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock

    async def create(self, task_id: str, spec: TaskSpec, *, key: str = "") -> Submitted:
        """Queues a task; the same idempotency key again gives the first one.

        Raises Conflict when that one asked for something else.
        """
        if key and (task := await self._by_key(key, spec)):
            return Submitted(task, new=False)
        try:
            return Submitted(await self._create(task_id, spec, key), new=True)
        except Conflict:
            # Another request with this key was faster.
            if key and (task := await self._by_key(key, spec)):
                return Submitted(task, new=False)
            raise

    async def get(self, task_id: str) -> Task:
        async with self._db.read() as connection:
            return await connection.run_sync(_task, task_id)

    async def flags(self, task_id: str) -> Flags:
        task = await self.get(task_id)
        return Flags(task.state, task.cancel_requested, task.pause_requested)

    async def request(self, task_id: str, control: ControlRequested) -> Task:
        """Notes what a person asked for, for the runner to see at its next turn.

        Raises Conflict once the task has ended.
        """

        def write(connection: Connection) -> Written:
            if (state := _task(connection, task_id, lock=True).state).ended:
                raise Conflict(f"The task is already {state.value}.")
            return self._append(connection, task_id, control)

        return (await self._db.write(write, self._announce)).task

    async def waiting_devices(self, *, resume: bool = True) -> tuple[str, ...]:
        """Devices that have a task to start, longest waiting first, and none under way."""
        query = _startable(resume).order_by(tables.task.c.number)
        async with self._db.read() as connection:
            rows = (await connection.execute(query)).all()
        return tuple(dict.fromkeys(row.device for row in rows))

    async def claim(
        self, device: str, *, resume: bool = True, task_id: str | None = None
    ) -> Task | None:
        """Starts the device's next task: interrupted ones first, then the longest queued.

        None when there is none or the device is taken. `task_id` claims that one only.
        """
        row = tables.task.c
        query = _startable(resume).where(row.device == device)
        if task_id is not None:
            query = query.where(row.task_id == task_id)
        query = query.order_by(row.state != TaskState.INTERRUPTED.value, row.number).limit(1)
        query = query.with_for_update(of=tables.task)

        def write(connection: Connection) -> Written | None:
            found = connection.execute(query).one_or_none()
            if found is None:
                return None
            change = TaskStateChanged(state=TaskState.RUNNING, previous=TaskState(found.state))
            return self._append(connection, found.task_id, change)

        try:
            written = await self._db.write(write, self._announce)
        except Conflict:
            # One active task per device is a unique index: another process was faster.
            return None
        return written and written.task

    async def mark_interrupted(self, reason: str = DIED) -> tuple[Task, ...]:
        """Settles what a dead process left: to be called once at start, before any claim."""
        row = tables.task.c
        query = select(row.task_id, row.state).where(row.state.in_(_ACTIVE)).order_by(row.number)

        def write(connection: Connection) -> list[Written]:
            left = connection.execute(query).all()
            return [self._interrupt(connection, *task, reason) for task in left]

        def announce(tasks: list[Written]) -> None:
            for written in tasks:
                self._announce(written)

        return tuple(written.task for written in await self._db.write(write, announce))

    def _interrupt(self, connection: Connection, task_id: str, state: str, reason: str) -> Written:
        steps = [self._interrupted(step) for step in _open_steps(connection, task_id)]
        change = TaskStateChanged(
            state=TaskState.INTERRUPTED, previous=TaskState(state), reason=reason
        )
        return self._append(connection, task_id, *steps, change)

    def _interrupted(self, step: AnyRow) -> StepFinished:
        unknown = "The process ended before the outcome was recorded; the action may have happened."
        return StepFinished(
            step_id=step.step_id,
            step_number=step.step_number,
            state=StepState.INTERRUPTED,
            receipt=Receipt(outcome=Outcome.UNKNOWN, message=unknown),
            verdict=Verdict.UNCERTAIN,
            verdict_reason=unknown,
            ended_at=self._clock.now(),
        )

    async def _create(self, task_id: str, spec: TaskSpec, key: str) -> Task:
        now = self._clock.now()
        row = new_task(task_id, spec, now, key)

        def write(connection: Connection) -> Written:
            connection.execute(row)
            return self._append(connection, task_id, TaskCreated(spec=spec))

        return (await self._db.write(write, self._announce)).task

    async def _by_key(self, key: str, spec: TaskSpec) -> Task | None:
        query = select(*TASK).where(tables.task.c.idempotency_key == key)
        async with self._db.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return None
        if row.spec != to_document(spec):
            raise Conflict("This idempotency key was used for another task.")
        return to_task(row)

    def _append(self, connection: Connection, task_id: str, *events: Event) -> Written:
        stored = append(self._db, connection, task_id, events, self._clock.now())
        return Written(_task(connection, task_id), stored)

    def _announce(self, written: Written | None) -> None:
        for event in written.events if written else ():
            self._bus(event)


def new_task(task_id: str, spec: TaskSpec, at: datetime, key: str = "") -> Insert:
    """The row of a queued task; its first event is still to be appended."""
    return insert(tables.task).values(
        **_NEW_TASK,
        task_id=task_id,
        idempotency_key=key or None,
        spec=to_document(spec),
        goal=spec.goal,
        device=spec.device,
        state=TaskState.QUEUED.value,
        created_at=at,
        updated_at=at,
    )


def _startable(resume: bool) -> Any:
    task, other = tables.task, tables.task.alias("other")
    states = [TaskState.QUEUED.value, *([TaskState.INTERRUPTED.value] if resume else [])]
    taken = select(other.c.number).where(
        other.c.device == task.c.device, other.c.state.in_(_ACTIVE)
    )
    query = select(task.c.task_id, task.c.state, task.c.device)
    return query.where(task.c.state.in_(states), ~taken.exists())


def _task(connection: Connection, task_id: str, *, lock: bool = False) -> Task:
    query = select(*TASK).where(tables.task.c.task_id == task_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return to_task(row)


def _open_steps(connection: Connection, task_id: str) -> Sequence[AnyRow]:
    row = tables.step.c
    query = select(row.step_id, row.step_number).where(
        row.task_id == task_id, row.state == StepState.DECIDED.value
    )
    return connection.execute(query.order_by(row.step_number)).all()
