"""Questions about costs, disk use and health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, Select, case, cast, func, select, type_coerce

from app.domain.tasks import TaskState
from app.storage import tables
from app.storage.db import Database
from app.storage.queries.views import DiskUse, EventGroup, Health, RoleSpend, TaskDisk
from app.storage.rows import EVENT_COLUMNS, to_event, to_usage

HEALTH_CALLS = 5_000  # newest model calls that the health figures count
LARGEST_TASKS = 20

_call = tables.model_call.c
_HEALTH = (
    _call.prompt_tokens,
    _call.cached_tokens,
    _call.first_of_turn,
    _call.seconds,
    _call.waits,
    _call.outcome,
    _call.fallback,
)


class FigureQueries:
    """Sums over many rows."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def spend(self, task_id: str = "") -> tuple[RoleSpend, ...]:
        """Per role, of one task or of all."""
        query = select(
            _call.role,
            func.count().label("calls"),
            func.sum(_call.prompt_tokens).label("prompt_tokens"),
            func.sum(_call.cached_tokens).label("cached_tokens"),
            func.sum(_call.thinking_tokens).label("thinking_tokens"),
            func.sum(_call.output_tokens).label("output_tokens"),
            func.coalesce(func.sum(_call.cost_usd), 0.0).label("cost_usd"),
            func.sum(case((_call.cost_usd.is_(None), 1), else_=0)).label("unpriced_calls"),
            func.sum(_call.seconds).label("seconds"),
        ).group_by(_call.role)
        if task_id:
            query = query.where(_call.task_id == task_id)
        async with self._db.read() as connection:
            rows = (await connection.execute(query.order_by(_call.role))).all()
        return tuple(
            RoleSpend(
                role=row.role,
                calls=row.calls,
                usage=to_usage(row),
                cost_usd=row.cost_usd,
                unpriced_calls=row.unpriced_calls,
                seconds=row.seconds,
            )
            for row in rows
        )

    async def waits(self, task_id: str) -> int:
        """Times the operator waited for background work: 0."""
        query = select(func.coalesce(func.sum(_call.waits), 0)).where(_call.task_id == task_id)
        async with self._db.read() as connection:
            return int(await connection.scalar(query) or 0)

    async def event_groups(
        self, task_id: str, event_type: str, field: str, **where: str
    ) -> tuple[EventGroup, ...]:
        """Events of a type, counted by the text in one field, those with most events first.

        `where` takes only events with these texts in other fields.
        """
        event = tables.event.c
        # SQLite has no type JSON: a cast to it would make numbers of texts.
        document = type_coerce(event.event, JSON) if self._db.is_sqlite else cast(event.event, JSON)
        query = (
            select(
                document[field].as_string().label("value"),
                func.count().label("events"),
                func.max(event.seq).label("newest"),
            )
            .where(event.task_id == task_id, event.type == event_type)
            .where(*(document[name].as_string() == text for name, text in where.items()))
            .group_by("value")
        )
        async with self._db.read() as connection:
            groups = (await connection.execute(query)).all()
            newest = select(*EVENT_COLUMNS).where(
                event.task_id == task_id, event.seq.in_([group.newest for group in groups])
            )
            events = {row.seq: to_event(row) for row in (await connection.execute(newest)).all()}
        found = (
            EventGroup(value=group.value, count=group.events, newest=events[group.newest])
            for group in groups
        )
        return tuple(sorted(found, key=lambda group: (-group.count, -group.newest.seq)))

    async def disk_use(self) -> DiskUse:
        """Of all artifacts, and of the tasks that need the most."""
        row = tables.artifact.c
        size = func.coalesce(func.sum(row.size), 0)
        query = _sizes_by_task().order_by(func.sum(row.size).desc()).limit(LARGEST_TASKS)
        async with self._db.read() as connection:
            total, count = (await connection.execute(select(size, func.count(row.sha256)))).one()
            tasks = (await connection.execute(query)).all()
        return DiskUse(
            bytes=int(total),
            artifacts=count,
            tasks=tuple(
                TaskDisk(task_id=task.task_id, bytes=int(task.size), artifacts=task.artifacts)
                for task in tasks
            ),
        )

    async def task_disk_use(self, task_id: str) -> TaskDisk:
        query = _sizes_by_task().where(tables.task_artifact.c.task_id == task_id)
        async with self._db.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        size, artifacts = (int(row.size), row.artifacts) if row is not None else (0, 0)
        return TaskDisk(task_id=task_id, bytes=size, artifacts=artifacts)

    async def health(self) -> Health:
        """Over the newest calls of all tasks."""
        newest = select(*_HEALTH).order_by(_call.at.desc()).limit(HEALTH_CALLS)
        states = select(tables.task.c.state, func.count()).group_by(tables.task.c.state)
        async with self._db.read() as connection:
            calls = (await connection.execute(newest)).all()
            by_state = (await connection.execute(states)).all()
        firsts = sorted(call.prompt_tokens for call in calls if call.first_of_turn)
        seconds = sorted(call.seconds for call in calls)
        prompt = sum(call.prompt_tokens for call in calls)
        return Health(
            first_calls=len(firsts),
            first_call_p50=_percentile(firsts, 50),
            first_call_p95=_percentile(firsts, 95),
            first_call_max=_percentile(firsts, 100),
            cached_share=sum(call.cached_tokens for call in calls) / prompt if prompt else 0.0,
            latency_p50=_percentile(seconds, 50),
            latency_p95=_percentile(seconds, 95),
            waits=sum(call.waits for call in calls),
            failed_calls=sum(call.outcome != "ok" for call in calls),
            fallbacks=sum(bool(call.fallback) for call in calls),
            by_state={TaskState(state): count for state, count in by_state},
        )


def _sizes_by_task() -> Select[Any]:
    row, link = tables.artifact.c, tables.task_artifact.c
    return (
        select(
            link.task_id,
            func.sum(row.size).label("size"),
            func.count(row.sha256).label("artifacts"),
        )
        .join(tables.artifact, row.sha256 == link.sha256)
        .group_by(link.task_id)
    )


def _percentile(ascending: Sequence[Any], percent: int) -> Any:
    """The smallest value that so many percent do not exceed; 0 of nothing."""
    if not ascending:
        return 0
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)]
