"""Threads with deadlines, and processes ended by id."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app.devices.processes import browsers_below, command_line, end_browser, remove_profile
from app.devices.session import SessionThread
from app.errors import DeviceTimeout


async def test_calls_keep_their_order_and_raise_what_they_raise() -> None:
    thread = SessionThread("t")
    done: list[int] = []
    try:
        await asyncio.gather(*(thread.run(lambda n=n: done.append(n), 5) for n in range(20)))
        assert done == list(range(20))
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 // 0, 5)
    finally:
        thread.abandon()


async def test_a_stuck_call_is_left_at_its_deadline() -> None:
    thread, free = SessionThread("t"), threading.Event()
    started = time.monotonic()
    with pytest.raises(DeviceTimeout):
        await thread.run(lambda: free.wait(10), 0.2)
    assert time.monotonic() - started < 2
    thread.abandon()
    assert await thread.run(lambda: "fresh", 2) == "fresh"
    free.set()
    thread.abandon()


async def test_a_late_failure_is_nobody_s_surprise() -> None:
    thread, free = SessionThread("t"), threading.Event()

    def fail() -> None:
        free.wait(10)
        raise OSError("late")

    call = asyncio.create_task(thread.run(fail, 10))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    free.set()
    assert await thread.run(lambda: 1, 5) == 1
    thread.abandon()


def sleeper(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *args])


def test_only_the_browser_of_the_profile_is_ended(tmp_path: Path) -> None:
    profile = str(tmp_path / "org.chromium.Chromium.x1")
    process = sleeper(f"--user-data-dir={profile}")
    try:
        deadline = time.monotonic() + 5
        while profile not in command_line(process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)  # until the new program has replaced the fork
        assert browsers_below(tmp_path) == [(process.pid, profile)]
        assert browsers_below(tmp_path / "other") == []
        assert not end_browser(process.pid, "/tmp/another-profile")
        assert not end_browser(process.pid, "")
        assert not end_browser(1, profile)
        assert command_line(process.pid) != ""
        assert end_browser(process.pid, profile)
        assert process.wait(5) != 0
        assert not end_browser(process.pid, profile)
    finally:
        process.kill()
        process.wait()


def test_only_a_profile_is_removed(tmp_path: Path) -> None:
    profile = tmp_path / "org.chromium.Chromium.scoped_dir.Ab3"
    other = tmp_path / "documents"
    for folder in (profile, other):
        folder.mkdir()
        (folder / "file").write_text("x")
    link = tmp_path / "org.chromium.Chromium.link"
    link.symlink_to(other)
    for path in (str(profile), str(other), str(link), "", "org.chromium.Chromium.relative"):
        remove_profile(path)
    assert not profile.exists()
    assert (other / "file").exists() and os.path.islink(link)
