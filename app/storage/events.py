"""What each event does to the rows: the pure half of writing, one case per event."""

from __future__ import annotations

from datetime import datetime

from app.domain.events import (
    ChecksChanged,
    ChunkChanged,
    ChunkClosed,
    Compacted,
    ControlRequested,
    Event,
    InstructionInjected,
    ModelCalled,
    NoteWritten,
    PlanRevised,
    PrefixStored,
    QuestionAnswered,
    QuestionAsked,
    Remembered,
    StepDecided,
    StepFinished,
    SummaryChanged,
    TaskStateChanged,
    TurnStarted,
)
from app.domain.screens import Observation
from app.domain.tasks import TRANSITIONS, ModelCallRecord, StepState, TaskState
from app.domain.values import Value
from app.errors import Conflict
from app.storage import tables
from app.storage.background import apply_chunk, apply_summary
from app.storage.changes import Changes, Columns, TaskColumns
from app.storage.types import to_document

PLACES_PER_EVENT = 1_000  # keys one event may write before their order within it is lost


def document(value: Value | None) -> str | None:
    return None if value is None else to_document(value)


def apply(changes: Changes, event: Event, seq: int, at: datetime) -> None:
    """Adds what this event changes; raises Conflict where the state does not allow it."""
    task = changes.task
    match event:
        case TaskStateChanged():
            _change_state(task, event, at)
        case ControlRequested(control=control):
            task.cancel_requested |= control == "cancel"
            if control in ("pause", "resume"):
                task.pause_requested = control == "pause"
        case PrefixStored(stable_ref=ref, offline=offline):
            task.stable_ref, task.offline = to_document(ref), offline
        case Compacted(frozen_ref=ref, frozen_through=through):
            task.frozen_ref, task.frozen_through = document(ref), through
        case TurnStarted(step_number=number, observation=observation):
            task.turn, task.observation = number, to_document(observation)
        case StepDecided():
            _decide_step(changes, event, at)
        case StepFinished():
            if event.step_number > task.steps:
                raise Conflict(f"Step {event.step_number} is not decided yet.")
            changes.finished_steps.append(_finished_step(event))
        case ModelCalled(call=call):
            _add_call(changes, call, seq, at)
        case PlanRevised(plan=plan, step_number=number):
            changes.insert(
                tables.plan_revision,
                revision=plan.revision,
                step_number=number,
                at=at,
                plan=to_document(plan),
            )
        case ChecksChanged(checks=checks):
            for check in checks:
                changes.upsert(tables.required_check, **check.model_dump())
        case QuestionAsked() | QuestionAnswered():
            _ask_or_answer(changes, event, seq, at)
        case NoteWritten() | Remembered() | InstructionInjected():
            _keep_text(changes, event, seq)
        case SummaryChanged():
            apply_summary(changes, event, at)
        case ChunkClosed() | ChunkChanged():
            apply_chunk(changes, event, at)


def step_number_of(event: Event) -> int | None:
    """The step an event belongs to; None for one of the task as a whole."""
    match event:
        case ModelCalled(call=part) | NoteWritten(note=part):
            return part.step_number
        case InstructionInjected(instruction=part):
            return part.step_number
        case QuestionAsked(question=part):
            return part.step_number
        case ChunkClosed(chunk=chunk) | ChunkChanged(chunk=chunk):
            return chunk.end_step
    return getattr(event, "step_number", None)


def _change_state(task: TaskColumns, event: TaskStateChanged, at: datetime) -> None:
    now, then = TaskState(task.state), event.state
    if event.previous is not now or then not in TRANSITIONS[now]:
        raise Conflict(
            f"The task is {now.value} and cannot go from {event.previous.value} to {then.value}."
        )
    task.state, task.reason, task.code = then.value, event.reason, event.code
    if task.running_since is not None:
        # When a process dies nobody notes the time: what it did last has the nearest one.
        until = task.updated_at if then is TaskState.INTERRUPTED else at
        task.seconds_spent += max(0.0, (until - task.running_since).total_seconds())
    task.running_since = at if then is TaskState.RUNNING else None
    if then is TaskState.RUNNING and task.started_at is None:
        task.started_at = at
    if then.ended:
        task.ended_at = at
        task.answer, task.cited_steps = event.answer, to_document(event.cited_steps)
        answer_data = event.answer_data
        task.answer_data = None if answer_data is None else to_document(answer_data)
        task.cancel_requested = task.pause_requested = False


