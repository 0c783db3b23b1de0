"""Several processes at one database: nobody sees a lock, nothing is lost."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import served

WRITER = """
import asyncio, sys
from pathlib import Path
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.recorder import TaskRecorder
from tests.unit.storage.samples import SteppingClock, served

async def main(url, folder, task_id, count):
    db = Database(url)
    recorder = TaskRecorder(
        db, FileArtifacts(Path(folder)), task_id, lambda event: None, SteppingClock()
    )
    for _ in range(int(count)):
        await recorder.record(served(1), served(1))
    await db.close()

asyncio.run(main(*sys.argv[1:]))
"""
ROOT = Path(__file__).resolve().parents[3]


async def test_two_processes_write_one_task(store: Store, tmp_path: Path) -> None:
    task = await store.running()
    arguments = (store.url, str(tmp_path / "artifacts"), task.task_id, "40")
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, *arguments, cwd=ROOT, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(2)
    ]
    recorder = store.recorder(task.task_id)
    for _ in range(40):
        await recorder.record(served(1))
        await store.queries.tasks.view(task.task_id)
    async with asyncio.timeout(60):
        for process in processes:
            _, errors = await process.communicate()
            assert process.returncode == 0, errors.decode()
    events = await store.queries.tasks.events(task.task_id)
    assert [event.seq for event in events] == list(range(1, 2 + 40 * 2 * 2 + 40 + 1))


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_long_write_of_another_process_is_waited_for(store: Store) -> None:
    task = await store.running()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        other = sqlite3.connect(store.url.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        held.set()
        release.wait(60)
        other.execute("COMMIT")
        other.close()

    holder = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(held.wait, 5)
    view = await store.queries.tasks.view(task.task_id)
    assert not holder.done(), "a reader waited for a writer"
    recorders = [store.recorder(task.task_id) for _ in range(20)]
    writing = asyncio.gather(*(recorder.record(served(1)) for recorder in recorders))
    await asyncio.sleep(1)
    assert not writing.done(), "nothing held it up: this shows nothing"
    release.set()
    await writing
    await holder
    assert (await store.tasks.get(task.task_id)).last_seq == view.task.last_seq + 20
