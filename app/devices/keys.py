"""Names of keys that press_key understands, with each driver's own code for them."""

from __future__ import annotations

from typing import NamedTuple

from app.domain.config import Platform
from app.errors import AbilityMissing, InvalidInput


class Key(NamedTuple):
    """One key; None where a kind of device does not have it."""

    web: str | None
    """Code point of the W3C WebDriver key table."""
    android: int | None
    """KeyEvent.KEYCODE_…"""
    ios: str | None
    """A character typed into the focused field, or `button:` and a hardware button."""


KEYS: dict[str, Key] = {
    "enter": Key("\ue007", 66, "\n"),
    "tab": Key("\ue004", 61, "\t"),
    "space": Key(" ", 62, " "),
    "escape": Key("\ue00c", 111, None),
    "delete": Key("\ue003", 67, "\b"),
    "forward_delete": Key("\ue017", 112, None),
    "up": Key("\ue013", 19, None),
    "down": Key("\ue015", 20, None),
    "left": Key("\ue012", 21, None),
    "right": Key("\ue014", 22, None),
    "page_up": Key("\ue00e", 92, None),
    "page_down": Key("\ue00f", 93, None),
    "move_home": Key("\ue011", 122, None),
    "move_end": Key("\ue010", 123, None),
    "search": Key(None, 84, None),
    "menu": Key(None, 82, None),
    "back": Key(None, 4, None),
    "home": Key(None, 3, "button:home"),
    "app_switch": Key(None, 187, None),
    "power": Key(None, 26, None),
    "wake_up": Key(None, 224, None),
    "volume_up": Key(None, 24, "button:volumeup"),
    "volume_down": Key(None, 25, "button:volumedown"),
    "media_play_pause": Key(None, 85, None),
    "camera": Key(None, 27, None),
    "notification": Key(None, 83, None),
}

ALIASES: dict[str, str] = {
    "return": "enter",
    "backspace": "delete",
    "del": "delete",
    "esc": "escape",
    "arrow_up": "up",
    "arrow_down": "down",
    "arrow_left": "left",
    "arrow_right": "right",
    "recents": "app_switch",
}


def key_name(name: str) -> str:
    """The table's spelling of a key: case, spaces and hyphens do not matter."""
    plain = name.strip().lower().replace(" ", "_").replace("-", "_").removeprefix("keycode_")
    return ALIASES.get(plain, plain)


def find_key(name: str, platform: Platform) -> Key:
    """The key's codes. Raises InvalidInput for an unknown name, AbilityMissing where the kind of
    device does not have the key."""
    plain = key_name(name)
    key = KEYS.get(plain)
    if key is None:
        raise InvalidInput(f"There is no key “{name}”.", hint=f"Known keys: {', '.join(KEYS)}.")
    code = {Platform.CHROMIUM: key.web, Platform.ANDROID: key.android, Platform.IOS: key.ios}
    if code.get(platform) is None:
        raise AbilityMissing(f"A device of kind {platform.value} has no key “{plain}”.")
    return key
