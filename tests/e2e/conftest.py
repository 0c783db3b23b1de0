"""One real stack for all tests here: server, Appium, browser, demo phone of a drawn seed."""

from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

import pytest

from app.devices.installation import find_appium, find_chromedriver, find_chromium, find_node
from tests.e2e.stack import Server, serving


@pytest.fixture(scope="session")
def programs() -> None:
    """Skips where a program is missing that Artemis itself cannot bring."""
    node, browser = find_node(), find_chromium()
    for program in (node, find_appium(), browser, find_chromedriver("", browser)):
        if not program.usable:
            pytest.skip(f"{program.problem} {program.fix}")


@pytest.fixture(scope="session")
def seed() -> int:
    """What the phone's content and the tasks are generated from; printed when a test fails."""
    return SystemRandom().randrange(2**31)


@pytest.fixture(scope="session")
def _server(
    programs: None, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("artemis")
    with serving(folder, seed) as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    """The running server; started again where the test before left it dead."""
    print(f"seed {_server.seed}, data in {_server.data_dir}")  # noqa: T201 (shown on failure)
    if _server.process is None or _server.process.poll() is not None:
        _server.start()
    return _server
