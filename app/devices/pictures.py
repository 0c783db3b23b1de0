"""Turns the bytes a driver calls a screenshot into a picture, or says why they are none."""

from __future__ import annotations

import base64
import binascii
import io
import struct
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

from app.domain.screens import Screenshot

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_NOISE = 4096
"""Bytes that may stand before the signature: some phones print a warning first."""
MAX_BYTES = 48 * 1024 * 1024
MAX_PIXELS = 64_000_000


class Picture(NamedTuple):
    """Either a screenshot or the reason why there is none."""

    screenshot: Screenshot | None
    problem: str = ""
    note: str = ""


def read_picture(answer: object) -> Picture:
    """Reads a driver's answer: base64 text, or raw bytes."""
    if isinstance(answer, str):
        try:
            data = base64.b64decode(answer, validate=False)
        except (binascii.Error, ValueError):
            return Picture(None, "the screenshot is not base64")
    elif isinstance(answer, bytes):
        data = answer
    else:
        return Picture(None, "the device sent no screenshot")
    if not data:
        return Picture(None, "the screenshot has zero bytes (a secure screen, or switched off)")
    if len(data) > MAX_BYTES:
        return Picture(None, f"the screenshot is too large ({len(data)} bytes)")
    return _decode(data)


def _decode(data: bytes) -> Picture:
    starts = [at for at in (data.find(_PNG, 0, _NOISE), data.find(_JPEG, 0, _NOISE)) if at >= 0]
    if not starts:
        return Picture(None, "the screenshot is not a picture")
    start = min(starts)
    note = ""
    if start:
        words = data[:start].decode("utf-8", "replace").strip()
        note = f"the device printed before the picture: {words[:200]}"
        data = data[start:]
    media_type = "image/png" if data.startswith(_PNG) else "image/jpeg"
    if media_type == "image/png" and len(data) >= 24:
        # Read before Pillow sees it: a claimed size alone can exhaust the memory.
        width, height = struct.unpack(">II", data[16:24])
        if width * height > MAX_PIXELS:
            return Picture(None, f"the screenshot is too large ({width} x {height})", note)
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            image.verify()
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, struct.error):
        return Picture(None, "the screenshot is not a readable picture", note)
    shot = Screenshot(data=data, media_type=media_type, width=width, height=height)
    return Picture(shot, "", note)
