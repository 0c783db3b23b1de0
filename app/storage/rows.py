"""Reads domain values back from rows."""

from __future__ import annotations

import json
from typing import Any, TypeAlias, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import Row

from app.domain.actions import ACTION, Receipt, Verdict
from app.domain.events import EVENT, StoredEvent
from app.domain.memory import PromptFigures
from app.domain.messages import Message, Usage
from app.domain.plans import Check
from app.domain.screens import ArtifactRef, Observation, ScreenDiff
from app.domain.tasks import (
    Instruction,
    ModelCallRecord,
    Note,
    Question,
    Recovery,
    StepRecord,
    StepState,
    Task,
    TaskSpec,
    TaskState,
)
from app.domain.values import Value
from app.storage import tables

RECOVERIES: TypeAdapter[tuple[Recovery, ...]] = TypeAdapter(tuple[Recovery, ...])
MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])

V = TypeVar("V", bound=Value)
AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"

# All but what only a runner needs.
_RUNNERS = ("observation", "stable_ref", "frozen_ref", "idempotency_key")
TASK = tuple(c for c in tables.task.c if c.name not in _RUNNERS)
STEP = tuple(tables.step.c)
CALL = tuple(tables.model_call.c)
EVENT_COLUMNS = tuple(tables.event.c)


def parsed(kind: type[V], document: str | None) -> V | None:
    """The value a document holds; None where there is none."""
    return None if document is None else kind.model_validate_json(document)


def to_task(row: AnyRow) -> Task:
    return Task(
        task_id=row.task_id,
        spec=TaskSpec.model_validate_json(row.spec),
        state=TaskState(row.state),
        reason=row.reason,
        code=row.code,
        answer=row.answer,
        answer_data=None if row.answer_data is None else json.loads(row.answer_data),
        cited_steps=tuple(json.loads(row.cited_steps)),
        steps=row.steps,
        usage=to_usage(row),
        cost_usd=row.cost_usd,
        unpriced_calls=row.unpriced_calls,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        last_seq=row.last_seq,
        cancel_requested=row.cancel_requested,
        pause_requested=row.pause_requested,
        offline=row.offline,
    )


def to_usage(row: AnyRow) -> Usage:
    return Usage(
        prompt=row.prompt_tokens,
        cached=row.cached_tokens,
        thinking=row.thinking_tokens,
        output=row.output_tokens,
    )


def to_step(row: AnyRow) -> StepRecord:
    """A step without its messages and element lists: those are artifacts."""
    return StepRecord(
        step_id=row.step_id,
        step_number=row.step_number,
        state=StepState(row.state),
        started_at=row.started_at,
        offset=row.offset,
        decided_at=row.decided_at,
        ended_at=row.ended_at,
        plan_revision=row.plan_revision,
        subgoal_hash=row.subgoal_hash,
        observation=Observation.model_validate_json(row.observation),
        thinking=row.thinking,
        native_thinking=row.native_thinking,
        action=None if row.action is None else ACTION.validate_json(row.action),
        action_text=row.action_text,
        receipt=parsed(Receipt, row.receipt),
        verdict=None if row.verdict is None else Verdict(row.verdict),
        verdict_reason=row.verdict_reason,
        diff=parsed(ScreenDiff, row.diff),
        after=parsed(Observation, row.after),
        recoveries=RECOVERIES.validate_json(row.recoveries),
        remembered=json.loads(row.remembered),
        notes=tuple(json.loads(row.notes)),
        tools=tuple(json.loads(row.tools)),
        irreversible=row.irreversible,
        approved_by=row.approved_by,
    )


def to_call(row: AnyRow) -> ModelCallRecord:
    return ModelCallRecord(
        call_id=row.call_id,
        role=row.role,
        step_number=row.step_number,
        provider=row.provider,
        model=row.model,
        offline=row.offline,
        outcome=row.outcome,
        detail=row.detail,
        usage=to_usage(row),
        cost_usd=row.cost_usd,
        seconds=row.seconds,
        first_token_seconds=row.first_token_seconds,
        attempts=row.attempts,
        fallback=row.fallback,
        first_of_turn=row.first_of_turn,
        figures=parsed(PromptFigures, row.figures),
        prompt_ref=parsed(ArtifactRef, row.prompt_ref),
        reply_ref=parsed(ArtifactRef, row.reply_ref),
    )


def to_event(row: AnyRow) -> StoredEvent:
    return StoredEvent(
        seq=row.seq, task_id=row.task_id, at=row.at, event=EVENT.validate_json(row.event)
    )


def to_check(row: AnyRow) -> Check:
    return Check(
        number=row.number,
        text=row.text,
        milestone=row.milestone,
        closed_by_step=row.closed_by_step,
    )


def to_note(row: AnyRow) -> Note:
    return Note(key=row.key, text=row.text, step_number=row.step_number)


def to_instruction(row: AnyRow) -> Instruction:
    return Instruction(number=row.number, text=row.text, step_number=row.step_number)


def to_question(row: AnyRow) -> Question:
    return Question(
        question_id=row.question_id, kind=row.kind, text=row.text, step_number=row.step_number
    )
