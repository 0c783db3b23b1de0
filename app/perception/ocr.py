"""Reads text from pictures in one background process of low priority."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import structlog

from app.domain.config import OcrConfig
from app.domain.ports import Clock
from app.domain.screens import PictureText, Screenshot
from app.errors import PictureUnread, ReaderAway
from app.perception.ocr_link import COMMAND, Died, ReadingProcess

log = structlog.get_logger(__name__)

PACKAGES = ("rapidocr", "onnxruntime")
TRIES = 2
"""Of one picture, each in a fresh process when the former died over it."""
MAX_DEATHS = 5
"""In a row, without a picture read in between; then the reader rests."""
REST = 300.0
"""Seconds of that rest."""


@dataclass
class Job:
    """One distinct picture that is being read or waits to be."""

    key: str
    data: bytes
    result: asyncio.Future[PictureText]


def missing_extra() -> str:
    """What to do for pictures to be read; empty when everything is installed."""
    if all(find_spec(name) for name in PACKAGES):
        return ""
    return "the extra `ocr` is not installed (make setup, or pip install 'artemis[ocr]')"


class OcrService:
    """Implements the Ocr port: one picture at a time, each distinct one once.

    The process is started by the first picture, again when it dies, and ends with `close`, with
    this process, or when there is nothing to do.
    """

    def __init__(
        self, config: OcrConfig, clock: Clock, command: Sequence[str] = COMMAND, missing: str = ""
    ) -> None:
        """`missing` says why there is no reader; `missing_extra()` in a real service."""
        self._config = config
        self._clock = clock
        self._missing = missing if config.enabled else "it is switched off (`ocr.enabled`)"
        self._process = ReadingProcess(command)
        self._urgent: deque[Job] = deque()
        self._waiting: deque[Job] = deque()
        self._jobs: dict[str, Job] = {}
        self._known: OrderedDict[str, PictureText] = OrderedDict()
        self._arrived = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._warming = False
        self._closed = False
        self._deaths = 0
        self._rests_until = 0.0
        self.pictures = 0
        """Pictures read, those known already not counted."""

    @property
    def problem(self) -> str:
        if self._missing:
            return self._missing
        if self._closed:
            return "the reader has ended"
        if self._clock.monotonic() < self._rests_until:
            return f"the reading process died {MAX_DEATHS} times in a row and rests for a while"
        return ""

    @property
    def available(self) -> bool:
        return not self.problem

    @property
    def pid(self) -> int | None:
        """The reading process, while there is one."""
        return self._process.pid

    @property
    def starts(self) -> int:
        """Times a process was started."""
        return self._process.starts

    def warm(self) -> None:
        """Starts the process, so that the first picture finds it ready; returns at once."""
        if self.available and self.pid is None:
            self._warming = True
            self._wake()

    async def read(self, screenshot: Screenshot, *, urgent: bool = False) -> PictureText:
        """Raises PictureUnread. Given up by its caller, the reading itself goes on."""
        key = hashlib.sha256(screenshot.data).hexdigest()
        if (known := self._known.get(key)) is not None:
            self._known.move_to_end(key)
            return known
        if self.problem:
            raise ReaderAway(f"The picture is not read: {self.problem}.")
        job = self._jobs.get(key)
        if job is None:
            job = self._queue(key, screenshot.data, urgent)
        elif urgent and job in self._waiting:
            self._waiting.remove(job)
            self._urgent.append(job)
        return await asyncio.shield(job.result)

    async def close(self) -> None:
        """Ends the process and refuses what still waits."""
        self._closed = True
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        await self._process.end()
        for job in tuple(self._jobs.values()):
            self._settle(job, ReaderAway("The picture is not read: the reader has ended."))

    # --- the queue ------------------------------------------------------------------------

    def _queue(self, key: str, data: bytes, urgent: bool) -> Job:
        if not urgent and len(self._waiting) >= self._config.max_waiting:
            raise ReaderAway(f"The picture is not read: {len(self._waiting)} wait already.")
        job = Job(key, data, asyncio.get_running_loop().create_future())
        # Everybody may have given up by the time it fails.
        job.result.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._jobs[key] = job
        (self._urgent if urgent else self._waiting).append(job)
        self._wake()
        return job

    def _wake(self) -> None:
        self._arrived.set()
        if self._loop is None:
            self._loop = asyncio.create_task(self._work(), name="ocr")

    async def _work(self) -> None:
        while True:
            if not (self._urgent or self._waiting):
                await (self._start_early() if self._warming else self._wait_for_work())
                continue
            job = (self._urgent or self._waiting).popleft()
            try:
                self._settle(job, await self._read(job.data))
            except PictureUnread as problem:
                self._settle(job, problem)
            except Exception as error:  # a background worker's loop: log and go on
                log.exception("ocr_failed")
                self._settle(job, PictureUnread(f"Artemis itself failed: {type(error).__name__}"))

    async def _wait_for_work(self) -> None:
        self._arrived.clear()
        try:
            async with asyncio.timeout(self._config.idle if self.pid else None):
                await self._arrived.wait()
        except TimeoutError:
            await self._process.end()

    def _settle(self, job: Job, outcome: PictureText | PictureUnread) -> None:
        self._jobs.pop(job.key, None)
        if isinstance(outcome, PictureText):
            self._known[job.key] = outcome
            while len(self._known) > self._config.remembered:
                self._known.popitem(last=False)
        if job.result.done():
            return
        if isinstance(outcome, PictureText):
            job.result.set_result(outcome)
        else:
            job.result.set_exception(outcome)

    # --- the process ----------------------------------------------------------------------

    async def _read(self, data: bytes) -> PictureText:
        reason = ""
        for _ in range(TRIES):
            if self.problem:
                raise ReaderAway(f"The picture is not read: {self.problem}.")
            try:
                text = await self._process.read(data, self._config.read_timeout)
            except Died as death:
                reason = str(death)
                await self._bury(reason)
                continue
            except asyncio.CancelledError:
                # Its answer to this picture would be taken for that to the next one.
                await self._process.end()
                raise
            self._deaths = 0
            self.pictures += 1
            return text
        raise PictureUnread(f"The picture could not be read: {reason}.")

    async def _start_early(self) -> None:
        self._warming = False
        try:
            await self._process.start()
        except Died as death:
            await self._bury(str(death))

    async def _bury(self, reason: str) -> None:
        await self._process.end()
        self._deaths += 1
        log.warning("ocr_process_died", reason=reason, in_a_row=self._deaths)
        if self._deaths >= MAX_DEATHS:
            self._deaths = 0
            self._rests_until = self._clock.monotonic() + REST
