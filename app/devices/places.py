"""Which apps and addresses a device may open, and what an app's name stands for."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from app.errors import ConfigurationError, Forbidden, InvalidInput

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
LOOPBACK = "loopback"
_NEVER = frozenset(
    {
        "javascript",
        "data",
        "file",
        "content",
        "chrome",
        "view-source",
        "devtools",
        "blob",
        "filesystem",
        "intent",
        "chrome-extension",
    }
)
"""Schemes that reach the device's own files, its browser's insides or run code."""


class Origin(NamedTuple):
    """Where a page comes from; every spelling of this machine's own address is one host."""

    scheme: str
    host: str
    port: int


def origin_of(url: str) -> Origin | None:
    """None for an address that has no host or cannot be read."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return None
    return Origin(parts.scheme.lower(), _plain_host(host), port) if host else None


def _plain_host(host: str) -> str:
    """Browsers read 127.1, 0x7f.1 and 2130706433 as addresses too; so do we."""
    if host == "localhost" or host.endswith(".localhost"):
        return LOOPBACK
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, UnicodeEncodeError):
            return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return LOOPBACK if address.is_loopback or address.is_unspecified else str(address)


class Places:
    """The rules of one device."""

    def __init__(
        self,
        apps: Mapping[str, str],
        allowed: Sequence[str] = (),
        blocked_origins: Sequence[str] = (),
    ) -> None:
        self._apps = dict(apps)
        self._allowed = [self._apps.get(entry, entry) for entry in allowed]
        self._blocked = {
            (origin.host, origin.port)
            for origin in map(origin_of, blocked_origins)
            if origin is not None
        }

    def blocked(self, url: str) -> bool:
        """Whether a page must be left at once, however it was reached."""
        scheme = url.strip().partition(":")[0].lower()
        origin = origin_of(url)
        if origin is None:
            return scheme in _NEVER
        return scheme in _NEVER or (origin.host, origin.port) in self._blocked

    def check(self, target: str) -> None:
        """Raises Forbidden when launch_app or open_url must not go there."""
        if self.blocked(target):
            raise Forbidden(f"The device may not open {target[:200]}.")
        if self._allowed and not any(_covers(entry, target) for entry in self._allowed):
            raise Forbidden(
                f"The device may not open {target[:200]}.",
                hint="Its allowed apps do not cover it.",
            )

    def web_address(self, url: str) -> str:
        """The address as a browser takes it; raises InvalidInput or Forbidden."""
        address = url.strip()
        if any(ord(character) < 33 for character in address):
            raise InvalidInput("An address holds no spaces or line breaks.")
        # `host:8000/…` would be read as a scheme.
        if "://" not in address and not address.startswith(("about:", "data:", "javascript:")):
            address = f"https://{address}"
        scheme = address.partition(":")[0].lower()
        if address != "about:blank" and (
            scheme not in ("http", "https") or origin_of(address) is None
        ):
            raise Forbidden(f"Only http and https addresses can be opened, not {url[:100]}.")
        self.check(address)
        return address

    def app(self, name: str) -> str:
        """What an app's name stands for: package, bundle id or URL; raises InvalidInput."""
        target = self._find(name)
        if target is None:
            known = ", ".join(self._apps) or "none"
            raise InvalidInput(f"There is no app “{name}”.", hint=f"Known apps: {known}.")
        self.check(target)
        return target

    def _find(self, name: str) -> str | None:
        wanted = name.strip().casefold()
        for known, target in self._apps.items():
            if wanted in (known.casefold(), target.casefold()):
                return target
        if "://" in name or ("." in name and " " not in name.strip()):
            return name.strip()
        return None

    def current_app(self, place: str) -> str:
        """The name of the app with the longest target that `place` lies under."""
        best = max(
            ((len(target), name) for name, target in self._apps.items() if _covers(target, place)),
            default=(0, ""),
        )
        return best[1]


def _covers(entry: str, target: str) -> bool:
    """Whether `target` is `entry` or lies under it; never merely begins with the same letters."""
    if "://" not in entry:
        bare = entry.partition("/")[0].rstrip("*").rstrip(".")
        package = target.partition("/")[0]
        return package == bare or package.startswith(f"{bare}.")
    theirs, ours = origin_of(target), origin_of(entry)
    if theirs is None or theirs != ours:
        return False
    path = urlsplit(entry).path
    return (urlsplit(target).path or "/").startswith(path or "/")


def check_server(url: str, allowed: Sequence[str]) -> None:
    """Raises ConfigurationError unless a device may use the Appium server at `url`."""
    origin = origin_of(url)
    if origin is None or origin.scheme not in ("http", "https"):
        raise ConfigurationError(f"“{bare_url(url)}” is not the address of an Appium server.")
    for entry in allowed:
        ours = urlsplit(entry)
        same_host = (origin_of(entry) or Origin("", "", 0)).host == origin.host
        same_port = ours.port is None or ours.port == origin.port
        below = (urlsplit(url).path or "/").startswith(ours.path or "/")
        if same_host and same_port and below and ours.scheme == origin.scheme:
            return
    raise ConfigurationError(
        f"The Appium server {bare_url(url)} is not among the allowed ones.",
        hint="Add the beginning of its address to appium.allowed_servers.",
    )


def bare_url(url: str) -> str:
    """An address without user name and password, for messages."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(unreadable address)"
    return parts._replace(netloc=host, query="", fragment="").geturl()


def is_local(url: str) -> bool:
    """Whether the server runs on this machine, so that its processes can be ended by id."""
    origin = origin_of(url)
    return origin is not None and origin.host == LOOPBACK
