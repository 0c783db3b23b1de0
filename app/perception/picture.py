"""Screenshots: safe opening, hashing, shrinking for the model, drawing an action."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from PIL import Image, ImageDraw
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from app.domain.actions import NORMAL, Point

MAX_PIXELS = 20_000_000
MAX_BYTES = 64 * 1024 * 1024

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
PREAMBLE = 64 * 1024
"""Bytes in which a tool may have written text before the picture."""

HASH_SIDE = 8
UNIFORM = 3
"""Levels, of 255, by which a plain picture may vary: compression leaves traces."""
DARK = 24

MARK = (255, 64, 64)
MARK_EDGE = (255, 255, 255)


class Picture(NamedTuple):
    """An opened screenshot, or the reason why there is none."""

    image: Image.Image | None
    problem: str = ""


class ModelImage(NamedTuple):
    """What a model is shown."""

    data: bytes
    width: int
    height: int
    media_type: str = "image/jpeg"


class Mark(NamedTuple):
    """An action on a picture: a point, or a path when it has an end."""

    start: Point
    end: Point | None = None


def open_picture(data: bytes) -> Picture:
    """Decodes a PNG or JPEG to RGB, wherever in the first bytes it begins."""
    if not data:
        return Picture(None, "the screenshot is empty (a secure screen, or refused)")
    if len(data) > MAX_BYTES:
        return Picture(None, f"the screenshot is larger than {MAX_BYTES} bytes")
    starts = {kind: data[:PREAMBLE].find(kind) for kind in (PNG, JPEG)}
    found = [(start, kind) for kind, start in starts.items() if start >= 0]
    if not found:
        return Picture(None, "the screenshot is neither PNG nor JPEG")
    start, kind = min(found)
    try:
        # The classes themselves: Image.open would warn about large pictures before we can refuse.
        stream = io.BytesIO(data[start:])
        image = PngImageFile(stream) if kind == PNG else JpegImageFile(stream)
        width, height = image.size
        if width * height > MAX_PIXELS or not width or not height:
            return Picture(None, f"the screenshot of {width}x{height} pixels is too large")
        return Picture(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError) as error:
        return Picture(None, f"the screenshot is damaged or cut off: {str(error)[:100]}")


def dhash(image: Image.Image) -> str:
    """16 hex digits: whether each of 8x8 places is brighter than its right neighbour."""
    grey = image.convert("L").resize(
        (HASH_SIDE + 1, HASH_SIDE), Image.Resampling.BOX, reducing_gap=2.0
    )
    pixels = grey.tobytes()
    bits = 0
    for row in range(HASH_SIDE):
        line = pixels[row * (HASH_SIDE + 1) : (row + 1) * (HASH_SIDE + 1)]
        for left, right in pairwise(line):
            bits = bits << 1 | (left > right)
    return f"{bits:016x}"


def distance(first: str, second: str) -> int | None:
    """Differing bits of two hashes, 0-64; None when one is missing."""
    if not first or not second:
        return None
    return (int(first, 16) ^ int(second, 16)).bit_count()


def is_uniform(image: Image.Image) -> bool:
    """Whether every pixel has the same colour: secure, switched off, or not drawn yet."""
    extrema = image.convert("RGB").getextrema()
    return all(_span(band) <= UNIFORM for band in extrema)


def is_dark(image: Image.Image) -> bool:
    return all(high <= DARK for _, high in map(_pair, image.convert("RGB").getextrema()))


def _pair(band: object) -> tuple[float, float]:
    match band:
        case (int() | float() as low, int() | float() as high):
            return low, high
    return 0.0, 255.0


def _span(band: object) -> float:
    low, high = _pair(band)
    return high - low


def model_jpeg(image: Image.Image, short_side: int, quality: int) -> ModelImage:
    """A JPEG whose short side is at most `short_side`; never enlarged."""
    small = shrink(image, short_side)
    return ModelImage(to_jpeg(small, quality), small.width, small.height)


def shrink(image: Image.Image, short_side: int) -> Image.Image:
    shortest = min(image.size)
    if shortest <= short_side:
        return image
    scale = short_side / shortest
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)


def to_jpeg(image: Image.Image, quality: int) -> bytes:
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def draw_marks(image: Image.Image, marks: Sequence[Mark]) -> Image.Image:
    """A copy with rings where fingers went down and arrows where they moved."""
    copy = image.convert("RGB")
    if copy is image:
        copy = image.copy()
    draw = ImageDraw.Draw(copy)
    radius = max(8, min(copy.size) // 24)
    for mark in marks:
        start = _pixel(mark.start, copy)
        if mark.end is not None:
            _arrow(draw, start, _pixel(mark.end, copy), radius)
        _ring(draw, start, radius)
    return copy


def marked_jpeg(
    data: bytes, marks: Sequence[Mark], short_side: int = 720, quality: int = 80
) -> ModelImage | None:
    """A stored screenshot with its action drawn; None when it cannot be opened."""
    image = open_picture(data).image
    if image is None:
        return None
    return model_jpeg(draw_marks(shrink(image, short_side), marks), short_side, quality)


def _pixel(point: Point, image: Image.Image) -> tuple[float, float]:
    return (
        point.x / NORMAL * max(image.width - 1, 0),
        point.y / NORMAL * max(image.height - 1, 0),
    )


def _ring(draw: ImageDraw.ImageDraw, at: tuple[float, float], radius: int) -> None:
    width = max(2, radius // 4)
    for size, colour in ((radius + width, MARK_EDGE), (radius, MARK)):
        box = (at[0] - size, at[1] - size, at[0] + size, at[1] + size)
        draw.ellipse(box, outline=colour, width=width)


def _arrow(
    draw: ImageDraw.ImageDraw, start: tuple[float, float], end: tuple[float, float], radius: int
) -> None:
    width = max(3, radius // 3)
    for extra, colour in ((4, MARK_EDGE), (0, MARK)):
        draw.line([start, end], fill=colour, width=width + extra)
    across, down = end[0] - start[0], end[1] - start[1]
    length = (across**2 + down**2) ** 0.5 or 1.0
    x, y = across / length * radius, down / length * radius
    tip = [end, (end[0] - x - y / 2, end[1] - y + x / 2), (end[0] - x + y / 2, end[1] - y - x / 2)]
    draw.polygon(tip, fill=MARK, outline=MARK_EDGE)
