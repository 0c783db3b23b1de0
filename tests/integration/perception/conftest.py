"""The real reader, one for all tests of a module."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.domain.config import OcrConfig
from app.perception.ocr import OcrService, missing_extra
from app.tasks.clock import SystemClock


@pytest.fixture(scope="session")
def extra() -> None:
    """Skips where the extra is not installed."""
    if missing := missing_extra():
        pytest.skip(missing)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(extra: None) -> AsyncIterator[OcrService]:
    service = OcrService(OcrConfig(), SystemClock())
    yield service
    await service.close()
