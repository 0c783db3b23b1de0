"""One Appium server for all tests that drive a browser, started when the first one asks."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.devices.appium_process import AppiumProcess
from app.devices.installation import find_appium, find_chromedriver, find_chromium, find_node


@pytest.fixture(scope="session")
def appium_url() -> Iterator[str]:
    """Address of a real Appium with the Chromium driver; skips where something is missing."""
    node, browser = find_node(), find_chromium()
    programs = (node, find_appium(), browser, find_chromedriver("", browser))
    for program in programs:
        if not program.usable:
            pytest.skip(f"{program.problem} {program.fix}")
    temp = Path(tempfile.mkdtemp(prefix="artemis-appium-"))
    home = Path(programs[1].path).parents[2]
    # Each test has its own event loop, but the server outlives them all: it gets its own.
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="appium-of-tests")
    thread.start()
    try:
        server = AppiumProcess(node.path, programs[1].path, home, temp / "run")
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(90)
        yield server.url
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
        shutil.rmtree(temp, ignore_errors=True)
