"""What the reading process may do, and how it ends, seen from outside."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("extra")

ROOT = Path(__file__).resolve().parents[3]


def run(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_nothing_in_the_process_reaches_a_network() -> None:
    code = """
import socket
from app.perception.ocr_process import load
load()
for attempt in (lambda: socket.create_connection(("127.0.0.1", 9)),
                lambda: socket.getaddrinfo("localhost", 80)):
    try:
        attempt()
    except PermissionError as refusal:
        print(refusal)
"""
    with run(code) as process:
        told, _ = process.communicate(timeout=60)
    assert told.splitlines() == ["the reading process stays offline"] * 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_process_does_not_outlive_a_killed_server() -> None:
    code = """
import asyncio, time
from app.domain.config import OcrConfig
from app.perception.ocr import OcrService
from app.tasks.clock import SystemClock
async def main():
    service = OcrService(OcrConfig(), SystemClock())
    service.warm()
    while not service.starts:
        await asyncio.sleep(0.02)
    print(service.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with run(code) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        os.kill(pid, 0)
        process.kill()
    deadline = time.monotonic() + 20
    while runs(pid):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
