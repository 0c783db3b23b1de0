"""Reads hostile JSON: bounded, and as far as it goes when it was cut."""

from __future__ import annotations

import json
from collections.abc import Iterator

MAX_PARTS = 200_000
"""Brackets in a text that is parsed as a whole; beyond it, item by item."""
MAX_ITEM = 1 << 16
"""Characters of one item when a list is read item by item."""
USUAL_ITEM = 1 << 11

OPENERS = "{["


def load(text: str) -> object:
    """The JSON value, or None where the text is none or too large to be read as a whole."""
    if sum(text.count(opener) for opener in OPENERS) > MAX_PARTS:
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def list_start(text: str, key: str) -> int:
    """Position behind the bracket of the list under a key (or of the outer list), or -1."""
    if not key:
        return text.find("[") + 1 or -1
    at = text.find(f'"{key}"')
    if at < 0:
        return -1
    rest = text[at + len(key) + 2 : at + len(key) + 200]
    stripped = rest.lstrip(" \t\r\n:")
    if not stripped.startswith("["):
        return -1
    return at + len(key) + 2 + len(rest) - len(stripped) + 1


def items(text: str, start: int) -> Iterator[object]:
    """The list's items one by one, until the end, the cut, or an item too large."""
    decoder = json.JSONDecoder()
    at = start
    for _ in range(MAX_PARTS):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        # Most items are small; a copy of the largest allowed for each would be slow.
        for size in (USUAL_ITEM, MAX_ITEM):
            try:
                item, used = decoder.raw_decode(text[at : at + size])
            except (ValueError, RecursionError):
                continue
            break
        else:
            return
        yield item
        at += used
