"""What a run can show of itself in numbers: its turns, its recalls, its background writing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pydantic import TypeAdapter
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.actions import Verdict
from app.domain.events import FallbackUsed, TextRefused, ToolServed
from app.domain.memory import PromptFigures
from app.domain.messages import Role
from app.domain.summaries import HistoryChunk, StepSummary
from app.domain.tasks import Recovery
from app.domain.values import Value
from app.errors import NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.rows import to_event

RECALL = "recall_history"
_HIT = re.compile(r"^step \d+\b", re.MULTILINE | re.IGNORECASE)
_RECOVERIES: TypeAdapter[tuple[Recovery, ...]] = TypeAdapter(tuple[Recovery, ...])
_COUNTED = ("fallback_used", "tool_served", "text_refused")
_event, _call, _step = tables.event.c, tables.model_call.c, tables.step.c


class Spread(Value):
    """Seconds of many things of one kind."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    longest: float = 0.0

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        found = sorted(seconds)
        if not found:
            return cls()
        return cls(count=len(found), median=_at(found, 50), p95=_at(found, 95), longest=found[-1])


class WrittenFigures(Value):
    """One kind of background writing."""

    states: dict[str, int]
    """Steps, or chunks, by the state of their newest text."""
    versions: int
    """Texts that passed every check."""
    calls: int
    """Answers asked for."""
    refused: int
    """Answers that broke a rule."""
    refusals: dict[str, int]
    """How often each rule was broken."""
    ready: Spread
    """From the end of the step, or the closing of the chunk, to each version."""
    image_only: int
    """Newest texts with values that stand only in a picture."""


class TaskFigures(Value):
    """Everything about a task that is counted."""

    steps: int
    verdicts: dict[str, int]
    repeated_actions: int
    """Times the same action came again on the same screen without effect."""
    analyzer_activations: int
    recalls: int
    recall_hits: int
    """Recalls that found something."""
    recalls_without_trigger: int
    conflicts: tuple[int, ...]
    """Steps whose newest summary contradicts the validator."""
    compactions: int
    fallbacks: dict[str, int]
    """By kind."""
    waits: int
    """Times the operator waited for background work: 0."""
    failed_calls: int
    retries: int
    """Attempts of model calls beyond the first."""
    history_tokens: int
    """Of the newest operator prompt: frozen history and turns in full."""
    turn: Spread
    """From a step's start to its verdict."""
    step_interval: Spread
    """From one step's start to the next one's."""
    summaries: WrittenFigures
    chunks: WrittenFigures


