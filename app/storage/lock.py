"""Lets one process at a time use a data directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from app.errors import StoreLocked

NAME = "artemis.lock"


class DataDirLock:
    """Held while the process lives; the system frees it when the process dies, however it dies."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / NAME
        self._file: int | None = None

    def acquire(self) -> None:
        """Raises StoreLocked, naming the process that has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(file, 32).decode("ascii", "replace").strip()
            os.close(file)
            raise StoreLocked(
                f"The data directory {self._path.parent} is used by process {owner or 'unknown'}.",
                hint="Stop that process, or set ARTEMIS_DATA_DIR to another directory.",
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        self._file = file

    def release(self) -> None:
        """Does nothing when it is not held. The file stays: removing it would race."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> DataDirLock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
