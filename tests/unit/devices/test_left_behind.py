"""What a killed server left behind is found and ended; its port is taken up again."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.devices.processes import command_line, end_groups_of
from app.devices.server import PORT_FILE, DemoPhone

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")
SLEEP_BELOW = (
    sys.executable,
    "-c",
    "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', "
    "'import time; time.sleep(60)']).pid, flush=True); import time; time.sleep(60)",
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def start(command: tuple[str, ...], temp: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(temp)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def ends(process: subprocess.Popen[bytes]) -> int:
    with process:
        return process.wait(10)


def gone(pid: int) -> bool:
    """Whether a killed process ends soon; a zombie that nobody waits for has no command line."""
    deadline = time.monotonic() + 5
    while command_line(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not command_line(pid)


def test_whole_groups_are_ended_and_no_other_folders_processes(tmp_path: Path) -> None:
    ours = start(SLEEP_BELOW, tmp_path / "run")
    other = start(SLEEP, tmp_path / "run-of-another")
    try:
        assert ours.stdout is not None
        below = int(ours.stdout.readline())
        assert end_groups_of(tmp_path / "run") == [ours.pid]
        assert ends(ours) == -signal.SIGKILL
        assert gone(below)
        assert other.poll() is None
        assert end_groups_of(tmp_path / "run") == []
    finally:
        for process in (ours, other):
            process.kill()
        ends(other)


async def test_the_demo_phone_comes_back_at_its_address(tmp_path: Path) -> None:
    first = DemoPhone(tmp_path, token="t" * 20)
    await first.start()
    await first.close()
    again = DemoPhone(tmp_path, token="t" * 20)
    await again.start()
    await again.close()
    assert again.url == first.url


@pytest.mark.parametrize("kept", ["", "port", "-1", "99999999"])
async def test_a_kept_port_that_cannot_be_had_is_replaced(tmp_path: Path, kept: str) -> None:
    (tmp_path / PORT_FILE).write_text(kept)
    phone = DemoPhone(tmp_path, token="t" * 20)
    await phone.start()
    await phone.close()
    assert (tmp_path / PORT_FILE).read_text() == phone.url.rpartition(":")[2]


async def test_another_programs_port_is_left_to_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        (tmp_path / PORT_FILE).write_text(str(taken))
        phone = DemoPhone(tmp_path, token="t" * 20)
        await phone.start()
        await phone.close()
    assert phone.url.rpartition(":")[2] != str(taken)