def _decide_step(changes: Changes, event: StepDecided, at: datetime) -> None:
    expected = changes.task.steps + 1
    if event.step_number != expected:
        raise Conflict(f"Step {event.step_number} cannot be written: the next is {expected}.")
    changes.task.steps = expected
    observation: Observation = event.observation
    changes.insert(
        tables.step,
        step_number=event.step_number,
        step_id=event.step_id,
        state=StepState.DECIDED.value,
        verdict=None,
        verdict_reason="",
        started_at=event.started_at,
        offset=event.offset,
        decided_at=at,
        ended_at=None,
        plan_revision=event.plan_revision,
        subgoal_hash=event.subgoal_hash,
        action_type=event.action.type if event.action else "",
        action=document(event.action),
        action_text=event.action_text,
        thinking=event.thinking,
        native_thinking=event.native_thinking,
        app=observation.app(),
        page=observation.page(),
        observation=to_document(observation),
        after=None,
        messages_ref=document(event.messages_ref),
        receipt=None,
        diff=None,
        recoveries="[]",
        remembered=to_document(event.remembered),
        notes=to_document(event.notes),
        tools=to_document(event.tools),
        world=None,
        irreversible=event.irreversible,
        approved_by=event.approved_by,
    )


def _finished_step(event: StepFinished) -> Columns:
    return {
        "step_id": event.step_id,
        "step_number": event.step_number,
        "state": event.state.value,
        "verdict": event.verdict.value,
        "verdict_reason": event.verdict_reason,
        "ended_at": event.ended_at,
        "receipt": document(event.receipt),
        "diff": document(event.diff),
        "after": document(event.after),
        "recoveries": to_document(event.recoveries),
        "world": document(event.world),
    }


def _add_call(changes: Changes, call: ModelCallRecord, seq: int, at: datetime) -> None:
    task, usage = changes.task, call.usage
    task.prompt_tokens += usage.prompt
    task.cached_tokens += usage.cached
    task.thinking_tokens += usage.thinking
    task.output_tokens += usage.output
    task.cost_usd += call.cost_usd or 0.0
    task.unpriced_calls += call.cost_usd is None
    task.offline |= call.offline
    changes.insert(
        tables.model_call,
        seq=seq,
        at=at,
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cached,
        thinking_tokens=usage.thinking,
        output_tokens=usage.output,
        waits=call.figures.waits if call.figures else 0,
        figures=document(call.figures),
        prompt_ref=document(call.prompt_ref),
        reply_ref=document(call.reply_ref),
        **call.model_dump(exclude={"usage", "figures", "prompt_ref", "reply_ref"}),
    )


def _ask_or_answer(
    changes: Changes, event: QuestionAsked | QuestionAnswered, seq: int, at: datetime
) -> None:
    if isinstance(event, QuestionAsked):
        name = event.question.question_id
        if any(answer["question_id"] == name for answer in changes.answers):
            raise Conflict("A question cannot be answered before it is asked.")
        changes.insert(
            tables.question,
            place=seq,
            asked_at=at,
            answered_by="",
            **event.question.model_dump(),
        )
        return
    changes.answers.append(
        {
            "question_id": event.question_id,
            "answer": event.answer,
            "approved": event.approved,
            "answered_by": event.by,
            "answered_at": at,
            "answered_place": seq,
            "answered_step": event.step_number,
        }
    )


def _keep_text(
    changes: Changes, event: NoteWritten | Remembered | InstructionInjected, seq: int
) -> None:
    place = seq * PLACES_PER_EVENT
    match event:
        case NoteWritten(note=note):
            changes.upsert(tables.note, place=place, **note.model_dump())
        case Remembered(values=values, step_number=number):
            for index, (key, value) in enumerate(values.items()):
                changes.upsert(
                    tables.remembered, key=key, place=place + index, value=value, step_number=number
                )
        case InstructionInjected(instruction=instruction, receipt_id=receipt):
            changes.insert(tables.instruction, receipt_id=receipt, **instruction.model_dump())
