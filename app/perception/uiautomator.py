"""Reads UiAutomator dumps, with `node` tags or with the class as tag name."""

from __future__ import annotations

from collections.abc import Mapping

from app.perception import markup, roles
from app.perception.nodes import Node, Reading, flag, label, parse_box
from app.perception.text import tidy

ROOTS = frozenset({"hierarchy", "displays", "display", "windows", "window"})

IME_WORDS = ("inputmethod", "honeyboard", "swiftkey", "keyboard", "gboard")
IME_PACKAGES = ("com.baidu.input", "com.iflytek.", "com.touchtype.", "com.sohu.input")


def read(text: str, max_nodes: int) -> Reading:
    return markup.read(text, markup.XmlDialect(make_node, ROOTS, root_needed=True), max_nodes)


def make_node(tag: str, attributes: Mapping[str, str]) -> Node | None:
    get = attributes.get
    bounds = get("bounds", "")
    if not bounds and tag != "node" and "class" not in attributes:
        return None
    name = get("class") or tag
    role = roles.of_class(name)
    package = tidy(get("package", ""), 200)
    password = flag(get("password"))
    node = Node(
        role=role,
        resource_id=tidy(get("resource-id", ""), 300),
        package=package,
        box=parse_box(bounds),
        enabled=flag(get("enabled"), True),
        checked=flag(get("checked")) if checkable(attributes, role) else None,
        focused=flag(get("focused")),
        selected=flag(get("selected")),
        password=password,
        clickable=flag(get("clickable")),
        editable=password or role == roles.EDITABLE or flag(get("editable")),
        scrollable=flag(get("scrollable")),
        shown=flag(get("displayed"), True) and flag(get("visible-to-user"), True),
        keyboard=is_keyboard(package),
    )
    text, hint = tidy(get("text", "")), tidy(get("hint", ""))
    if flag(get("showing-hint")):
        text, hint = "", hint or text
    label(node, text=text, description=tidy(get("content-desc", "")), hint=hint)
    if flag(get("heading")):
        node.role = "heading"
    return node


def checkable(attributes: Mapping[str, str], role: str) -> bool:
    if flag(attributes.get("checked")):
        return True
    # Dumps of accessibility services leave `checkable` out.
    return flag(attributes.get("checkable"), default=role in roles.CHECKABLE)


def is_keyboard(package: str) -> bool:
    """Whether a package is an input method; its settings pages are not."""
    low = package.lower()
    return bool(low) and (any(w in low for w in IME_WORDS) or low.startswith(IME_PACKAGES))
