"""What is recorded of a step's picture, and what a reader may tell."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.domain.config import OcrConfig
from app.domain.events import Event, FallbackUsed, TextRead
from app.domain.memory import SearchEntry, TextKind
from app.domain.screens import (
    ArtifactRef,
    Observation,
    PictureText,
    Screenshot,
    Size,
    TreeStatus,
    UiTree,
)
from app.domain.tasks import StepRecord, StepState, TaskHistory
from app.errors import NotFound
from app.perception.ocr import OcrService
from app.tasks.background import BackgroundWork
from app.tasks.clock import SystemClock
from app.tasks.picture_texts import DiscreetOcr, PictureTexts, hiding

STAND_IN = Path(__file__).parents[2] / "stand_ins" / "reading_process.py"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Shelf:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        sha256 = hashlib.sha256(data).hexdigest()
        self.kept[sha256] = data
        return ArtifactRef(sha256=sha256, media_type=media_type, size=len(data))

    async def get(self, ref: ArtifactRef) -> bytes:
        if ref.sha256 not in self.kept:
            raise NotFound(f"There is no artifact {ref.sha256[:12]}.")
        return self.kept[ref.sha256]


class Book:
    """A recorder that only remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.entries: list[SearchEntry] = []

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        self.events += events
        self.entries += index

    async def history(self) -> TaskHistory:
        raise NotImplementedError


class Desk:
    """Everything around one task's pictures."""

    def __init__(self, ocr: OcrService) -> None:
        self.ocr = ocr
        self.shelf, self.book, self.background = Shelf(), Book(), BackgroundWork()
        self.texts = PictureTexts(ocr, self.shelf, self.book, self.background)

    async def step(self, number: int, words: str, *, black: bool = False) -> StepRecord:
        ref = await self.shelf.put(words.encode(), "image/png") if words else None
        return StepRecord(
            step_id=f"s{number}",
            step_number=number,
            state=StepState.DONE,
            started_at=START,
            offset=0.0,
            action_text="tap",
            action=None,
            observation=Observation(
                observation_id=f"o{number}",
                taken_at=START,
                tree=UiTree(status=TreeStatus.OK),
                window=Size(width=100, height=200),
                screenshot=ref,
                black=black,
            ),
        )

    def read(self) -> list[TextRead]:
        return [e for e in self.book.events if isinstance(e, TextRead)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    ocr = OcrService(OcrConfig(), SystemClock(), (sys.executable, "-P", str(STAND_IN)))
    yield Desk(ocr)
    await ocr.close()


async def test_one_picture_in_two_steps_is_read_once_and_found_under_both(desk: Desk) -> None:
    for number in (1, 2):
        desk.texts.take(await desk.step(number, "Total 45.20"))
        desk.texts.take(await desk.step(number, "Total 45.20"))
    await desk.background.flush(20)
    assert desk.ocr.pictures == 1
    assert sorted(e.step_number for e in desk.read()) == [1, 2]
    first, second = desk.read()
    assert first.text_ref is not None and first.text_ref == second.text_ref
    assert (first.lines, first.problem) == (1, "")
    kept = PictureText.model_validate_json(await desk.shelf.get(first.text_ref))
    assert [line.text for line in kept.lines] == ["Total 45.20"]
    assert sorted((e.step_number, e.kind, e.text) for e in desk.book.entries) == [
        (1, TextKind.OCR, "Total 45.20"),
        (2, TextKind.OCR, "Total 45.20"),
    ]


async def test_take_returns_before_anything_is_read(desk: Desk) -> None:
    desk.texts.take(await desk.step(1, "slow value"))
    assert desk.book.events == []
    await asyncio.sleep(0)
    assert desk.book.events == []
    await desk.background.flush(20)
    assert len(desk.read()) == 1


async def test_a_step_without_a_picture_or_with_a_black_one_is_passed_over(desk: Desk) -> None:
    desk.texts.take(await desk.step(1, ""))
    desk.texts.take(await desk.step(2, "dark", black=True))
    await desk.background.flush(5)
    assert desk.book.events == [] and desk.ocr.starts == 0


async def test_a_picture_that_cannot_be_read_is_left_out_visibly(desk: Desk) -> None:
    desk.texts.take(await desk.step(1, "refuse"))
    lost = await desk.step(2, "lost")
    desk.shelf.kept.clear()
    desk.texts.take(lost)
    await desk.background.flush(20)
    problems = {e.step_number: e.problem for e in desk.read()}
    assert "There is no artifact" in problems[2] and problems[1]
    assert not [e for e in desk.read() if e.text_ref] and desk.book.entries == []


async def test_what_the_end_of_the_reader_left_may_be_read_again(desk: Desk) -> None:
    desk.texts.take(await desk.step(1, "refuse"))
    await desk.background.flush(20)
    desk.texts.take(await desk.step(2, "slow value"))
    await asyncio.sleep(0.05)
    await desk.ocr.close()
    await desk.background.flush(20)
    assert [(e.step_number, e.again) for e in desk.read()] == [(1, False), (2, True)]


async def test_what_was_left_is_read_in_order_until_there_is_no_reader(desk: Desk) -> None:
    pictures = [(n, await desk.shelf.put(f"page {n}".encode(), "image/png")) for n in (3, 4, 5)]
    desk.texts.take_up(pictures)
    desk.texts.take(await desk.step(4, "page 4"))
    await desk.background.flush(20)
    assert [e.step_number for e in desk.read()] == [3, 4, 5]
    await desk.ocr.close()
    await desk.texts.read_all([(6, pictures[0][1])])
    assert len(desk.read()) == 3, "nothing is said of what can be read another time"


async def test_without_a_reader_it_is_said_once() -> None:
    desk = Desk(OcrService(OcrConfig(), SystemClock(), missing="the extra is missing"))
    for number in (1, 2, 3):
        desk.texts.take(await desk.step(number, f"page {number}"))
    await desk.background.flush(5)
    (told,) = desk.book.events
    assert isinstance(told, FallbackUsed)
    assert (told.kind, told.step_number) == ("no_ocr", 1) and "extra" in told.detail


async def test_a_secret_on_a_screen_is_not_told(desk: Desk) -> None:
    hide = hiding({"pin": SecretStr("4711"), "long": SecretStr("4711-0815"), "x": SecretStr("a")})
    discreet = DiscreetOcr(desk.ocr, hide)
    shot = Screenshot(data=b"Card 4711-0815, PIN 4711", width=1, height=1)
    (line,) = (await discreet.read(shot)).lines
    assert line.text == "Card [secret:long], PIN [secret:pin]"
    assert discreet.problem == ""
