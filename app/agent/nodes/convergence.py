"""The one place where a turn starts: pause, cancel, instructions, limits, loops, the session."""

from __future__ import annotations

from typing import Literal

from app.agent.flow import failed
from app.agent.graph import Signal
from app.agent.performing import perform
from app.agent.run import Run
from app.domain.actions import OpenUrl, Outcome, Verdict
from app.domain.config import Platform
from app.domain.events import (
    ControlApplied,
    InstructionInjected,
    LoopNoticed,
    SessionLostEvent,
    SessionOpened,
)
from app.domain.memory import TextKind
from app.domain.tasks import Instruction, TaskState
from app.errors import DeviceError

LOOP_WINDOW = 8
"""Steps looked at by the loop check."""


async def run(run: Run) -> Signal:
    """Applies what people asked for, then the limits; calls no model."""
    run.turn = None
    run.raise_if_cancelled()
    if run.control.paused:
        await _pause(run)
    # A pause that was taken back before this turn needs nothing more than its receipts.
    run.note(*_applied(run, "pause"), *_applied(run, "resume"))
    _apply_looks(run)
    _apply_instructions(run)
    _check_limits(run)
    _notice_loop(run)
    if not run.session_open:
        await _open_again(run)
    return Signal.GO


async def open_session(run: Run, *, again: bool) -> None:
    """Opens the device session; raises DeviceError."""
    await run.ports.device.open()
    run.session_open = True
    run.observation = None
    run.note(
        SessionOpened(
            device=run.ports.device.name, description=run.ports.device.description, again=again
        )
    )
    if again:
        await _return_to_page(run)
    await run.write()


async def _return_to_page(run: Run) -> None:
    """Opens the last page anew: a browser forgets it with its session, a phone would show it.

    Not twice in a row: that page may be what broke the session.
    """
    last = run.recent[-1] if run.recent else None
    if last is None or run.losses > 1 or run.rules.device.platform is not Platform.CHROMIUM:
        return
    url = (last.after or last.observation).url
    if not url.startswith(("http://", "https://")) or len(url) > 2_000:
        return
    receipt = await perform(run, OpenUrl(url=url))
    done = "opened anew" if receipt.outcome is Outcome.OK else f"not opened: {receipt.message}"
    run.fallback("page_reopened", f"{url} {done}")


async def lose_session(run: Run, reason: str) -> None:
    """Notes a lost session and cleans up after it."""
    run.session_open = False
    run.observation = None
    run.note(
        SessionLostEvent(
            device=run.ports.device.name, reason=reason[:500], step_number=run.step_number
        )
    )
    await run.ports.device.close()
    await run.write()


async def _open_again(run: Run) -> None:
    run.losses += 1
    if run.losses > run.rules.agent.max_device_losses:
        raise failed("the device's session was lost again and again", "session_lost")
    try:
        await open_session(run, again=True)
    except DeviceError as error:
        raise failed(f"the device stays away: {error}", error.code) from error
    run.remarks.append("The device session was opened anew; look where you are.")


async def _pause(run: Run) -> None:
    """Holds the task until somebody resumes or cancels it; the session stays alive."""
    clock = run.ports.clock
    paused_from = clock.monotonic()
    run.note(*_applied(run, "pause"))
    await run.change_state(TaskState.PAUSED, "paused by a person")
    while run.control.paused:
        await run.stay_alive()
        run.raise_if_cancelled()
    run.started += clock.monotonic() - paused_from
    run.observation = None
    run.note(*_applied(run, "resume"))
    await run.change_state(TaskState.RUNNING, "resumed by a person")


def _applied(run: Run, control: Literal["pause", "resume", "look"]) -> list[ControlApplied]:
    return [
        ControlApplied(
            receipt_id=receipt, control=control, applied=True, step_number=run.step_number
        )
        for receipt in run.control.take_receipts(control)
    ]


def _apply_looks(run: Run) -> None:
    if looks := _applied(run, "look"):
        run.observation = None
        run.note(*looks)


def _apply_instructions(run: Run) -> None:
    for injected in run.control.take_instructions():
        run.instructions += 1
        instruction = Instruction(
            number=run.instructions, text=injected.text, step_number=run.step_number
        )
        run.transcript.kept.instructions.append(instruction)
        run.note(
            InstructionInjected(instruction=instruction, receipt_id=injected.receipt_id),
            ControlApplied(
                receipt_id=injected.receipt_id,
                control="inject",
                applied=True,
                step_number=run.step_number,
            ),
        )
        run.index(TextKind.INSTRUCTION, f"I{instruction.number}: {instruction.text}")


def _check_limits(run: Run) -> None:
    limits = run.task.spec.limits
    if run.step_number > limits.steps:
        raise failed(f"the limit of {limits.steps:,} steps is reached", "limit_steps")
    if run.offset > limits.seconds:
        raise failed(f"the limit of {limits.seconds:,.0f} s is reached", "limit_seconds")


def _notice_loop(run: Run) -> None:
    """Says once per window that the last steps go round in a circle."""
    last = list(run.recent)[-LOOP_WINDOW:]
    if len(last) < LOOP_WINDOW or (run.step_number - 1) % LOOP_WINDOW:
        return
    seen = {(s.action_text, s.observation.content_hash) for s in last}
    waits = sum(s.action is not None and s.action.type == "wait" for s in last)
    if len(seen) > LOOP_WINDOW // 3 or waits > LOOP_WINDOW // 3:
        return
    if all(s.verdict is Verdict.EXECUTED for s in last) and len(seen) > 2:
        return
    detail = f"the last {LOOP_WINDOW} steps repeat {len(seen)} actions on the same screens"
    run.note(LoopNoticed(step_number=run.step_number, detail=detail))
    run.remarks.append(f"You are going round in a circle: {detail}. Do something else.")
