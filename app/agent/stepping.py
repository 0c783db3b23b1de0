"""Writes a step: decided before the device is touched, finished when validated."""

from __future__ import annotations

from app.agent.run import Run, Turn
from app.domain.actions import Receipt, Verdict, describe
from app.domain.events import StepDecided, StepFinished
from app.domain.memory import TextKind
from app.domain.messages import Image, Message, Text
from app.domain.screens import Observation, ScreenDiff
from app.domain.tasks import Recovery, StepRecord, StepState
from app.memory.ledger import recovery_line


async def decide(run: Run) -> None:
    """Writes the open turn as a decided step, with everything that led to it."""
    turn = run.current_turn()
    messages = tuple(_storable(m) for m in turn.traffic.messages)
    body = b"[" + b",".join(m.model_dump_json().encode() for m in messages) + b"]"
    ref = await run.ports.artifacts.put(body, "application/json")
    text = describe(turn.action) if turn.action is not None else _proposal_text(turn)
    thinking = "\n".join(t for t in turn.thinking if t)
    native = "\n".join(t for t in turn.native_thinking if t)
    run.index(TextKind.ACTION, text)
    run.index(TextKind.THINKING, thinking)
    await run.write(
        StepDecided(
            step_id=turn.step_id,
            step_number=turn.step_number,
            started_at=turn.observation.taken_at,
            offset=turn.offset,
            observation=turn.observation.light(),
            action=turn.action,
            action_text=text,
            thinking=thinking,
            native_thinking=native,
            messages_ref=ref,
            messages=messages,
            plan_revision=run.plan.revision if run.plan else 0,
            subgoal_hash=run.plan.subgoal_hash() if run.plan else "",
            tools=tuple(turn.tools),
            notes=tuple(turn.notes),
            remembered=dict(turn.remembered),
            irreversible=turn.irreversible,
            approved_by=turn.approved_by,
        )
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
    """Writes the step's result and moves on to the next step number."""
    turn = run.current_turn()
    world = None
    if run.rules.memory.world:
        world = run.world.observe(turn.step_number, after, turn.action, verdict)
    appeared = "; ".join(diff.added) if diff is not None else ""
    run.index(TextKind.VERDICT, f"{verdict.value} {reason} {appeared}".strip())
    for recovery in recoveries:
        run.index(TextKind.RECOVERY, f"{recovery_line(recovery)} {recovery.diagnosis}")
    ended = run.ports.clock.now()
    await run.write(
        StepFinished(
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
            ended_at=ended,
        )
    )
    record = StepRecord(
        step_id=turn.step_id,
        step_number=turn.step_number,
        state=state,
        started_at=turn.observation.taken_at,
        offset=turn.offset,
        ended_at=ended,
        plan_revision=run.plan.revision if run.plan else 0,
        subgoal_hash=run.plan.subgoal_hash() if run.plan else "",
        observation=turn.observation.light(),
        thinking="\n".join(t for t in turn.thinking if t),
        native_thinking="\n".join(t for t in turn.native_thinking if t),
        action=turn.action,
        action_text=describe(turn.action) if turn.action is not None else _proposal_text(turn),
        messages=tuple(_storable(m) for m in turn.traffic.messages),
        receipt=receipt,
        verdict=verdict,
        verdict_reason=reason,
        diff=diff,
        after=after.light() if after is not None else None,
        recoveries=recoveries,
        remembered=dict(turn.remembered),
        notes=tuple(turn.notes),
        tools=tuple(turn.tools),
        irreversible=turn.irreversible,
        approved_by=turn.approved_by,
    )
    take_in(run, record)
    run.step_number += 1


async def finish_without_device(run: Run, verdict: Verdict, reason: str) -> None:
    """A step that never touches the device: finish, give_up, or blocked."""
    await decide(run)
    state = StepState.BLOCKED if verdict is Verdict.BLOCKED else StepState.DONE
    await finish(run, state=state, verdict=verdict, reason=reason)


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
