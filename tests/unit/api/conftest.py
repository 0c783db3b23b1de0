"""The whole service in this process, without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from app.main import TOKEN_FILE, create_app
from app.settings import Settings

BASE = "http://127.0.0.1:8765"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(data_dir=tmp_path / "data", log_level="error"))
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture
async def http(app: FastAPI, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A program on this machine, with the token of the data directory."""
    token = (tmp_path / "data" / TOKEN_FILE).read_text()
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app, client=("127.0.0.1", 1)),
        base_url=BASE,
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield client
