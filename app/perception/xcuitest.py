"""Reads XCUITest page sources."""

from __future__ import annotations

from collections.abc import Mapping

from app.perception import markup, roles
from app.perception.nodes import Node, Reading, flag, label, sized_box
from app.perception.text import tidy

PREFIX = "XCUIElementType"
ROOTS = frozenset({"AppiumAUT"})

CLICKABLE = frozenset({"button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "key"})
VALUED = frozenset({"field", "slider", "picker", "combobox", "progress"})
SCROLLING = frozenset({"list", "scroll", "web"})


def read(text: str, max_nodes: int) -> Reading:
    return markup.read(text, markup.XmlDialect(make_node, ROOTS, root_needed=False), max_nodes)


def make_node(tag: str, attributes: Mapping[str, str]) -> Node | None:
    name = tag if tag.startswith(PREFIX) else attributes.get("type", "")
    if not name.startswith(PREFIX):
        return None
    get = attributes.get
    role = roles.of_class(name)
    value = tidy(get("value", ""))
    node = Node(
        role=role,
        box=sized_box(get("x"), get("y"), get("width"), get("height")),
        enabled=flag(get("enabled"), True),
        focused=flag(get("focused")) or flag(get("hasFocus")),
        selected=flag(get("selected")),
        password=name.endswith("SecureTextField"),
        clickable=role in CLICKABLE or name.endswith(("Cell", "Icon")),
        editable=role == roles.EDITABLE,
        scrollable=role in SCROLLING,
        shown=flag(get("visible"), True),
        keyboard=name == PREFIX + "Keyboard",
    )
    if role in roles.CHECKABLE:
        node.checked = flag(value)
        value = ""
    if name == PREFIX + "Application":
        # Its label names the app, not something to read on the screen.
        node.resource_id = tidy(get("name", ""), 300)
    else:
        identify(node, attributes, value)
    return node


def identify(node: Node, attributes: Mapping[str, str], value: str) -> None:
    """A label is for people, a name often an identifier of the developer, a value both."""
    name, said = tidy(attributes.get("name", "")), tidy(attributes.get("label", ""))
    placeholder = tidy(attributes.get("placeholderValue", ""))
    if node.password or node.editable:
        if value == placeholder:
            value = ""
        label(node, text=value, description=said or name, hint=placeholder)
    else:
        label(node, text=said or (value if node.role == "text" else "") or name, description="")
        if node.role in VALUED or (value and value != node.text):
            node.value = value
    if name and name != said:
        node.resource_id = name[:300]