class TaskFigureQueries:
    """Counts over the whole record of one task. What does not exist raises NotFound."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def task(self, task_id: str) -> TaskFigures:
        async with self._db.read() as connection:
            known = select(tables.task.c.task_id).where(tables.task.c.task_id == task_id)
            if await connection.scalar(known) is None:
                raise NotFound(f"There is no task {task_id}.")
            told = await _told(connection, task_id)
            values = {
                **await _steps(connection, task_id),
                **await _calls(connection, task_id),
                **await _events(connection, task_id, told),
            }
            summaries, conflicts = await _summaries(connection, task_id, told)
            chunks = await _chunks(connection, task_id, told)
        return TaskFigures(**values, conflicts=conflicts, summaries=summaries, chunks=chunks)


Told = list[FallbackUsed | ToolServed | TextRefused]


async def _told(connection: AsyncConnection, task_id: str) -> Told:
    """The events whose text is needed; of tools those of recalls."""
    query = select(*tables.event.c).where(_event.task_id == task_id, _event.type.in_(_COUNTED))
    query = query.where((_event.type != "tool_served") | _event.event.contains(RECALL))
    events = (to_event(row).event for row in (await connection.execute(query)).all())
    return [e for e in events if isinstance(e, FallbackUsed | ToolServed | TextRefused)]


async def _steps(connection: AsyncConnection, task_id: str) -> dict[str, object]:
    query = select(_step.verdict, _step.started_at, _step.ended_at, _step.recoveries)
    query = query.where(_step.task_id == task_id).order_by(_step.step_number)
    rows = (await connection.execute(query)).all()
    starts = [row.started_at for row in rows]
    ended = [(row.ended_at - row.started_at).total_seconds() for row in rows if row.ended_at]
    verdicts = Counter(row.verdict or Verdict.UNCERTAIN.value for row in rows if row.ended_at)
    return {
        "steps": len(rows),
        "verdicts": dict(verdicts),
        "analyzer_activations": sum(len(_RECOVERIES.validate_json(r.recoveries)) for r in rows),
        "turn": Spread.of(ended),
        "step_interval": Spread.of((b - a).total_seconds() for a, b in pairwise(starts)),
    }


async def _calls(connection: AsyncConnection, task_id: str) -> dict[str, object]:
    here = _call.task_id == task_id
    sums = select(
        func.coalesce(func.sum(_call.waits), 0).label("waits"),
        func.coalesce(func.sum(_call.attempts - 1), 0).label("retries"),
    ).where(here)
    failed = select(func.count()).where(here, _call.outcome != "ok")
    newest = (
        select(_call.figures)
        .where(here, _call.role == Role.OPERATOR.value, _call.figures.is_not(None))
        .order_by(_call.seq.desc())
        .limit(1)
    )
    row = (await connection.execute(sums)).one()
    figures = await connection.scalar(newest)
    zones = PromptFigures.model_validate_json(figures).zones if figures else None
    return {
        "waits": int(row.waits),
        "retries": int(row.retries),
        "failed_calls": int(await connection.scalar(failed) or 0),
        "history_tokens": zones.frozen + zones.active if zones else 0,
    }


async def _events(connection: AsyncConnection, task_id: str, told: Told) -> dict[str, object]:
    query = (
        select(_event.type, func.count().label("number"))
        .where(_event.task_id == task_id, _event.type.in_(("compacted", "loop_noticed")))
        .group_by(_event.type)
    )
    numbers = {row.type: row.number for row in (await connection.execute(query)).all()}
    recalls = [e for e in told if isinstance(e, ToolServed) and e.name == RECALL]
    return {
        "compactions": numbers.get("compacted", 0),
        "repeated_actions": numbers.get("loop_noticed", 0),
        "fallbacks": dict(Counter(e.kind for e in told if isinstance(e, FallbackUsed))),
        "recalls": len(recalls),
        "recall_hits": sum(_HIT.search(e.result) is not None for e in recalls),
        "recalls_without_trigger": sum(not e.trigger for e in recalls),
    }


async def _summaries(
    connection: AsyncConnection, task_id: str, told: Told
) -> tuple[WrittenFigures, tuple[int, ...]]:
    state, text = tables.step_summary.c, tables.summary_version.c
    states = select(state.status).where(state.task_id == task_id)
    query = select(text.summary).where(text.task_id == task_id)
    documents = await connection.scalars(query.order_by(text.step_number, text.version))
    versions = [StepSummary.model_validate_json(document) for document in documents]
    newest = {summary.step_number: summary for summary in versions}.values()
    figures = WrittenFigures(
        states=dict(Counter(await connection.scalars(states))),
        versions=len(versions),
        ready=Spread.of(summary.evidence.seconds_to_ready for summary in versions),
        image_only=sum(bool(summary.image_only) for summary in newest),
        **await _asked(connection, task_id, Role.SUMMARIZER, "summaries", told),
    )
    return figures, tuple(summary.step_number for summary in newest if summary.conflict)


async def _chunks(connection: AsyncConnection, task_id: str, told: Told) -> WrittenFigures:
    chunk, version = tables.chunk.c, tables.chunk_version.c
    states = select(chunk.state).where(chunk.task_id == task_id)
    query = select(version.chunk).where(version.task_id == task_id)
    documents = await connection.scalars(query.order_by(version.start_step, version.version))
    versions = [HistoryChunk.model_validate_json(document) for document in documents]
    newest = {found.start_step: found for found in versions}.values()
    return WrittenFigures(
        states=dict(Counter(await connection.scalars(states))),
        versions=len(versions),
        ready=Spread.of(found.seconds_to_ready for found in versions),
        image_only=sum(bool(found.image_only) for found in newest),
        **await _asked(connection, task_id, Role.CHUNK_WRITER, "chunks", told),
    )


async def _asked(
    connection: AsyncConnection, task_id: str, role: Role, kind: str, told: Told
) -> dict[str, object]:
    """Calls of a role, and what was refused of its answers."""
    query = select(func.count()).where(_call.task_id == task_id, _call.role == role.value)
    refused = [e for e in told if isinstance(e, TextRefused) and e.kind == kind]
    return {
        "calls": int(await connection.scalar(query) or 0),
        "refused": len(refused),
        "refusals": dict(Counter(r.rule for e in refused for r in e.refusals)),
    }


def _at(ascending: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)]
