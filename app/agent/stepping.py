"""Writes a step: decided before the device is touched, finished when validated."""

from __future__ import annotations

import json
from typing import Any

from app.agent.run import Attempted, Run, Turn
from app.domain.actions import Receipt, Verdict, describe
from app.domain.events import ChunkClosed, StepDecided, StepFinished
from app.domain.memory import TextKind
from app.domain.messages import Image, Message, Text
from app.domain.screens import Observation, ScreenDiff
from app.domain.tasks import Recovery, StepRecord, StepState
from app.memory.ledger import recovery_line
from app.memory.summaries import pending
from app.perception import screen


async def decide(run: Run) -> None:
    """Writes the open turn as a decided step, with everything that led to it."""
    turn = run.current_turn()
    turn.record = record = _record(run, turn)
    body = b"[" + b",".join(m.model_dump_json().encode() for m in record.messages) + b"]"
    ref = await run.ports.artifacts.put(body, "application/json")
    run.index(TextKind.ACTION, record.action_text)
    run.index(TextKind.THINKING, record.thinking)
    await run.write(
        StepDecided(
            step_id=record.step_id,
            step_number=record.step_number,
            started_at=record.started_at,
            offset=record.offset,
            observation=record.observation,
            action=record.action,
            action_text=record.action_text,
            thinking=record.thinking,
            native_thinking=record.native_thinking,
            messages_ref=ref,
            messages=record.messages,
            plan_revision=record.plan_revision,
            subgoal_hash=record.subgoal_hash,
            tools=record.tools,
            notes=record.notes,
            remembered=record.remembered,
            irreversible=record.irreversible,
            approved_by=record.approved_by,
        )
    )


def _record(run: Run, turn: Turn) -> StepRecord:
    """The turn as a decided step."""
    return StepRecord(
        step_id=turn.step_id,
        step_number=turn.step_number,
        state=StepState.DECIDED,
        started_at=turn.observation.taken_at,
        offset=turn.offset,
        decided_at=run.ports.clock.now(),
        plan_revision=run.plan.revision if run.plan else 0,
        subgoal_hash=run.plan.subgoal_hash() if run.plan else "",
        observation=turn.observation.light(),
        thinking="\n".join(t for t in turn.thinking if t),
        native_thinking="\n".join(t for t in turn.native_thinking if t),
        action=turn.action,
        action_text=describe(turn.action) if turn.action is not None else _proposal_text(turn),
        messages=tuple(_storable(m) for m in turn.traffic.whole),
        tools=tuple(turn.tools),
        notes=tuple(turn.notes),
        remembered=dict(turn.remembered),
        irreversible=turn.irreversible,
        approved_by=turn.approved_by,
    )


async def finish(
    run: Run,
    *,
    state: StepState,
    verdict: Verdict,
    reason: str = "",
    receipt: Receipt | None = None,
    diff: ScreenDiff | None = None,
    after: Observation | None = None,
    recoveries: tuple[Recovery, ...] = (),
) -> None:
    """Writes the decided step's result and moves on to the next step number."""
    turn = run.current_turn()
    if turn.record is None:
        raise RuntimeError("a step is decided before it is finished")
    world = None
    if run.rules.memory.world:
        world = run.world.observe(turn.step_number, after, turn.action, verdict)
    appeared = "; ".join(diff.added) if diff is not None else ""
    run.index(TextKind.VERDICT, f"{verdict.value} {reason} {appeared}".strip())
    for recovery in recoveries:
        run.index(TextKind.RECOVERY, f"{recovery_line(recovery)} {recovery.diagnosis}")
    result = StepFinished(
        step_id=turn.step_id,
        step_number=turn.step_number,
        state=state,
        receipt=receipt,
        verdict=verdict,
        verdict_reason=reason,
        diff=diff,
        after=after.light() if after is not None else None,
        recoveries=recoveries,
        world=world,
        ended_at=run.ports.clock.now(),
    )
    done = ("state", "receipt", "verdict", "verdict_reason", "diff", "after", "recoveries")
    update = {name: getattr(result, name) for name in (*done, "ended_at")}
    record = _as_stored(turn.record.model_copy(update=update))
    run.note(result, *(ChunkClosed(chunk=c) for c in run.transcript.close_chunks(record)))
    if run.rules.memory.summarises:
        run.note(pending(record.step_id, record.step_number))
    await run.write()
    take_in(run, record)
    turn.record = None
    run.step_number += 1
    if state is StepState.DONE:
        run.losses = 0


async def finish_without_device(run: Run, verdict: Verdict, reason: str) -> None:
    """A step that never touches the device: finish, give_up, or blocked."""
    await decide(run)
    state = StepState.BLOCKED if verdict is Verdict.BLOCKED else StepState.DONE
    await finish(run, state=state, verdict=verdict, reason=reason)


async def close_open(run: Run, reason: str) -> None:
    """Finishes a step that the task's end caught between decision and result."""
    turn = run.turn
    if turn is None or turn.record is None:
        return
    if turn.attempted is not None:
        await finish_attempted(run, turn.attempted)
        return
    await finish(run, state=StepState.INTERRUPTED, verdict=Verdict.UNCERTAIN, reason=reason[:500])


async def finish_attempted(run: Run, attempted: Attempted) -> None:
    """Writes what came of an action that did not work, with the recoveries tried so far."""
    turn = run.current_turn()
    after = run.observation or attempted.after
    await finish(
        run,
        state=StepState.DONE,
        verdict=attempted.verdict,
        reason=attempted.reason,
        receipt=attempted.receipt,
        diff=screen.diff(turn.observation, after),
        after=after,
        recoveries=tuple(turn.recoveries),
    )


def _as_stored(record: StepRecord) -> StepRecord:
    """The step as the store gives it back: no database takes the character NUL."""
    written = record.model_dump_json(exclude={"messages"})
    if r"\u0000" not in written:
        return record
    data = _without_nul(json.loads(written))
    return StepRecord.model_validate({**data, "messages": record.messages})


def _without_nul(data: Any) -> Any:
    match data:
        case str():
            return data.replace("\0", "\ufffd")
        case list():
            return [_without_nul(item) for item in data]
        case dict():
            return {_without_nul(key): _without_nul(value) for key, value in data.items()}
    return data


def take_in(run: Run, record: StepRecord) -> None:
    """Adds a finished step to what the next prompts and checks are made of."""
    run.transcript.add(record)
    run.screens.add(record.step_number, record.observation)
    run.recent.append(record)


def _proposal_text(turn: Turn) -> str:
    name = turn.proposal.name if turn.proposal is not None else "nothing"
    return f"{name} (not performed)"


def _storable(message: Message) -> Message:
    """Pictures by reference; text that belonged to this turn alone is kept as it was."""
    if not any(isinstance(p, Image) for p in message.parts):
        return message
    return message.model_copy(
        update={
            "parts": tuple(
                Text(text="[the picture was shown in that turn only]")
                if isinstance(p, Image)
                else p
                for p in message.parts
            )
        }
    )
