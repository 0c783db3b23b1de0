"""`artemis tasks …` and `artemis delete`."""

from __future__ import annotations

import json

from app.cli.client import connected
from app.cli.printing import safe, say
from app.domain.tasks import StepRecord, Task
from app.settings import Settings


async def listing(settings: Settings, state: str, limit: int, *, as_json: bool) -> int:
    """Tasks, newest first."""
    async with connected(settings) as client:
        page = await client.get("/tasks", state=state, limit=limit)
    if as_json:
        say(json.dumps(page["tasks"], ensure_ascii=False))
        return 0
    for document in page["tasks"]:
        task = Task.model_validate(document)
        say(
            f"{task.task_id}  {task.state.value:<11}  {task.steps:>5} steps  "
            f"{safe(task.spec.device, 16):<16}  {safe(task.spec.goal, 60)}"
        )
    if not page["tasks"]:
        say('no tasks yet; try: artemis run "open Settings" --device demo')
    return 0


async def show(settings: Settings, task_id: str, *, as_json: bool) -> int:
    """One task and its steps."""
    async with connected(settings) as client:
        task = await client.task(task_id)
        steps: list[StepRecord] = []
        after: int | None = 0
        while after is not None:
            page = await client.get(f"/tasks/{task_id}/steps", after=after, limit=100)
            steps += [StepRecord.model_validate(s) for s in page["steps"]]
            after = page["next_after"]
    if as_json:
        document = task.model_dump(mode="json")
        document["step_records"] = [s.model_dump(mode="json", exclude={"messages"}) for s in steps]
        say(json.dumps(document, ensure_ascii=False))
        return 0
    say(f"{task.task_id}  {task.state.value}  {safe(task.reason)}")
    say(f"goal: {safe(task.spec.goal, 1_000)}")
    for step in steps:
        verdict = step.verdict.value if step.verdict else step.state.value
        say(f"{step.step_number:>5}  {safe(step.action_text, 100)} → {verdict}")
    if task.answer:
        say(f"answer: {safe(task.answer, 4_000)}")
    return 0


async def control(
    settings: Settings, task_id: str, name: str, body: dict[str, str] | None = None
) -> int:
    """Pause, resume, cancel or say."""
    async with connected(settings) as client:
        await client.post(f"/tasks/{task_id}/{name}", body)
    say("asked for")
    return 0


async def delete(settings: Settings, task_id: str) -> int:
    async with connected(settings) as client:
        await client.delete(f"/tasks/{task_id}")
    say("deleted")
    return 0
