"""Makes a recorded run a task like any other: steps, evidence, search texts, a replay device."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from app.domain.config import DeviceConfig, PerceptionConfig, Platform
from app.domain.events import ChunkClosed, StoredEvent
from app.domain.ports import Background, Clock, Ocr
from app.domain.tasks import Task, TaskSpec
from app.errors import InvalidInput, NotFound
from app.memory.capsules import given_up
from app.memory.chunks import Chunker
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.devices import DeviceRepository
from app.storage.importing import store_run, unused
from app.storage.pictures import StepPicture, unread_pictures
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.unwritten import tasks_with_unwritten
from app.tasks.picture_texts import PictureTexts
from app.tasks.recorded import RecordedRun, read_run
from app.tasks.retelling import Retelling

FOLDER = "recordings"
"""In the data directory: the files of imported runs, one folder for each replay device."""
FORGOTTEN_AFTER = 3_600.0
"""Seconds after which a recording that was laid in and not imported is rubbish."""
GOES = 20
"""Times the writers are begun again for one import; each has its own time limit."""
LOOK_AGAIN = 0.5
"""Seconds between looks at what is left."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class Pending(NamedTuple):
    """What is still done for an imported run in the background."""

    pictures: int
    """Whose text is not read yet."""
    problem: str = ""
    """Why they will not be read; empty while they can be."""
    writing: bool = False
    """Summaries and capsules are being written."""

    @property
    def settled(self) -> bool:
        return not self.writing and (not self.pictures or bool(self.problem))


