"""Rebuilds what a runner needs to go on with a task."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.messages import Role
from app.domain.plans import Plan
from app.domain.ports import Artifacts
from app.domain.screens import ArtifactRef, Observation, UiTree
from app.domain.summaries import HistoryChunk, StepSummary, SummaryStatus
from app.domain.tasks import ModelCallRecord, Spent, StepRecord, TaskHistory, TaskState
from app.errors import NotFound
from app.storage import tables
from app.storage.db import Database
from app.storage.rows import (
    MESSAGES,
    AnyRow,
    parsed,
    to_call,
    to_check,
    to_instruction,
    to_note,
    to_question,
    to_step,
    to_task,
    to_usage,
)

BACKGROUND_ROLES = (Role.SUMMARIZER.value, Role.CHUNK_WRITER.value)
WHOLE_TURNS = 3  # the newest steps are always given whole, also those the frozen history covers


async def load_history(
    db: Database, artifacts: Artifacts, task_id: str, *, whole: bool = False
) -> TaskHistory:
    """Everything recorded about a task.

    Messages and element lists are read for the steps that the frozen history does not cover, and
    for the last few; for all of them when `whole` is set. A long task's are many megabytes.
    """
    async with db.read() as connection:
        row = await _task_row(connection, task_id)
        step_rows = await _rows_of(connection, tables.step, task_id, "step_number")
        questions = await _rows_of(connection, tables.question, task_id, "answered_place", "place")
        kept = {
            table.name: await _rows_of(connection, table, task_id, order)
            for table, order in (
                (tables.required_check, "number"),
                (tables.note, "place"),
                (tables.remembered, "place"),
                (tables.instruction, "number"),
            )
        }
        plan, revisions = await _plan(connection, task_id)
        states = await _rows_of(connection, tables.step_summary, task_id, "step_number")
        texts = await _rows_of(
            connection, tables.summary_version, task_id, "step_number", "version"
        )
        chunks = await _rows_of(connection, tables.chunk, task_id, "start_step")
        spent = await _background_spent(connection, task_id)
        first_call = await _last_first_call(connection, task_id)
    through = 0 if whole else min(row.frozen_through, len(step_rows) - WHOLE_TURNS)
    steps = [await load_step(r, artifacts, whole=r.step_number > through) for r in step_rows]
    unanswered = sorted((q for q in questions if q.answered_at is None), key=lambda q: q.place)
    return TaskHistory(
        task=to_task(row),
        steps=tuple(steps),
        plan=plan,
        plan_revisions=revisions,
        checks=tuple(map(to_check, kept["required_check"])),
        notes=tuple(map(to_note, kept["note"])),
        remembered={r.key: (r.value, r.step_number) for r in kept["remembered"]},
        instructions=tuple(map(to_instruction, kept["instruction"])),
        answers=tuple(
            (q.text, q.answer, q.answered_step)
            for q in questions
            if q.answered_at is not None and q.kind == "question"
        ),
        stable_prefix=await _text(artifacts, row.stable_ref),
        frozen=await _text(artifacts, row.frozen_ref),
        frozen_through=row.frozen_through,
        last_first_call=first_call,
        open_question=to_question(unanswered[-1]) if unanswered else None,
        seconds_spent=seconds_spent(row, row.updated_at),
        summaries={r.step_number: StepSummary.model_validate_json(r.summary) for r in texts},
        summary_states={r.step_number: SummaryStatus(r.status) for r in states},
        chunks=tuple(HistoryChunk.model_validate_json(r.chunk) for r in chunks),
        background=spent,
    )


async def load_steps(
    db: Database, artifacts: Artifacts, task_id: str, first: int, last: int
) -> tuple[StepRecord, ...]:
    """The steps of a range, whole."""
    row = tables.step.c
    query = select(tables.step).where(row.task_id == task_id, row.step_number.between(first, last))
    async with db.read() as connection:
        rows = (await connection.execute(query.order_by(row.step_number))).all()
    return tuple([await load_step(r, artifacts) for r in rows])


async def load_step(row: AnyRow, artifacts: Artifacts, *, whole: bool = True) -> StepRecord:
    """A step with its messages and element lists, as far as they still exist."""
    step = to_step(row)
    if not whole:
        return step
    ref = parsed(ArtifactRef, row.messages_ref)
    messages = b"[]" if ref is None else await _content(artifacts, ref) or b"[]"
    return step.model_copy(
        update={
            "messages": MESSAGES.validate_json(messages),
            "observation": await with_elements(step.observation, artifacts),
            "after": step.after and await with_elements(step.after, artifacts),
        }
    )


async def with_elements(observation: Observation, artifacts: Artifacts) -> Observation:
    """The observation with the element list that its row only refers to."""
    if observation.tree.elements or observation.tree_ref is None:
        return observation
    content = await _content(artifacts, observation.tree_ref)
    if content is None:
        return observation
    return observation.model_copy(update={"tree": UiTree.model_validate_json(content)})


def seconds_spent(row: AnyRow, until: datetime) -> float:
    """Seconds in state running up to a time."""
    if row.state != TaskState.RUNNING or row.running_since is None:
        return float(row.seconds_spent)
    return float(row.seconds_spent + max(0.0, (until - row.running_since).total_seconds()))


async def _task_row(connection: AsyncConnection, task_id: str) -> AnyRow:
    query = select(tables.task).where(tables.task.c.task_id == task_id)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return row


async def _rows_of(
    connection: AsyncConnection, table: Table, task_id: str, *order: str
) -> list[AnyRow]:
    query = select(table).where(table.c.task_id == task_id)
    query = query.order_by(*(table.c[name] for name in order))
    return list((await connection.execute(query)).all())


async def _plan(connection: AsyncConnection, task_id: str) -> tuple[Plan | None, int]:
    row, count = tables.plan_revision.c, func.count().over()
    query = select(row.plan, count).where(row.task_id == task_id).order_by(row.revision.desc())
    newest = (await connection.execute(query.limit(1))).one_or_none()
    return (None, 0) if newest is None else (parsed(Plan, newest[0]), newest[1])


async def _last_first_call(connection: AsyncConnection, task_id: str) -> ModelCallRecord | None:
    row = tables.model_call.c
    query = select(tables.model_call).where(
        row.task_id == task_id, row.first_of_turn, row.figures.is_not(None)
    )
    newest = (await connection.execute(query.order_by(row.seq.desc()).limit(1))).one_or_none()
    return None if newest is None else to_call(newest)


async def _background_spent(connection: AsyncConnection, task_id: str) -> dict[str, Spent]:
    """What the background roles have used, role by role."""
    call = tables.model_call.c
    names = ("prompt_tokens", "cached_tokens", "thinking_tokens", "output_tokens")
    query = (
        select(
            call.role,
            *(func.sum(call[name]).label(name) for name in names),
            func.coalesce(func.sum(call.cost_usd), 0.0).label("cost_usd"),
        )
        .where(call.task_id == task_id, call.role.in_(BACKGROUND_ROLES))
        .group_by(call.role)
    )
    rows = (await connection.execute(query)).all()
    return {r.role: Spent(usage=to_usage(r), cost_usd=float(r.cost_usd)) for r in rows}


async def _content(artifacts: Artifacts, ref: ArtifactRef) -> bytes | None:
    try:
        return await artifacts.get(ref)
    except NotFound:
        return None


async def _text(artifacts: Artifacts, document: str | None) -> str:
    """A text artifact; one that a running task rests on must exist."""
    ref = parsed(ArtifactRef, document)
    return "" if ref is None else (await artifacts.get(ref)).decode()
