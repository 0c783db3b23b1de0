"""What each kind of device can do: one table."""

from __future__ import annotations

from app.domain.config import DeviceConfig, Platform
from app.domain.tasks import Ability

_EVERY_PHONE = frozenset(
    {
        Ability.TOUCH,
        Ability.TEXT,
        Ability.KEYS,
        Ability.BACK,
        Ability.HOME,
        Ability.APPS,
        Ability.URLS,
        Ability.ORIENTATION,
        Ability.ALERTS,
    }
)

ABILITIES: dict[Platform, frozenset[Ability]] = {
    # A browser has no on-screen keyboard and no shell.
    Platform.CHROMIUM: _EVERY_PHONE,
    Platform.ANDROID: _EVERY_PHONE | {Ability.KEYBOARD, Ability.SHELL},
    Platform.IOS: _EVERY_PHONE | {Ability.KEYBOARD},
    # A recording answers what was recorded and leaves everything else without effect.
    Platform.REPLAY: _EVERY_PHONE - {Ability.ORIENTATION, Ability.ALERTS},
}


def abilities_of(config: DeviceConfig) -> frozenset[Ability]:
    """The table's row, less the shell where the device's policy does not allow it."""
    row = ABILITIES[config.platform]
    return row if config.shell else row - {Ability.SHELL}
