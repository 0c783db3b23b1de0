"""Reads what devices/collector.js says about a web page in view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.domain.screens import Size
from app.perception import roles, salvage
from app.perception.nodes import Node, Reading, flag, number, sized_box, words
from app.perception.text import excerpt


def read(text: str, max_nodes: int) -> Reading:
    value = salvage.load(text)
    if isinstance(value, dict):
        found = value.get("elements")
        if not isinstance(found, list):
            return Reading(failed=f"the page collector gave no elements: {excerpt(text)}")
        reading = read_items(found, max_nodes)
        reading.size = stated_size(value)
        reading.dropped += max(0, number(value.get("truncated")) or 0)
        return reading
    start = salvage.list_start(text, "elements")
    if start < 0:
        return Reading(failed=f"not the page collector's JSON: {excerpt(text)}")
    reading = read_items(salvage.items(text, start), max_nodes)
    if not reading.nodes:
        reading.failed = "the page collector's JSON is cut off before the first element"
    reading.faults.append("the JSON is cut off or broken; the elements before that are here")
    return reading


def stated_size(value: Mapping[str, object]) -> Size | None:
    width, height = number(value.get("w")), number(value.get("h"))
    return Size(width=width, height=height) if width and height and min(width, height) > 0 else None


def read_items(found: Iterable[object], max_nodes: int) -> Reading:
    reading = Reading()
    strange = 0
    for item in found:
        if not isinstance(item, dict):
            strange += 1
        elif len(reading.nodes) >= max_nodes:
            reading.dropped += 1
        else:
            reading.nodes.append(make_node(item))
    if strange:
        reading.faults.append(f"{strange} entries of the page are no elements")
        if not reading.nodes:
            reading.failed = "no entry of the page is an element"
    return reading


def make_node(item: Mapping[str, object]) -> Node:
    password = flag(item.get("password"))
    checked = item.get("checked")
    # A canvas may call itself an image, but no name tells what is drawn on it.
    role = "canvas" if item.get("tag") == "canvas" else words(item, "role")
    return Node(
        role=roles.of_word(role),
        text="" if password else words(item, "text"),
        value="" if password else words(item, "value"),
        # The label of a password is no secret, its text might be.
        hint=words(item, "hint") or (words(item, "text") if password else ""),
        resource_id=words(item, "id")[:300],
        box=sized_box(item.get("x"), item.get("y"), item.get("w"), item.get("h")),
        enabled=flag(item.get("enabled"), True),
        checked=checked if isinstance(checked, bool) else None,
        focused=flag(item.get("focused")),
        selected=flag(item.get("selected")),
        password=password,
        clickable=flag(item.get("clickable")),
        editable=flag(item.get("editable")),
        scrollable=flag(item.get("scrollable")),
        shown=flag(item.get("visible"), True),
    )
