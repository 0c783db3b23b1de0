"""Parses any UI source into one tree; every outcome is a value, none an exception."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from app.domain.config import PerceptionConfig
from app.domain.screens import (
    Bounds,
    Dialect,
    ElementSource,
    Size,
    TreeStatus,
    UiSource,
    UiTree,
)
from app.perception import assemble, dom, page, recorded, salvage, uiautomator, xcuitest
from app.perception.nodes import RAW_FACTOR, Reading
from app.perception.text import excerpt, respell, tidy, whole

READERS: dict[Dialect, Callable[[str, int], Reading]] = {
    Dialect.UIAUTOMATOR2: uiautomator.read,
    Dialect.XCUITEST: xcuitest.read,
    Dialect.DOM: dom.read,
    Dialect.HTML: page.read,
    Dialect.DROIDBOT: recorded.read_states,
    Dialect.ELEMENTS: recorded.read_list,
    Dialect.TEXT: recorded.read_text,
}
XML = frozenset({Dialect.UIAUTOMATOR2, Dialect.XCUITEST})

LOOK = 200_000
"""Characters looked at to tell the dialect."""

IOS_TAG = re.compile(r"<(?:XCUIElementType|AppiumAUT\b)")
ANDROID_TAG = re.compile(
    r"<(?:hierarchy\b|node\s|android\.|androidx\.)|<[\w.$]+\s[^<>]*\bbounds=\"\["
)
HTML_TAG = re.compile(r"<!doctype html|<html\b|<body\b", re.IGNORECASE)
ANY_TAG = re.compile(r"<[^\W\d][^<>]*>")

QUOTED = re.compile(r"""b?(['"])(?=[^'"]{0,200}<)""")
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\n": ""}


def sniff(text: str) -> Dialect:
    """The format of a source, from its beginning."""
    head = text[:LOOK].lstrip("\ufeff \t\r\n")
    if head.startswith("{"):
        if '"views"' in head:
            return Dialect.DROIDBOT
        return Dialect.DOM if '"elements"' in head else Dialect.ELEMENTS
    if re.match(r"\[\s*(?:[{\]]|$)", head):
        return Dialect.ELEMENTS
    if IOS_TAG.search(head):
        return Dialect.XCUITEST
    # A page may quote a dump, a dump never declares itself a page.
    if HTML_TAG.search(head[:2000]):
        return Dialect.HTML
    if ANDROID_TAG.search(head):
        return Dialect.UIAUTOMATOR2
    if ANY_TAG.search(head):
        return Dialect.HTML if HTML_TAG.search(head) else Dialect.UNKNOWN
    return Dialect.TEXT if head else Dialect.UNKNOWN


def parse(source: UiSource, window: Size, config: PerceptionConfig) -> UiTree:
    """Reads a source as far as it can be read. `failed` is never `empty`."""
    text, faults = prepare(source.text, config.max_source_bytes)
    dialect = resolve(source.dialect, sniff(text))
    if not text.strip(" \t\r\n\0\ufeff\ufffd"):
        return UiTree(status=TreeStatus.FAILED, reason="the source is empty", dialect=dialect)
    if source.dialect in XML and dialect is Dialect.HTML:
        reason = f"the device answered with a web page, not a UI tree: {excerpt(gist(text))}"
        return UiTree(status=TreeStatus.FAILED, reason=reason, dialect=source.dialect)
    reader = READERS.get(dialect, uiautomator.read)
    reading = reader(text, RAW_FACTOR * config.max_elements)
    reading.faults[:0] = faults
    return build(reading, dialect, window, config)


def resolve(declared: Dialect, seen: Dialect) -> Dialect:
    """The declared dialect, unless the text is plainly another one of the same kind."""
    if declared is Dialect.UNKNOWN:
        return seen
    if declared in XML and (seen in XML or seen is Dialect.HTML):
        return seen
    return declared


def prepare(text: str, max_bytes: int) -> tuple[str, list[str]]:
    """Bounded text without the wrappings that tools put around a dump."""
    faults: list[str] = []
    if len(text) > max_bytes:
        faults.append(f"the source is larger than {max_bytes} bytes and was cut there")
        text = text[:max_bytes]
    text = respell(whole(text)).lstrip("\ufeff")
    if len(text) * 4 > max_bytes and len(data := text.encode("utf-8")) > max_bytes:
        faults.append(f"the source is larger than {max_bytes} bytes and was cut there")
        text = data[:max_bytes].decode("utf-8", "ignore")
    unquoted = unquote(text)
    if unquoted is not None:
        faults.append("the source came as a quoted string")
        text = unquoted
    return text, faults


def unquote(text: str) -> str | None:
    """The inside of a Python or JSON string literal, or of an answer's `value`."""
    head = text[:LOOK].lstrip()
    if head.startswith("{") and re.match(r'\{\s*"value"\s*:\s*"', head):
        answer = salvage.load(text)
        value = answer.get("value") if isinstance(answer, dict) else None
        return value if isinstance(value, str) else None
    opening = QUOTED.match(head)
    if opening is None:
        return None
    inside = text.strip()[opening.end() :]
    inside = inside.removesuffix(opening[1])
    plain = ESCAPE.sub(_unescape, inside)
    if head.startswith("b"):
        try:
            return plain.encode("latin-1").decode("utf-8", "replace")
        except UnicodeEncodeError:
            return plain
    return whole(plain)


def _unescape(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits:
        point = int(digits, 16)
        return chr(point) if point <= 0x10FFFF else "\ufffd"
    return PLAIN_ESCAPES.get(found[4], found[4])


def gist(text: str) -> str:
    """The words of a page, for an error message."""
    return tidy(re.sub(r"<[^<>]*>", " ", text[:4000]), 300)


def build(reading: Reading, dialect: Dialect, window: Size, config: PerceptionConfig) -> UiTree:
    if reading.failed:
        return UiTree(status=TreeStatus.FAILED, reason=reading.failed, dialect=dialect)
    nodes = reading.nodes
    if not nodes:
        reason = "; ".join(["the hierarchy has no element", *reading.faults])
        return UiTree(status=TreeStatus.EMPTY, reason=reason, dialect=dialect)
    size = assemble.find_window(nodes, window, reading.size)
    keyboard = assemble.find_keyboard(nodes, size)
    assemble.join_rows(nodes, size)
    visible = assemble.find_visible(nodes, size, keyboard)
    kept = assemble.choose(nodes, visible, config.max_elements)
    truncated = reading.dropped + len(nodes) - len(kept)
    if truncated:
        reading.faults.append(f"{truncated} elements beyond the limit were left out")
    origin = ElementSource.DOM if dialect in (Dialect.DOM, Dialect.HTML) else ElementSource.TREE
    packages = Counter(nodes[at].package for at in kept if nodes[at].package)
    return UiTree(
        status=TreeStatus.PARTIAL if reading.faults else TreeStatus.OK,
        reason="; ".join(reading.faults),
        dialect=dialect,
        elements=tuple(
            assemble.to_element(index, nodes[at], visible[at], origin)
            for index, at in enumerate(kept)
        ),
        package=packages.most_common(1)[0][0] if packages else "",
        truncated=truncated,
        keyboard=Bounds(
            left=keyboard.left, top=keyboard.top, right=keyboard.right, bottom=keyboard.bottom
        )
        if keyboard
        else None,
    )
