"""`artemis import`: makes a recorded run a task like any other."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from app.cli.client import Client, connected
from app.cli.printing import safe, say
from app.domain.tasks import Task
from app.errors import ArtemisError
from app.settings import Settings
from app.tasks.archive import lay_in, take_out

IMPORT_TIMEOUT = 1_800.0
"""Seconds for a whole run: pictures are hashed and trees are read, thousands of them at most."""
LONG_POLL = 30.0
"""Seconds of one request that waits for the background work."""


async def take_in(settings: Settings, path: Path, *, as_json: bool, wait: bool) -> int:
    """Imports a folder; with `wait`, until pictures are read and summaries written."""
    async with connected(settings) as client:
        # A copy: the recording may be moved or changed later, the task's evidence not.
        name = await asyncio.to_thread(lay_in, path, settings.data_dir)
        try:
            answer = await client.post("/imports", {"name": name}, seconds=IMPORT_TIMEOUT)
        except ArtemisError:
            await asyncio.to_thread(take_out, name, settings.data_dir)
            raise
        task = Task.model_validate(answer)
        problem = await _settled(client, task.task_id, quiet=as_json) if wait else ""
    if as_json:
        document = {"task": task.task_id, "steps": task.steps, "problem": problem}
        say(json.dumps(document, ensure_ascii=False))
        return 0
    say(f"task {task.task_id}: {task.steps} steps of {safe(task.spec.goal, 60)}")
    if problem:
        say(f"△ {safe(problem)}")
    return 0


async def _settled(client: Client, task_id: str, *, quiet: bool) -> str:
    """Waits for the background work; gives why some of it cannot be done."""
    shown = -1
    while True:
        left = await client.get(f"/imports/{task_id}", wait=LONG_POLL)
        if left["settled"]:
            return str(left["problem"])
        if not quiet and left["pictures"] != shown:
            shown = left["pictures"]
            say(f"  {shown} pictures to read")
