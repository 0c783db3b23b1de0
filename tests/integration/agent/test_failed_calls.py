"""Calls that fail are recorded with every attempt that was made."""

from __future__ import annotations

from pathlib import Path

from app.domain.events import ModelCalled
from app.domain.tasks import TaskState
from tests.integration.agent.house import House, android, plan
from tests.stand_ins.appium_server import StandIn
from tests.stand_ins.gemini_server import GeminiServer, unavailable


async def test_a_failed_call_counts_its_attempts(folder: Path, phone: StandIn) -> None:
    script = [plan(), *(unavailable() for _ in range(20))]
    with GeminiServer(script) as server:
        async with House(folder, server, android(phone.url), max_attempts=3) as house:
            task = await house.run()
            calls = [c.call for c in await house.events(task.task_id, ModelCalled)]
            figures = await house.queries.task_figures.task(task.task_id)
    failed = [call for call in calls if call.outcome == "model_unavailable"]
    assert task.state is TaskState.FAILED and failed
    assert [call.attempts for call in failed] == [6] * len(failed), "both models, three times"
    assert sum(call.attempts for call in calls) == len(server.requests)
    assert figures.retries == len(server.requests) - len(calls)
    assert figures.failed_calls == len(failed)
