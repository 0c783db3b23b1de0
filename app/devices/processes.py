"""Ends processes and removes profiles that a session or a dead server left behind, by id only."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

_PROFILE = re.compile(r"^\.?(org\.chromium\.Chromium|com\.google\.Chrome|scoped_dir)[\w.\-]*$")
GRACE = 0.5
"""Seconds a browser gets to end by itself."""


def command_line(pid: int) -> str:
    """The command of a running process; empty when there is none (a zombie has none either)."""
    try:
        return (
            Path(f"/proc/{pid}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode("utf-8", "replace")
        )
    except OSError:
        if Path("/proc/self").exists():
            return ""
    try:  # macOS
        answer = subprocess.run(
            ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, timeout=2, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode("utf-8", "replace").strip()


def end_browser(pid: int, profile: str) -> bool:
    """Kills the browser if that process still is the one with this profile."""
    if pid <= 1 or not profile or profile not in command_line(pid):
        return False
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and profile in command_line(pid):
            time.sleep(0.02)
        if profile in command_line(pid):
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def remove_profile(profile: str) -> None:
    """Deletes a browser's temporary profile; anything that is not clearly one is left alone."""
    path = Path(profile)
    if not profile or not path.is_absolute() or not _PROFILE.match(path.name):
        return
    if path.is_symlink() or not path.is_dir():
        return
    for _ in range(3):  # a dying browser may still write into it
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)


def end_groups_of(temp: Path) -> list[int]:
    """Kills what was started with a temporary folder of ours, whole groups; gives their ids.

    A server that was killed leaves Appium, drivers and browsers alive. Linux only.
    """
    mark = f"TMPDIR={temp}".encode()
    groups = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                groups.add(os.getpgid(int(entry.name)))
        except OSError:  # it has ended, or is another user's
            continue
    ended = sorted(groups - {os.getpgrp()})
    for group in ended:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return ended


def browsers_below(folder: Path) -> list[tuple[int, str]]:
    """Process id and profile of each browser whose profile lies in a folder of ours."""
    found = []
    marker = f"--user-data-dir={folder}{os.sep}"
    for entry in Path("/proc").glob("[0-9]*"):
        command = command_line(int(entry.name))
        if marker in command and "--type=" not in command:
            profile = command.split("--user-data-dir=", 1)[1].split(" ", 1)[0]
            found.append((int(entry.name), profile))
    return found
