"""How a screen of the walk is laid out, and its picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw

from app.domain.screens import Bounds, Screenshot, Size

WINDOW = Size(width=1080, height=2400)
ROW_TOP, ROW_HEIGHT = 240, 100
BACK = Bounds(left=60, top=2120, right=500, bottom=2260)
NEXT = Bounds(left=580, top=2120, right=1020, bottom=2260)


class Row(NamedTuple):
    """One line of a screen."""

    label: str
    value: str


def drawn(title: str, rows: Sequence[Row], scale: int) -> Screenshot:
    """The screen as a PNG, `scale` times smaller; a small one shows its title and bars alone."""
    image = Image.new("RGB", (WINDOW.width // scale, WINDOW.height // scale), (250, 250, 252))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, image.width, 220 // scale), fill=(38, 70, 83))
    draw.text((60 // scale, 110 // scale), title, fill="white", font_size=max(8, 56 // scale))
    for place, row in enumerate(rows):
        top = (ROW_TOP + place * ROW_HEIGHT) // scale
        if scale == 1:
            draw.text((60, top + 30), row.label, fill=(90, 90, 100), font_size=36)
            draw.text((WINDOW.width // 2, top + 30), row.value, fill=(20, 20, 30), font_size=36)
        line = (60 // scale, top + 98 // scale, 1020 // scale, top + 98 // scale)
        draw.line(line, fill=(220, 220, 226), width=2)
    for label, box in (("Back", BACK), ("Next", NEXT)):
        left, top, right, bottom = (
            int(s) // scale for s in (box.left, box.top, box.right, box.bottom)
        )
        draw.rounded_rectangle((left, top, right, bottom), radius=40 // scale, fill=(42, 157, 143))
        if scale == 1:
            draw.text((left + 170, top + 45), label, fill="white", font_size=44)
    stream = io.BytesIO()
    image.save(stream, "PNG", compress_level=1)
    return Screenshot(data=stream.getvalue(), width=image.width, height=image.height)
