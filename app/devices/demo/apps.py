"""The names and addresses of the demo phone's apps."""

from typing import NamedTuple


class App(NamedTuple):
    name: str
    path: str
    """Below the device's own address."""
    icon: str
    colour: str
    docked: bool = False
    """Shown in the dock at the bottom of the launcher instead of its grid."""


LAUNCHER = App("Launcher", "", "home", "slate")
ON_LAUNCHER = (
    App("Settings", "settings/", "gear", "slate", docked=True),
    App("Contacts", "contacts/", "person", "blue", docked=True),
    App("Notes", "notes/", "note", "amber"),
    App("Shop", "shop/", "bag", "green"),
    App("Messages", "messages/", "bubble", "teal", docked=True),
    App("Clock", "clock/", "clock", "indigo", docked=True),
    App("Catalogue", "catalogue/", "list", "rose"),
    App("Dialogs", "dialogs/", "layers", "violet"),
    App("Account", "account/", "key", "blue"),
    App("Reader", "reader/", "book", "amber"),
    App("Gauge", "gauge/", "gauge", "green"),
    App("Slow page", "slow/", "hourglass", "slate"),
    App("New tab", "tabs/", "tabs", "teal"),
    App("Faults", "faults/", "warning", "rose"),
)

APPS: dict[str, str] = {app.name: app.path for app in (LAUNCHER, *ON_LAUNCHER)}


def demo_apps(base_url: str, device: str) -> dict[str, str]:
    """App name to full address, as a device's `apps` table wants it."""
    return {name: f"{base_url.rstrip('/')}/{device}/{path}" for name, path in APPS.items()}
