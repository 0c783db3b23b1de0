"""Appium and the demo phone, started and ended together."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import httpx2
import pytest

from app.devices.appium_process import AppiumProcess
from app.devices.factory import open_device
from app.devices.installation import find_appium, find_chromedriver, find_chromium, find_node
from app.devices.processes import browsers_below, command_line
from app.devices.server import DemoPhone, DemoStack
from app.domain.actions import LaunchApp, Outcome
from app.domain.config import AppiumConfig
from app.errors import ConfigurationError, DeviceUnreachable

pytestmark = pytest.mark.appium
QUICK = AppiumConfig(call_timeout=12, page_load_timeout=5, session_timeout=30)


@pytest.fixture
def installed() -> None:
    browser = find_chromium()
    for program in (find_node(), find_appium(), browser, find_chromedriver("", browser)):
        if not program.usable:
            pytest.skip(f"{program.problem} {program.fix}")


async def until(condition: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if callable(condition) and condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never happened")


@pytest.mark.usefixtures("installed")
async def test_a_phone_ready_to_use_that_survives_its_server(tmp_path: Path) -> None:
    temp = tmp_path / "appium-tmp"
    async with DemoStack(tmp_path, QUICK, blocked_origins=("http://127.0.0.1:8765",)) as stack:
        config = stack.device
        assert config.home == f"{stack.phone_url}/demo/" and config.reset_url
        assert config.blocked_origins == ("http://127.0.0.1:8765",)
        device = open_device(config, QUICK, lambda _: None)
        await device.open()
        view = await device.observe()
        assert view.url == config.home and view.source and "Shop" in view.source.text
        assert (await device.perform(LaunchApp(app="Shop"))).outcome is Outcome.OK

        assert stack._process is not None and stack._process._process is not None
        first = stack._process._process.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: stack.problem)
        receipt = await device.perform(LaunchApp(app="Notes"))
        assert receipt.outcome is Outcome.UNKNOWN
        await until(lambda: not stack.problem)
        assert stack.restarts == 1 and stack._process._process.pid != first
        await device.close()
        await device.open()
        assert (await device.perform(LaunchApp(app="Notes"))).outcome is Outcome.OK
        # One browser is left running on purpose: ending the stack must end it.
        browsers = browsers_below(temp)
        assert len(browsers) == 1
        second = stack._process._process.pid
    assert command_line(second) == "" and command_line(browsers[0][0]) == ""
    await device.close()


@pytest.mark.usefixtures("installed")
async def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for stack in (
            DemoStack(tmp_path, QUICK, appium_port=port),
            DemoStack(tmp_path, QUICK, demo_port=port),
        ):
            with pytest.raises(ConfigurationError, match=str(port)):
                await stack.start()


async def test_missing_programs_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await DemoStack(tmp_path, QUICK, root=tmp_path).start()
    assert caught.value.hint


def script(folder: Path, text: str) -> str:
    path = folder / "appium.sh"
    path.write_text(text)
    return str(path)


async def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    path = script(tmp_path, "echo 'no such module'; exit 3\n")
    process = AppiumProcess("/bin/sh", path, tmp_path, tmp_path / "tmp")
    with pytest.raises(DeviceUnreachable, match="no such module"):
        await process.start()
    missing = AppiumProcess(str(tmp_path / "node"), path, tmp_path, tmp_path / "tmp")
    with pytest.raises(ConfigurationError):
        await missing.start()


async def test_the_server_inherits_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s3cret-4711")
    path = script(tmp_path, "env | grep -e TMPDIR -e SOME_API_KEY; exit 1\n")
    process = AppiumProcess("/bin/sh", path, tmp_path, tmp_path / "tmp")
    with pytest.raises(DeviceUnreachable) as caught:
        await process.start()
    assert "s3cret-4711" not in str(caught.value) + " ".join(process._words)
    assert any("TMPDIR" in line for line in process._words)


async def test_the_demo_phone_alone(tmp_path: Path) -> None:
    phone = DemoPhone(tmp_path, token="t" * 20)
    await phone.start()
    try:
        async with httpx2.AsyncClient(timeout=5) as client:
            assert (await client.get(f"{phone.url}/demo/")).status_code == 200
            headers = {"X-Demo-Token": "t" * 20}
            answer = await client.post(f"{phone.url}/demo/reset", json={}, headers=headers)
            assert answer.status_code == 200
    finally:
        await phone.close()
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", int(phone.url.rpartition(":")[2]))
