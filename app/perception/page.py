"""Reads a served HTML page into texts and controls; there are no boxes in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lxml import etree

from app.perception import roles
from app.perception.nodes import Node, Reading
from app.perception.text import MAX_TEXT, excerpt, tidy, whole

NO_BOXES = "a page source has no boxes; nothing in it can be tapped by its place"

TOO_DEEP = "nested too deeply; the rest of the page was not read"

SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "math", "head", "iframe"})
VOID = frozenset({"input", "img", "br", "hr", "meta", "link", "wbr", "source", "area", "col"})
# Tags that begin an element of their own; the words of all others flow into the one around them.
BLOCKS: dict[str, str] = {
    "a": "link", "button": "button", "summary": "button", "input": "field", "select": "combobox",
    "textarea": "field", "img": "image", "h1": "heading", "h2": "heading", "h3": "heading",
    "h4": "heading", "h5": "heading", "h6": "heading", "li": "listitem", "td": "cell",
    "th": "header", "dt": "term", "dd": "definition", "option": "option", "label": "label",
    "p": "text", "div": "text", "section": "text", "article": "text", "main": "text",
    "header": "text", "footer": "text", "nav": "text", "aside": "text", "body": "text",
    "blockquote": "text", "pre": "text", "figcaption": "text", "caption": "text", "tr": "text",
    "ul": "text", "ol": "text", "table": "text", "form": "text",
}  # fmt: skip
INPUTS = {"checkbox": "checkbox", "radio": "radio", "range": "slider"}
PRESSED = frozenset({"submit", "button", "reset", "image", "file"})
CONTROLS = frozenset({"link", "button", "field", "combobox", "checkbox", "radio", "slider"})

CHUNK = 1 << 16
MAX_DEPTH = 2_000
"""Open tags; the parser's time for a stray end tag grows with them."""


def read(text: str, max_nodes: int) -> Reading:
    target = PageTarget(max_nodes)
    parser = etree.HTMLParser(
        target=cast(Any, target), encoding="utf-8", no_network=True, huge_tree=False
    )
    data = whole(text).replace("\0", "\ufffd").encode("utf-8", "replace")
    error = ""
    try:
        for start in range(0, len(data), CHUNK):
            parser.feed(data[start : start + CHUNK])
            if target.full:
                break
        else:
            parser.close()
    except etree.LxmlError as problem:
        error = tidy(str(problem).split(", line")[0], 120)
    target.finish()
    if not target.nodes and (error or target.too_deep):
        return Reading(failed=f"the page cannot be read ({error or TOO_DEEP}): {excerpt(text)}")
    faults = [NO_BOXES] + ([f"broken HTML ({error})"] if error else [])
    if target.too_deep:
        faults.append(TOO_DEEP)
    return Reading(nodes=target.nodes, faults=faults, dropped=target.dropped)


class PageTarget:
    """Collects words per block while the parser walks; holds no tree."""

    def __init__(self, max_nodes: int) -> None:
        self._max_nodes = max_nodes
        self._open: list[tuple[str, int]] = []
        """Open blocks: the tag and the position of its node."""
        self._skipping: list[str] = []
        self._depth = 0
        self._kept: list[Node] = []
        self._words: list[list[str]] = []
        self._sizes: list[int] = []
        self.dropped = 0
        self.nodes: list[Node] = []

    @property
    def full(self) -> bool:
        return self.dropped > 20 * self._max_nodes or self.too_deep

    @property
    def too_deep(self) -> bool:
        return self._depth > MAX_DEPTH

    def start(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        tag = tag.lower()
        self._depth += 1
        if self._skipping or tag in SKIPPED or "hidden" in attributes:
            if tag not in VOID:
                self._skipping.append(tag)
            return
        given = roles.of_word((attributes.get("role") or "").split(" ")[0])
        role = given or BLOCKS.get(tag, "")
        if not role:
            return
        if len(self._kept) >= self._max_nodes:
            self.dropped += 1
            return
        parent = self._open[-1][1] if self._open else -1
        self._kept.append(make_node(tag, role, attributes, parent))
        self._words.append([])
        self._sizes.append(0)
        if tag not in VOID:
            self._open.append((tag, len(self._kept) - 1))

    def end(self, tag: str) -> None:
        tag = tag.lower()
        self._depth -= 1
        if self._skipping:
            # A page that never closes what it opened is held at that point: bounded look back.
            for back in range(1, min(len(self._skipping), 50) + 1):
                if self._skipping[-back] == tag:
                    del self._skipping[-back:]
                    return
            return
        for back in range(1, min(len(self._open), 50) + 1):
            if self._open[-back][0] == tag:
                del self._open[-back:]
                return

    def data(self, text: str) -> None:
        if self._skipping or not self._open:
            return
        at = self._open[-1][1]
        if self._sizes[at] < 2 * MAX_TEXT:
            self._words[at].append(text[:MAX_TEXT])
            self._sizes[at] += len(text)

    def comment(self, text: str) -> None:
        """Comments are not shown."""

    def close(self) -> None:
        """Part of the parser's protocol."""

    def finish(self) -> None:
        """Puts the words in and drops the blocks that say nothing."""
        moved: dict[int, int] = {-1: -1}
        for at, node in enumerate(self._kept):
            said = tidy(" ".join(self._words[at]))
            if node.editable and not node.password:
                node.value = node.value or said
            elif not node.password:
                node.text = node.text or said
            if node.text or node.hint or node.value or node.role in CONTROLS:
                moved[at] = len(self.nodes)
                node.parent = moved[node.parent]
                self.nodes.append(node)
            else:
                moved[at] = moved[node.parent]


def make_node(tag: str, role: str, attributes: Mapping[str, str | None], parent: int) -> Node:
    def get(name: str) -> str:
        return tidy(attributes.get(name) or "")

    kind = get("type").lower() if tag == "input" else ""
    if tag == "input":
        role = "button" if kind in PRESSED else INPUTS.get(kind, role)
    password = kind == "password" or get("autocomplete").endswith("-password")
    node = Node(
        parent=parent,
        role=role,
        text=get("aria-label") or get("alt") or (get("value") if role == "button" else ""),
        hint=get("placeholder"),
        value=get("value") if role in ("field", "slider") else "",
        resource_id=(get("id") or get("name"))[:300],
        enabled="disabled" not in attributes,
        checked="checked" in attributes if role in roles.CHECKABLE else None,
        password=password,
        clickable=role in CONTROLS,
        editable=role == roles.EDITABLE,
        shown=False,
    )
    if password:
        node.hint, node.text, node.value = node.hint or node.text, "", ""
    return node
