"""`artemis run`: submits a task, prints what happens, and says how it ended."""

from __future__ import annotations

import json
from typing import Any

from app.cli.client import Client, connected
from app.cli.printing import event_lines, safe, say
from app.domain.tasks import Task, TaskState
from app.settings import Settings

EXIT_CODES = {TaskState.COMPLETED: 0, TaskState.CANCELLED: 3}
"""Other ends give 1; an error before the task ran gives 2."""


async def run(
    settings: Settings,
    body: dict[str, object],
    limits: dict[str, float],
    *,
    as_json: bool,
    detach: bool,
) -> int:
    """Runs a task on the running server, or on one of its own."""
    if limits:
        body = {**body, "limits": {**settings.limits.model_dump(), **limits}}
    async with connected(settings, demo=body["device"] == "demo") as client:
        task = Task.model_validate(await client.post("/tasks", body))
        if detach:
            say(json.dumps({"task": task.task_id}) if as_json else task.task_id)
            return 0
        if not as_json:
            say(f"task {task.task_id}: {console_address(client, task)}")
        task = await follow(client, task.task_id, quiet=as_json)
        print_end(client, task, as_json=as_json)
        return EXIT_CODES.get(task.state, 1)


async def follow(client: Client, task_id: str, *, quiet: bool) -> Task:
    """Prints each event until the task has ended."""
    async for stored in client.follow(task_id):
        for line in () if quiet else event_lines(stored):
            say(line)
    return await client.task(task_id)


def print_end(client: Client, task: Task, *, as_json: bool) -> None:
    """The end, for people or as the last line for programs."""
    if as_json:
        say(json.dumps(end_document(client, task), ensure_ascii=False))
        return
    say()
    say(f"{task.state.value} after {task.steps} steps: {safe(task.reason, 1_000)}")
    if task.answer:
        say(f"answer: {safe(task.answer, 4_000)}")
    if task.answer_data is not None:
        say(f"data: {json.dumps(task.answer_data, ensure_ascii=False)}")
    if task.cited_steps:
        say(f"rests on steps {', '.join(str(n) for n in task.cited_steps)}")


def end_document(client: Client, task: Task) -> dict[str, Any]:
    """What a program needs of an ended task."""
    return {
        "task": task.task_id,
        "state": task.state.value,
        "steps": task.steps,
        "answer": task.answer,
        "data": task.answer_data,
        "cited_steps": list(task.cited_steps),
        "reason": task.reason,
        "code": task.code,
        "console": console_address(client, task),
    }


def console_address(client: Client, task: Task) -> str:
    return f"{client.address}/tasks/{task.task_id}"
