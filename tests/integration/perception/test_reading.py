"""The real reading process on pictures with known words."""

import io
import os
import signal
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image, ImageDraw, ImageFont

from app.domain.config import PerceptionConfig
from app.domain.screens import Dialect, PictureText, Screenshot, Size, UiSource
from app.errors import PictureUnread
from app.perception.drawn import bare_words, plain_text, with_text
from app.perception.ocr import OcrService
from app.perception.ocr_process import NICENESS
from app.perception.tree import parse

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = Path(__file__).resolve().parents[2] / "data"
WIFI = DATA / "trajectories" / "appagent-wifi-5"


class Words(NamedTuple):
    text: str
    x: int
    y: int
    size: int = 40


def drawn(*words: Words, ink: str = "black", paper: str = "white") -> Screenshot:
    """A phone-sized picture with these words."""
    image = Image.new("RGB", (720, 1280), paper)
    pen = ImageDraw.Draw(image)
    for word in words:
        font = ImageFont.load_default(word.size)
        pen.text((word.x, word.y), word.text, fill=ink, font=font)
    out = io.BytesIO()
    image.save(out, "PNG")
    return Screenshot(data=out.getvalue(), width=720, height=1280)


def stored(path: Path) -> Screenshot:
    return Screenshot(data=path.read_bytes(), media_type="image/jpeg", width=0, height=0)


def texts(read: PictureText) -> list[str]:
    return [line.text for line in read.lines]


@pytest.mark.parametrize(("ink", "paper"), [("black", "white"), ("white", "#1b1b1f")])
async def test_latin_words_digits_and_codes(reader: OcrService, ink: str, paper: str) -> None:
    wanted = ("Checkout", "Order AB-1234", "$1,280.50", "192.168.0.7", "Deliver on Tuesday")
    shot = drawn(*(Words(w, 60, 120 + 150 * n) for n, w in enumerate(wanted)), ink=ink, paper=paper)
    assert texts(await reader.read(shot)) == list(wanted)


async def test_a_line_has_its_place_in_the_picture(reader: OcrService) -> None:
    (line,) = (await reader.read(drawn(Words("412", 300, 600, 120)))).lines
    x, y = line.bounds.left, line.bounds.top
    assert abs(x - 300) < 30 and 580 < y < 680, line
    assert line.bounds.contains(400, 670) and line.score > 0.8


async def test_a_label_and_its_value_come_in_one_row(reader: OcrService) -> None:
    shot = drawn(Words("Total", 40, 300), Words("45.20", 560, 300), Words("Tax", 40, 400))
    assert plain_text(await reader.read(shot)) == "Total  45.20\nTax"


@pytest.mark.parametrize("step", ["0002", "0003", "0004", "0005"])
async def test_a_screenshot_says_what_its_tree_says(reader: OcrService, step: str) -> None:
    source = (WIFI / "ui" / f"{step}.xml").read_text()
    window = Size(width=0, height=0)
    tree = parse(UiSource(dialect=Dialect.UIAUTOMATOR2, text=source), window, PerceptionConfig())
    told = {e.text for e in tree.elements if e.visible and e.role == "text" and len(e.text) > 1}
    assert len(told) >= 5
    words = bare_words(plain_text(await reader.read(stored(WIFI / "images" / f"{step}.jpg"))))
    found = {text for text in told if bare_words(text) in words}
    assert len(found) >= 0.8 * len(told), sorted(told - found)


async def test_chinese_on_a_screen_of_240_pixels(reader: OcrService) -> None:
    words = plain_text(await reader.read(stored(DATA / "ui" / "img" / "zh-launcher-menu.jpg")))
    shown = "飞行模式 功能表 设置 应用程序 桌面设置 UC浏览器 下载 归属地 选择 退出".split()
    assert [word for word in shown if word not in words] == []


async def test_an_empty_screen_has_no_text(reader: OcrService) -> None:
    read = await reader.read(drawn())
    assert read.lines == () and read.size == Size(width=720, height=1280)
    bare = parse(UiSource(dialect=Dialect.DOM, text="{}"), read.size, PerceptionConfig())
    assert with_text(bare, read, (), read.size) is bare


def bomb() -> bytes:
    """A small file of 400 million pixels."""
    out = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("data", [b"", b"<html>", b"\x89PNG\r\n\x1a\n", bomb()])
async def test_what_is_no_picture_is_refused_and_the_process_lives(
    reader: OcrService, data: bytes
) -> None:
    await reader.read(drawn(Words("before", 60, 60)))
    pid = reader.pid
    with pytest.raises(PictureUnread, match="screenshot"):
        await reader.read(Screenshot(data=data, width=0, height=0))
    assert reader.pid == pid
    assert texts(await reader.read(drawn(Words("after", 60, 60)))) == ["after"]


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="needs POSIX priorities")
async def test_the_process_gives_way_to_everything_else(reader: OcrService) -> None:
    await reader.read(drawn(Words("nice", 60, 60)))
    assert reader.pid is not None
    assert os.getpriority(os.PRIO_PROCESS, reader.pid) == NICENESS


async def test_a_killed_process_is_replaced(reader: OcrService) -> None:
    await reader.read(drawn(Words("one", 60, 60)))
    pid = reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert texts(await reader.read(drawn(Words("Two hundred", 60, 60)))) == ["Two hundred"]
    assert reader.pid not in (None, pid)
