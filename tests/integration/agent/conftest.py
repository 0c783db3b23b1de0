"""A store ready to use for every test."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage.migrations import migrate
from tests.integration.agent.house import copy_template
from tests.integration.agent.phones import turn_pages
from tests.stand_ins.appium_server import StandIn, appium_stand_in


@pytest.fixture(scope="session", autouse=True)
def imported_client() -> None:
    """A second of import that no short time-out of a test should have to pay."""
    importlib.import_module("google.genai")


@pytest.fixture(scope="session")
def store_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "artemis.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture
def folder(store_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory, away from any settings file."""
    monkeypatch.chdir(tmp_path)
    copy_template(store_template, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def phone() -> Iterator[StandIn]:
    """An Android phone whose page changes with every touch."""
    with appium_stand_in() as stand_in:
        turn_pages(stand_in)
        yield stand_in
