"""What comes before a task's first turn in this process."""

from __future__ import annotations

import httpx2

from app.agent.control import Control
from app.domain.config import DeviceConfig, MemoryConfig
from app.domain.events import ControlApplied
from app.domain.tasks import StepState, TaskHistory
from app.errors import DeviceError
from app.memory.summaries import pending
from app.storage.recorder import TaskRecorder

RESET_TIMEOUT = 10.0


async def deliver_pending(recorder: TaskRecorder, control: Control, step_number: int) -> None:
    """Delivers what a former process was asked and did not answer."""
    too_late = [
        ControlApplied(
            receipt_id=asked.receipt_id,
            control=asked.control,
            applied=False,
            step_number=step_number,
            reason="the server was restarted before it was taken up",
        )
        for asked in await recorder.pending()
        if not control.ask_again(asked)
    ]
    if too_late:
        await recorder.record(*too_late)


async def expect_summaries(
    recorder: TaskRecorder, history: TaskHistory, config: MemoryConfig
) -> TaskHistory:
    """Has finished steps summarised that nobody asked it for, like one a dead process left open."""
    missing = [
        pending(step.step_id, step.step_number)
        for step in history.steps
        if step.state is not StepState.DECIDED and step.step_number not in history.summary_states
    ]
    if not missing or not config.summarises:
        return history
    await recorder.record(*missing)
    return await recorder.history()


async def reset_device(config: DeviceConfig) -> None:
    """Puts a resettable device (the demo phone) into its first state; raises DeviceError."""
    headers = {"X-Demo-Token": config.reset_token.get_secret_value()}
    try:
        async with httpx2.AsyncClient(timeout=RESET_TIMEOUT, trust_env=False) as client:
            answer = await client.post(config.reset_url, json=config.reset_body, headers=headers)
    except httpx2.HTTPError as error:
        raise DeviceError(f"{config.name} could not be reset: {type(error).__name__}") from error
    if answer.status_code >= 400:
        raise DeviceError(f"{config.name} could not be reset: HTTP {answer.status_code}")
