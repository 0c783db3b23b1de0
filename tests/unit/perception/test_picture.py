"""Screenshots of every kind a device may send."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from app.domain.actions import Point
from app.perception import picture
from app.perception.picture import Mark, open_picture

IMG = Path(__file__).resolve().parents[2] / "data" / "ui" / "img"


def png(image: Image.Image, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def page(size: tuple[int, int] = (300, 600), mark: int = 0) -> Image.Image:
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for row in range(10):
        draw.rectangle((20, 20 + row * 50, 100 + 17 * row, 50 + row * 50), fill=(40, 90, 20 * row))
    draw.rectangle((0, 500, mark, 600), fill="black")
    return image


def image_of(data: bytes) -> Image.Image:
    opened = open_picture(data)
    assert opened.image is not None, opened.problem
    return opened.image


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize(
    "before", [b"", b"[Warning] Multiple displays were found\n", b"\r\n" * 500]
)
def test_a_picture_is_found_behind_a_tools_words(kind: str, before: bytes) -> None:
    assert image_of(before + png(page(), kind)).size == (300, 600)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_every_colour_mode_becomes_rgb(mode: str) -> None:
    image = image_of(png(Image.new(mode, (30, 20))))
    assert (image.mode, image.size) == ("RGB", (30, 20))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"error: closed", "neither PNG nor JPEG"),
        (png(page())[:400], "cut off"),
        (png(page(), "JPEG")[:400], "cut off"),
        (b"\x89PNG\r\n\x1a\n", "cut off"),
        (b"\x89PNG\r\n\x1a\n" + b"\xff" * 300, "cut off"),
        (b"\xff\xd8\xff", "cut off"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 300, "cut off"),
    ],
)
def test_what_is_no_picture_says_so(data: bytes, words: str) -> None:
    opened = open_picture(data)
    assert opened.image is None
    assert words in opened.problem


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    bomb = picture.PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1_000_000))
    opened = open_picture(bomb + chunk(b"IEND", b""))
    assert opened.image is None
    assert "30000x30000" in opened.problem


def test_the_hash_tells_pages_apart_and_scales_together() -> None:
    image = page()
    first = picture.dhash(image)
    assert len(first) == 16
    assert picture.distance(first, picture.dhash(image.copy())) == 0
    assert (picture.distance(first, picture.dhash(image.resize((150, 300)))) or 0) <= 4
    assert (picture.distance(first, picture.dhash(image.rotate(180))) or 0) > 10
    assert picture.distance(first, "") is None


def test_real_screens_differ() -> None:
    hashes = [picture.dhash(image_of(path.read_bytes())) for path in sorted(IMG.glob("*.jpg"))]
    assert len(hashes) == 2
    assert (picture.distance(*hashes) or 0) > 10


@pytest.mark.parametrize(
    ("image", "uniform", "dark"),
    [
        (Image.new("RGB", (100, 200)), True, True),
        (Image.new("RGB", (100, 200), "white"), True, False),
        (page(), False, False),
    ],
)
def test_a_plain_picture_is_recognised(image: Image.Image, uniform: bool, dark: bool) -> None:
    again = image_of(png(image, "JPEG"))
    assert picture.is_uniform(again) is uniform
    assert picture.is_dark(again) is dark


def test_one_small_word_on_a_plain_page_is_not_plain() -> None:
    image = Image.new("RGB", (824, 1830), "white")
    ImageDraw.Draw(image).text((400, 900), "ok", fill="black")
    assert not picture.is_uniform(image)


def test_the_models_picture_has_a_short_side_and_is_never_enlarged() -> None:
    shown = picture.model_jpeg(page((824, 1830)), 720, 80)
    assert (shown.width, shown.height) == (720, 1599)
    assert image_of(shown.data).size == (720, 1599)
    small = picture.model_jpeg(page((300, 600)), 720, 80)
    assert (small.width, small.height) == (300, 600)
    assert picture.model_jpeg(Image.new("RGB", (1, 5_000)), 720, 80).height == 5_000


def test_an_action_is_drawn_on_a_copy() -> None:
    image = Image.new("RGB", (400, 800), "white")
    drawn = picture.draw_marks(image, [Mark(Point(x=500, y=250))])
    assert picture.is_uniform(image)
    ring = drawn.crop((150, 150, 250, 250))
    assert not picture.is_uniform(ring)
    assert picture.is_uniform(drawn.crop((0, 400, 400, 800)))


def test_a_swipe_is_drawn_along_its_way_and_corners_are_no_problem() -> None:
    image = Image.new("RGB", (400, 800), "white")
    swipe = Mark(Point(x=500, y=900), Point(x=500, y=100))
    drawn = picture.draw_marks(image, [swipe, Mark(Point(x=0, y=0)), Mark(Point(x=1000, y=1000))])
    assert drawn.getpixel((200, 400)) == picture.MARK
    still = Mark(Point(x=5, y=5), Point(x=5, y=5))
    assert picture.draw_marks(Image.new("RGB", (1, 1)), [still]).size == (1, 1)


def test_a_stored_picture_is_marked_or_it_is_none() -> None:
    marked = picture.marked_jpeg(png(page((824, 1830))), [Mark(Point(x=500, y=500))])
    assert marked is not None
    assert marked.width == 720
    assert picture.marked_jpeg(b"nothing", [Mark(Point(x=500, y=500))]) is None
