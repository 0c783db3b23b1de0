"""One process per data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import StoreLocked
from app.storage.lock import DataDirLock

HOLDER = """
import sys
from pathlib import Path
from app.storage.lock import DataDirLock
with DataDirLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_told_who_has_it(tmp_path: Path) -> None:
    with DataDirLock(tmp_path / "new"), pytest.raises(StoreLocked, match=str(os.getpid())):
        DataDirLock(tmp_path / "new").acquire()
    with DataDirLock(tmp_path / "new"):
        pass


def test_a_dead_process_frees_it(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[3],
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreLocked, match=str(holder.pid)):
            DataDirLock(tmp_path).acquire()
        holder.kill()
    with DataDirLock(tmp_path):
        pass


def test_releasing_twice_is_harmless(tmp_path: Path) -> None:
    lock = DataDirLock(tmp_path)
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()
