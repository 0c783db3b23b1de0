"""Reads hostile XML into nodes: bounded, without recursion, strict before lenient."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, cast

from lxml import etree

from app.domain.screens import Size
from app.perception.nodes import Node, Reading, number
from app.perception.text import excerpt, tidy

Make = Callable[[str, Mapping[str, str]], Node | None]
"""Turns a tag with its attributes into a node; None for a tag that is no view."""


class XmlDialect(NamedTuple):
    """What sets one XML dialect apart from another."""

    make: Make
    roots: frozenset[str]
    """Tags around the views that are no views."""
    root_needed: bool


DECLARATION = re.compile(r"<\?xml\b[^>]{0,200}\?>")
DOCTYPE = re.compile(r"<!DOCTYPE\b[^<>\[\]]{0,500}>", re.IGNORECASE)
ENTITIES = re.compile(r"<!(?:ENTITY|DOCTYPE)\b", re.IGNORECASE)
START_TAG = re.compile(r"<[^\W\d]")
START_TAG_BYTES = re.compile(rb"<[A-Za-z_]")

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REFERENCE = re.compile(r"&#(x[0-9a-fA-F]{1,8}|[0-9]{1,10});(?:&#(x[0-9a-fA-F]{1,8}|[0-9]{1,10});)?")
BARE_AMPERSAND = re.compile(r"&(?!#x?[0-9a-fA-F]{1,8};|(?:amp|lt|gt|quot|apos);)")

CHUNK = 1 << 16
MAX_SEEN = 20
"""Tags walked per node kept; behind that the rest is only counted."""


class Collector:
    """Receives the parser's events and keeps nodes, so that no second tree is built."""

    def __init__(self, dialect: XmlDialect, max_nodes: int) -> None:
        self._dialect = dialect
        self._max_nodes = max_nodes
        self._open: list[int] = []
        self.nodes: list[Node] = []
        self.seen = 0
        self.dropped = 0
        self.starts: list[int] = []
        """Where each document's nodes begin."""
        self.rootless = False
        self.has_root = False
        self.size: Size | None = None
        self.chatter: list[str] = []

    @property
    def full(self) -> bool:
        return self.seen > MAX_SEEN * self._max_nodes

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        depth = len(self._open)
        parent = self._open[-1] if self._open else -1
        position = parent
        if depth:
            self.seen += 1
            is_root = tag in self._dialect.roots
            if depth == 1 and (is_root or not self._dialect.root_needed):
                self.starts.append(len(self.nodes))
            if is_root:
                self.has_root = True
                self.size = self.size or stated_size(attributes)
            elif len(self.nodes) >= self._max_nodes:
                self.dropped += 1
            else:
                # The parser's own mapping is slow to ask.
                node = self._dialect.make(tag, dict(attributes))
                if node is not None:
                    self.rootless = self.rootless or depth == 1
                    node.parent = parent
                    position = len(self.nodes)
                    self.nodes.append(node)
        self._open.append(position)

    def end(self, tag: str) -> None:
        # The lenient parser may close more than it opened.
        if self._open:
            self._open.pop()

    def data(self, text: str) -> None:
        if len(self._open) == 1 and text.strip() and len(self.chatter) < 3:
            self.chatter.append(text)

    def comment(self, text: str) -> None:
        """Comments say nothing about the screen."""

    def close(self) -> None:
        """Part of the parser's protocol; what was kept is read from the fields."""


def stated_size(attributes: Mapping[str, str]) -> Size | None:
    width, height = number(attributes.get("width")), number(attributes.get("height"))
    return Size(width=width, height=height) if width and height and min(width, height) > 0 else None


