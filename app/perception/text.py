"""Makes text from a device safe: encodings, half characters, control characters, length."""

from __future__ import annotations

import codecs
import re

MAX_TEXT = 10_000
"""Characters kept of one element's text."""

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

REPLACED = "\ufffd"
# Object replacement characters stand for pictures; direction overrides can make a page lie.
INVISIBLE = re.compile("[\ufffc\u202a-\u202e\u2066-\u2069\ufeff]")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
HALF = re.compile("[\ud800-\udfff]")


def decode(data: bytes) -> str:
    """Text of a file, whatever a shell's redirection made of its encoding."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    head = data[:4096]
    if head.count(0) > len(head) // 3:
        little = head[1::2].count(0) > head[::2].count(0)
        return data.decode("utf-16-le" if little else "utf-16-be", "replace")
    return data.decode("utf-8", "replace")


def whole(text: str) -> str:
    """Joins surrogate pairs and replaces lone halves, so that the text can be encoded."""
    if HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def respell(text: str) -> str:
    """Undoes UTF-16 that was read one byte at a time: every other character is NUL."""
    head = text[:4096]
    if head.count("\0") <= len(head) // 3:
        return text
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return text.replace("\0", "")
    return decode(data)


def tidy(text: str, limit: int = MAX_TEXT) -> str:
    """One line without control characters, at most `limit` characters long."""
    if text.isascii() and text.isprintable():
        if "  " not in text and len(text) <= limit:
            return text.strip()
    else:
        # Room for what collapses; without it a megabyte of text would be cleaned for nothing.
        text = whole(text[: 4 * limit])
        text = CONTROL.sub(REPLACED, INVISIBLE.sub("", text))
    return shorten(" ".join(text[: 4 * limit].split()), limit)


def shorten(text: str, limit: int) -> str:
    """Cuts with an ellipsis, never longer than the limit."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…"[:limit]


def excerpt(text: str, limit: int = 120) -> str:
    """The beginning of a text, quoted, for a reason."""
    return f"“{tidy(text[: 8 * limit], limit)}”"