class Archive:
    """Imports recorded runs that lie in the data directory's own folder."""

    def __init__(
        self,
        db: Database,
        artifacts: FileArtifacts,
        data_dir: Path,
        perception: PerceptionConfig,
        publish: Callable[[StoredEvent], None],
        clock: Clock,
        background: Background,
        ocr: Ocr | None = None,
        write: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """`write` writes the summaries and capsules of a task; without it there are none."""
        self._db = db
        self._artifacts = artifacts
        self._folder = data_dir / FOLDER
        self._perception = perception
        self._publish = publish
        self._clock = clock
        self._background = background
        self._ocr = ocr
        self._write_task = write
        self._writing: set[str] = set()
        self._devices = DeviceRepository(db, clock)
        self._reading: dict[str, bool] = {}
        """Tasks whose pictures this process took up, and whether it is done with them."""

    async def take_in(self, name: str) -> Task:
        """Imports the run in the folder of that name, all of it or nothing.

        Raises InvalidInput, which names the line that cannot be used; NotFound.
        """
        folder = self._own(name)
        taken = False
        try:
            task = await self._take_in(name, folder)
            taken = True
            return task
        finally:
            if not taken:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _take_in(self, name: str, folder: Path) -> Task:
        run = await asyncio.to_thread(read_run, folder)
        task_id = uuid.uuid4().hex[:12]
        told = await Retelling(run, self._artifacts, self._perception, self._clock).tell(name)
        spec = TaskSpec(goal=run.goal, device=name)
        config = DeviceConfig(
            name=name, platform=Platform.REPLAY, server_url="", replay_path=str(folder)
        )
        await store_run(self._db, self._artifacts, self._publish, task_id, spec, told)
        await self._devices.put(config)
        await self._close_chunks(task_id)
        await self._read_pictures(task_id)
        if self._write_task is not None:
            self._writing.add(task_id)
            self._background.submit(f"summaries of {task_id}", partial(self._write, task_id))
        return await self._task(task_id)

    async def pending(self, task_id: str, wait: float = 0.0) -> Pending:
        """What is left to do, after at most that many seconds.

        Pictures that an earlier process left unread are taken up again.
        """
        await self._task(task_id)
        left = await self._left(task_id)
        until = self._clock.monotonic() + wait
        while not left.settled and self._clock.monotonic() < until:
            await asyncio.sleep(min(LOOK_AGAIN, wait))
            left = await self._left(task_id)
        return left

    async def tidy(self) -> None:
        """Removes what tasks left that are deleted, and what was laid in and never imported."""
        folders = await asyncio.to_thread(self._folders)
        needless = await unused(self._db, list(folders))
        for name in needless:
            await self._devices.retire(name)
        known = {device.name for device in await self._devices.list(retired=True)}
        oldest = time.time() - FORGOTTEN_AFTER
        needless += [n for n, changed in folders.items() if n not in known and changed < oldest]
        for name in needless:
            await asyncio.to_thread(shutil.rmtree, self._folder / name, ignore_errors=True)

    def _folders(self) -> dict[str, float]:
        """The recordings laid in, and when each was."""
        if not self._folder.is_dir():
            return {}
        return {path.name: path.stat().st_mtime for path in self._folder.iterdir()}

    def _own(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InvalidInput("that is not the name of a recording", hint="use `artemis import`")
        folder = self._folder / name
        if not folder.is_dir() or folder.is_symlink():
            raise NotFound(f"there is no recording {name} in {self._folder}")
        return folder.absolute()

    async def _task(self, task_id: str) -> Task:
        return await TaskRepository(self._db, self._publish, self._clock).get(task_id)

    async def _left(self, task_id: str) -> Pending:
        left = await self._read_pictures(task_id)
        return left._replace(writing=task_id in self._writing)

    async def _close_chunks(self, task_id: str) -> None:
        """The chunks that a live run would have closed on its way."""
        recorder = self._recorder(task_id)
        chunker = Chunker(task_id)
        steps = (await recorder.history()).steps
        closed = [chunk for step in steps for chunk in chunker.feed(step, {})]
        if closed:
            await recorder.record(*(ChunkClosed(chunk=chunk) for chunk in closed))

    async def _write(self, task_id: str) -> None:
        """Summaries and capsules, in several goes where the time of one is not enough."""
        if self._write_task is None:
            return
        try:
            for _ in range(GOES):
                await self._write_task(task_id)
                if task_id not in await tasks_with_unwritten(self._db, given_up):
                    return
        finally:
            self._writing.discard(task_id)

    def _recorder(self, task_id: str) -> TaskRecorder:
        return TaskRecorder(self._db, self._artifacts, task_id, self._publish, self._clock)

    async def _read_pictures(self, task_id: str) -> Pending:
        """Begins to read what is unread, once; what could not be read is not tried again."""
        left = await unread_pictures(self._db, task_id)
        if not left:
            return Pending(0)
        if self._ocr is None or self._ocr.problem:
            problem = self._ocr.problem if self._ocr is not None else "it is switched off"
            return Pending(len(left), f"text in pictures is not read: {problem}")
        if task_id not in self._reading:
            self._reading[task_id] = False
            self._background.submit(f"ocr of {task_id}", partial(self._read, task_id, left))
        if self._reading[task_id]:
            return Pending(len(left), f"{len(left)} pictures could not be read")
        return Pending(len(left))

    async def _read(self, task_id: str, pictures: Sequence[StepPicture]) -> None:
        if self._ocr is not None:
            recorder = self._recorder(task_id)
            texts = PictureTexts(self._ocr, self._artifacts, recorder, self._background)
            await texts.read_all(pictures)
        self._reading[task_id] = True


def lay_in(source: Path, data_dir: Path) -> str:
    """Copies a recorded run into the data directory; gives the name to import it under.

    Only what the recording names is copied. Raises InvalidInput where a line cannot be used.
    """
    run = read_run(source)
    name = f"{_slug(run.name)}-{uuid.uuid4().hex[:6]}"
    folder = data_dir / FOLDER / name
    try:
        _copy(run, folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InvalidInput(f"the recording cannot be copied: {error}") from None
    return name


def take_out(name: str, data_dir: Path) -> None:
    """Removes what was laid in and not imported."""
    shutil.rmtree(data_dir / FOLDER / name, ignore_errors=True)


def _copy(run: RecordedRun, folder: Path) -> None:
    for name in ("task.json", "steps.jsonl", *run.files()):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.file(name), target)


def _slug(name: str) -> str:
    return _NOT_NAME.sub("-", name).strip("-_.")[:50] or "recording"
