"""Turns nodes into elements: visibility, keyboard, labels of rows, bounds on their number."""

from __future__ import annotations

from app.domain.screens import Bounds, Element, ElementSource, Size
from app.perception import roles
from app.perception.nodes import FAR, Box, Node

MAX_JOINED = 300
"""Characters of a row's text that is put together from its parts."""
LARGE = 0.6
"""A pressable box higher than this share of the window is a page, not a row."""
THIN = 0.25
"""Share of a box's height that must be above the keyboard for it to count as visible."""

STATES = frozenset({"on", "off", "1", "0", "checked", "unchecked", "not checked", "开启", "关闭"})
"""Words that old switches show instead of a name."""


def find_window(nodes: list[Node], given: Size, stated: Size | None) -> Size:
    """The window: as the device says, else as the source says, else as far as the views reach."""
    if given.width > 0 and given.height > 0:
        return given
    if stated is not None:
        return stated
    # The first box is the root's; only where that is none of a screen do all of them count.
    root = nodes[0].box
    boxes = [root] if is_screen(root) else [node.box for node in nodes if not node.box.empty]
    return Size(
        width=max(0, *(box.right for box in boxes), 0),
        height=max(0, *(box.bottom for box in boxes), 0),
    )


def is_screen(box: Box) -> bool:
    return not box.empty and box.left <= 0 < box.right and box.top <= 0 < box.bottom


def find_keyboard(nodes: list[Node], window: Size) -> Box | None:
    """The keyboard's box. An input method's window may span the screen; its keys do not."""
    inside = inherit_keyboard(nodes)
    drawn = [n for n, flag in zip(nodes, inside, strict=True) if flag and n.shown and n.box.area]
    # Its settings are ordinary pages: then nothing else is on the screen.
    if not drawn or len(drawn) == len([n for n in nodes if n.shown and n.box.area]):
        return None
    keys = [n for n in drawn if n.box.area < window.width * window.height * 0.5]
    joined: Box | None = None
    for node in keys:
        joined = node.box if joined is None else joined.join(node.box)
    if joined is None:
        return None
    joined = joined.meet(Box(0, 0, window.width, window.height))
    return None if joined.empty else joined


def inherit_keyboard(nodes: list[Node]) -> list[bool]:
    inside: list[bool] = []
    for node in nodes:
        inside.append(node.keyboard or (node.parent >= 0 and inside[node.parent]))
    return inside


def find_visible(nodes: list[Node], window: Size, keyboard: Box | None) -> list[bool]:
    """What is in the window, inside every scrolling ancestor, and not under the keyboard."""
    whole = Box(0, 0, window.width or FAR, window.height or FAR)
    keys = inherit_keyboard(nodes) if keyboard else [False] * len(nodes)
    clips: list[Box] = []
    visible: list[bool] = []
    for at, node in enumerate(nodes):
        clip = clips[node.parent] if node.parent >= 0 else whole
        part = node.box.meet(clip)
        clips.append(part if node.scrollable and not part.empty else clip)
        seen = node.shown and not part.empty and not keys[at]
        if seen and keyboard is not None:
            seen = above(part, keyboard)
        visible.append(seen)
    return visible


def above(part: Box, keyboard: Box) -> bool:
    """Whether enough of a box is left beside the keyboard."""
    covered = part.meet(keyboard)
    return covered.empty or covered.area < part.area * (1 - THIN)


def find_rows(nodes: list[Node], window: Size) -> list[int]:
    """For each node the nearest pressable ancestor that speaks for it, or -1."""
    rows: list[int] = []
    for node in nodes:
        parent = node.parent
        if parent < 0:
            rows.append(-1)
            continue
        above_it = nodes[parent]
        if above_it.scrollable:
            rows.append(-1)
        elif is_row(above_it, window):
            rows.append(parent)
        else:
            rows.append(rows[parent])
    return rows


def is_row(node: Node, window: Size) -> bool:
    if not (node.clickable or node.checked is not None) or node.editable or node.scrollable:
        return False
    height = node.box.bottom - node.box.top
    return not window.height or height < window.height * LARGE


def interactive(node: Node) -> bool:
    return node.clickable or node.editable or node.checked is not None


def join_rows(nodes: list[Node], window: Size) -> None:
    """Gives rows, bare switches and fields the words that stand in or beside them."""
    rows = find_rows(nodes, window)
    parts: dict[int, list[str]] = {}
    beside: dict[int, str] = {}
    switches: dict[int, list[int]] = {}
    for at, node in enumerate(nodes):
        row, parent = rows[at], node.parent
        if node.checked is not None and not node.clickable and row >= 0:
            switches.setdefault(row, []).append(at)
        elif node.text and not interactive(node) and node.shown:
            beside.setdefault(parent, node.text)
            if parent >= 0 and nodes[parent].editable:
                nodes[parent].hint = nodes[parent].hint or node.text
            elif row >= 0:
                add_part(parts.setdefault(row, []), node.text)
    for row, said in parts.items():
        name_row(nodes[row], said)
    for row, found in switches.items():
        if len(found) == 1 and nodes[row].checked is None:
            nodes[row].checked = nodes[found[0]].checked
            nodes[row].role = nodes[found[0]].role or nodes[row].role
    for at, node in enumerate(nodes):
        if node.checked is not None and at not in parts:
            row = rows[at]
            name_switch(node, (nodes[row].text if row >= 0 else "") or beside.get(node.parent, ""))


def add_part(said: list[str], text: str) -> None:
    if text not in said and sum(map(len, said)) + len(text) <= MAX_JOINED:
        said.append(text)


def name_row(row: Node, said: list[str]) -> None:
    """A row speaks with its parts; a tile's own word is its state then ("On")."""
    if row.password:
        return
    if not row.text:
        row.text = ", ".join(said)
    elif row.role == "switch" and row.text not in said:
        row.text, row.value = ", ".join(said), row.value or row.text


def name_switch(node: Node, said: str) -> None:
    """A switch writes its state where others have their name."""
    if node.password or not said:
        return
    if not node.text:
        node.text = said
    elif node.role == "switch" and node.text.lower() in STATES:
        node.text = said


def choose(nodes: list[Node], visible: list[bool], limit: int) -> list[int]:
    """Positions of the nodes kept, in document order: what is seen and says something first."""
    if len(nodes) <= limit:
        return list(range(len(nodes)))

    def rank(at: int) -> tuple[bool, bool]:
        node = nodes[at]
        speaks = bool(node.text or node.hint or node.value) or interactive(node)
        return not (visible[at] and speaks), not speaks

    return sorted(sorted(range(len(nodes)), key=rank)[:limit])


def to_element(index: int, node: Node, visible: bool, source: ElementSource) -> Element:
    box = node.box
    return Element(
        index=index,
        role=roles.in_use(
            node.role, clickable=node.clickable, editable=node.editable, text=node.text
        ),
        text=node.text,
        hint=node.hint,
        value="" if node.value == node.text else node.value,
        resource_id=node.resource_id,
        bounds=Bounds(left=box.left, top=box.top, right=box.right, bottom=box.bottom),
        enabled=node.enabled,
        checked=node.checked,
        focused=node.focused,
        selected=node.selected,
        password=node.password,
        clickable=node.clickable,
        editable=node.editable,
        scrollable=node.scrollable,
        visible=visible,
        package=node.package,
        source=source,
    )
