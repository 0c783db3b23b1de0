"""Reads the forms in which other tools recorded their trees: state files, lists, plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from app.perception import roles, salvage
from app.perception.nodes import (
    NO_BOX,
    Box,
    Node,
    Reading,
    flag,
    label,
    make_box,
    parse_box,
    sized_box,
    words,
)
from app.perception.text import excerpt
from app.perception.uiautomator import is_keyboard

END = object()
CUT = "the JSON is cut off or broken; the elements before that are here"


def read_states(text: str, max_nodes: int) -> Reading:
    """A state of DroidBot: a list of views that name their parents."""
    value = salvage.load(text)
    if isinstance(value, dict) and isinstance(value.get("views"), list):
        return read_records(value["views"], max_nodes)
    start = salvage.list_start(text, "views")
    if start < 0:
        return Reading(failed=f"a state without views: {excerpt(text)}")
    return cut(read_records(salvage.items(text, start), max_nodes))


def read_list(text: str, max_nodes: int) -> Reading:
    """A JSON list of elements, nested or flat."""
    value = salvage.load(text)
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), None)
        if value is None:
            return Reading(failed=f"no list of elements: {excerpt(text)}")
    if isinstance(value, list):
        return read_records(value, max_nodes)
    start = salvage.list_start(text, "")
    if start < 0:
        return Reading(failed=f"no list of elements: {excerpt(text)}")
    return cut(read_records(salvage.items(text, start), max_nodes))


def read_text(text: str, max_nodes: int) -> Reading:
    """A tool's own words with a JSON list in them; words alone are an error message."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or ('"' not in text[start : start + 100] and text[start + 1 : end].strip()):
        return Reading(failed=f"the dump is a message, not a tree: {excerpt(text.strip())}")
    value = salvage.load(text[start : end + 1]) if end > start else None
    if isinstance(value, list):
        return read_records(value, max_nodes)
    return cut(read_records(salvage.items(text, start + 1), max_nodes))


def cut(reading: Reading) -> Reading:
    if not reading.nodes:
        reading.failed = "the JSON is cut off or broken before the first element"
    reading.faults.append(CUT)
    return reading


def read_records(found: Iterable[object], max_nodes: int) -> Reading:
    """Walks the records in document order, children after their parent, without recursion."""
    reading = Reading()
    strange = 0
    places: dict[int, int] = {}
    waiting: list[tuple[Iterator[object], int]] = [(iter(found), -1)]
    while waiting:
        records, parent = waiting[-1]
        record = next(records, END)
        if record is END:
            waiting.pop()
            continue
        if not isinstance(record, dict):
            strange += 1
            continue
        if len(reading.nodes) >= max_nodes:
            reading.dropped += 1
            continue
        node = make_node(record)
        node.parent = parent if parent >= 0 else stated_parent(record, places)
        if isinstance(own := record.get("temp_id"), int):
            places[own] = len(reading.nodes)
        children = record.get("children")
        if isinstance(children, list) and any(isinstance(child, dict) for child in children):
            waiting.append((iter(children), len(reading.nodes)))
        reading.nodes.append(node)
    if strange:
        reading.faults.append(f"{strange} entries are no elements")
        if not reading.nodes:
            reading.failed = "no entry of the list is an element"
    return reading


def stated_parent(record: Mapping[str, object], places: Mapping[int, int]) -> int:
    parent = record.get("parent")
    return places.get(parent, -1) if isinstance(parent, int) else -1


def make_node(record: Mapping[str, object]) -> Node:
    get = record.get
    name = words(record, "class", "className", "class_name", "type")
    role = roles.of_class(name)
    package = words(record, "package", "package_name")[:200]
    password = flag(get("password")) or flag(get("is_password")) or "SecureText" in name
    editable = flag(get("editable")) or flag(get("is_editable")) or role == roles.EDITABLE
    can_check = flag(get("checkable")) or flag(get("is_checkable")) or role in roles.CHECKABLE
    is_checked = flag(get("checked")) or flag(get("is_checked"))
    node = Node(
        role=role,
        resource_id=words(
            record, "resource-id", "resource_id", "resourceId", "resource_name", "identifier", "id"
        )[:300],
        package=package,
        box=find_box(record),
        enabled=flag(get("enabled", get("is_enabled")), True),
        checked=is_checked if can_check or is_checked else None,
        focused=flag(get("focused")) or flag(get("is_focused")),
        selected=flag(get("selected")) or flag(get("is_selected")),
        password=password,
        clickable=flag(get("clickable")) or flag(get("is_clickable")),
        editable=editable or password,
        scrollable=flag(get("scrollable")) or flag(get("is_scrollable")),
        shown=flag(get("visible", get("is_visible")), True),
        keyboard=is_keyboard(package),
    )
    text = words(record, "text")
    if text == name:
        # Some tools put the class where there is no text.
        text = ""
    label(
        node,
        text=text,
        description=words(
            record, "content-desc", "content_description", "contentDescription", "label", "name"
        ),
        hint=words(record, "hint_text", "hint"),
    )
    return node


def find_box(record: Mapping[str, object]) -> Box:
    """A box in one of the spellings seen; the empty one where there is none."""
    bounds = record.get("bounds", record.get("coordinates", record.get("rect")))
    match bounds:
        case str():
            return parse_box(bounds)
        case [[left, top], [right, bottom]] | [left, top, right, bottom]:
            return make_box(left, top, right, bottom)
        case {"x": x, "y": y, "width": width, "height": height}:
            return sized_box(x, y, width, height)
        case {"left": left, "top": top, "right": right, "bottom": bottom}:
            return make_box(left, top, right, bottom)
    return NO_BOX
