"""Short role words, the same for every dialect."""

from __future__ import annotations

import re
from functools import lru_cache

# Endings of Android and iOS class names, longest meaning first; the first match decides.
ENDINGS: tuple[tuple[str, str], ...] = (
    ("securetextfield", "field"),
    ("searchfield", "field"),
    ("autocompletetextview", "field"),
    ("checkedtextview", "checkbox"),
    ("edittext", "field"),
    ("textfield", "field"),
    ("radiobutton", "radio"),
    ("togglebutton", "switch"),
    ("imagebutton", "button"),
    ("button", "button"),
    ("key", "key"),
    ("checkbox", "checkbox"),
    ("switch", "switch"),
    ("switchcompat", "switch"),
    ("seekbar", "slider"),
    ("slider", "slider"),
    ("ratingbar", "slider"),
    ("progressbar", "progress"),
    ("progressindicator", "progress"),
    ("activityindicator", "progress"),
    ("spinner", "combobox"),
    ("numberpicker", "picker"),
    ("datepicker", "picker"),
    ("timepicker", "picker"),
    ("pickerwheel", "picker"),
    ("picker", "picker"),
    ("webview", "web"),
    ("statictext", "text"),
    ("imageview", "image"),
    ("image", "image"),
    ("icon", "image"),
    ("recyclerview", "list"),
    ("listview", "list"),
    ("gridview", "list"),
    ("collectionview", "list"),
    ("table", "list"),
    ("scrollview", "scroll"),
    ("viewpager", "scroll"),
    ("viewpager2", "scroll"),
    ("cell", "listitem"),
    ("textview", "text"),
    ("link", "link"),
    ("tab", "tab"),
    ("tabbar", "toolbar"),
    ("toolbar", "toolbar"),
    ("navigationbar", "toolbar"),
    ("statusbar", "status"),
    ("alert", "dialog"),
    ("sheet", "dialog"),
    ("dialog", "dialog"),
    ("menuitem", "menuitem"),
    ("keyboard", "keyboard"),
    ("canvas", "canvas"),
    ("surfaceview", "canvas"),
    ("textureview", "canvas"),
    ("videoview", "video"),
)
# iOS calls a many-line field TextView; Android calls a label so.
IOS = {"textview": "field", "other": "", "application": "", "window": "", "segmentedcontrol": ""}

WORD = re.compile(r"[a-z][a-z0-9_-]{0,29}")
EDITABLE = "field"
CHECKABLE = frozenset({"checkbox", "radio", "switch"})
CONTAINERS = frozenset({"list", "scroll", "web", "group", "dialog", "toolbar", "document"})


@lru_cache(maxsize=512)
def of_class(name: str) -> str:
    """The role of a native class name, or an empty string for a mere container."""
    if name.startswith("XCUIElementType"):
        tail = name[len("XCUIElementType") :].lower()
        if tail in IOS:
            return IOS[tail]
    else:
        # Inner classes keep their own name: androidx…ActionBar$Tab is a tab.
        tail = name[-80:].replace("$", ".").rsplit(".", 1)[-1].lower()
    for ending, role in ENDINGS:
        if tail.endswith(ending):
            return role
    return ""


def of_word(word: str) -> str:
    """A role that is already a word, if it is one."""
    word = word.strip().lower()
    return word if WORD.fullmatch(word) else ""


def in_use(role: str, *, clickable: bool, editable: bool, text: str) -> str:
    """The word for a person: what can be pressed is a button, whatever its class."""
    if editable:
        return role or EDITABLE
    if clickable and role in ("", "text", "image", "group"):
        return "button"
    return role or ("text" if text else "group")
