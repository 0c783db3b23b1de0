"""Holds the reading process: starts it, talks with it, ends it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from app.domain.screens import PictureText
from app.errors import PictureUnread
from app.perception.ocr_process import ERROR, LENGTH, READY, TEXT

COMMAND = (sys.executable, "-P", "-m", "app.perception.ocr_process")
START_TIMEOUT = 60.0
"""Seconds for loading the models; 1.4 on an idle machine."""
MAX_ANSWER = 16 * 1024 * 1024
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TEMP", "SYSTEMROOT")
"""All that the process gets of the environment: no key, no secret."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Died(Exception):
    """The reading process ended, hung or answered nonsense."""


class ReadingProcess:
    """One process at a time, used by one caller at a time. After a Died, `end` it."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = tuple(command)
        self._process: asyncio.subprocess.Process | None = None
        self.starts = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        """Raises Died; nothing happens while there is one."""
        if self._process is not None:
            return
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment(os.environ),
                # Ctrl-C in a terminal is for the server, which then ends its processes itself.
                start_new_session=True,
            )
        except OSError as error:
            raise Died(f"it could not be started: {error.strerror}") from None
        self.starts += 1
        if await self._exchange(None, START_TIMEOUT) != READY:
            raise Died("it answered nonsense")

    async def read(self, data: bytes, seconds: float) -> PictureText:
        """Raises Died, and PictureUnread for a picture that is none."""
        await self.start()
        answer = await self._exchange(data, seconds)
        kind, body = answer[:1], answer[1:]
        if kind == ERROR:
            raise PictureUnread(body.decode("utf-8", "replace"))
        try:
            if kind == TEXT:
                return PictureText.model_validate_json(body)
        except ValidationError:
            pass
        raise Died("it answered nonsense")

    async def _exchange(self, data: bytes | None, seconds: float) -> bytes:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Died("it is not there")
        try:
            async with asyncio.timeout(seconds):
                if data is not None:
                    process.stdin.write(LENGTH.pack(len(data)) + data)
                    await process.stdin.drain()
                (size,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                if size > MAX_ANSWER:
                    raise Died("it answered nonsense")
                return await process.stdout.readexactly(size)
        except TimeoutError:
            raise Died(f"it gave no answer within {seconds:g} s") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Died("it ended") from None

    async def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """The process's surroundings: where Artemis is, one thread, nothing secret."""
    return {
        **{name: own[name] for name in INHERITED if name in own},
        **dict.fromkeys(ONE_THREAD, "1"),
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
