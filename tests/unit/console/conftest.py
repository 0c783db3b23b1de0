"""The whole service in this process, without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.settings import Settings

BASE = "http://127.0.0.1:8765"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(data_dir=tmp_path / "data", log_level="error"))
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that opened the one-time address."""
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app, client=("127.0.0.1", 1)),
        base_url=BASE,
        headers={"Sec-Fetch-Site": "same-origin", "Accept": "text/html"},
    ) as client:
        answer = await client.get(f"/open?token={app.state.one_time_token}")
        assert answer.status_code == 303
        yield client