def read(text: str, dialect: XmlDialect, max_nodes: int) -> Reading:
    """Everything of a source that is XML, with what was wrong about it."""
    text = DOCTYPE.sub("", DECLARATION.sub("", text), count=1)
    if ENTITIES.search(text):
        return Reading(failed="the source declares entities; refused")
    first = START_TAG.search(text)
    if first is None:
        told = text.strip()
        return Reading(
            failed=f"the dump is a message, not a tree: {excerpt(told)}" if told else "no source"
        )
    collector = Collector(dialect, max_nodes)
    error = _parse(text, collector)
    if error:
        text = mend(text)
        collector = Collector(dialect, max_nodes)
        error = _parse(text, collector)
    if error:
        lenient = Collector(dialect, max_nodes)
        _parse(text, lenient, recover=True)
        if len(lenient.nodes) >= len(collector.nodes):
            collector = lenient
    return _reading(text, collector, error, dialect.root_needed)


def mend(text: str) -> str:
    """Replaces what XML forbids but devices write: control and half characters, bare ampersands."""
    text = REFERENCE.sub(_legal_reference, text)
    return BARE_AMPERSAND.sub("&amp;", ILLEGAL.sub("\ufffd", text))


def _legal_reference(found: re.Match[str]) -> str:
    points = [_code_point(part) for part in found.groups() if part]
    if len(points) == 2 and 0xD800 <= points[0] < 0xDC00 <= points[1] < 0xE000:
        return chr(0x10000 + ((points[0] - 0xD800) << 10) + (points[1] - 0xDC00))
    parts = [part for part in found.groups() if part]
    return "".join(
        "\ufffd" if point > 0x10FFFF or ILLEGAL.match(chr(point)) else f"&#{part};"
        for point, part in zip(points, parts, strict=True)
    )


def _code_point(digits: str) -> int:
    return int(digits[1:], 16) if digits[0] == "x" else int(digits)


def _parse(text: str, collector: Collector, *, recover: bool = False) -> str:
    """Feeds the text between a root of our own, so that several documents and chatter are legal."""
    parser = etree.XMLParser(
        target=cast(Any, collector),
        encoding="utf-8",
        recover=recover,
        # Off would leave `&#38;` for `&amp;` in attributes; declarations are refused before this.
        resolve_entities=cast(Any, "internal"),
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    data = b"<artemis>" + text.encode("utf-8", "replace") + b"</artemis>"
    try:
        for start in range(0, len(data), CHUNK):
            parser.feed(data[start : start + CHUNK])
            if collector.full:
                unread = data.rfind(b">", 0, start + CHUNK) + 1
                collector.dropped += len(START_TAG_BYTES.findall(data, unread))
                return ""
        parser.close()
    except etree.LxmlError as error:
        return tidy(str(error).split(", line")[0], 120) or "not well-formed"
    return ""


def _reading(text: str, collector: Collector, error: str, root_needed: bool) -> Reading:
    reading = Reading(nodes=collector.nodes, dropped=collector.dropped, size=collector.size)
    if not collector.nodes:
        if error:
            reading.failed = f"broken XML before the first element ({error}): {excerpt(text)}"
        elif not collector.has_root:
            reading.failed = f"no UI hierarchy in the source: {excerpt(text)}"
        return reading
    if error:
        reading.faults.append(f"broken XML ({error}); what could be read is here")
    if collector.chatter:
        reading.faults.append(f"text around the XML was cut off: {excerpt(collector.chatter[0])}")
    if root_needed and collector.rootless and not collector.has_root:
        reading.faults.append("the root element is missing")
    ends = [*collector.starts, len(collector.nodes)]
    documents = [(a, b) for a, b in pairwise(ends) if b > a]
    if len(documents) > 1:
        reading.nodes = latest(collector.nodes, documents)
        reading.faults.append(f"{len(documents)} XML documents; the last one of each app is used")
    return reading


def latest(nodes: list[Node], documents: list[tuple[int, int]]) -> list[Node]:
    """The nodes of each package's last document, parents renumbered."""
    last = {nodes[start].package: (start, end) for start, end in documents}
    kept: list[Node] = []
    for start, end in sorted(last.values()):
        shift = len(kept) - start
        for node in nodes[start:end]:
            if node.parent >= 0:
                node.parent += shift
            kept.append(node)
    return kept
