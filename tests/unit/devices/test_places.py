"""What a device may open, and which servers it may use."""

import pytest

from app.devices.places import Places, bare_url, check_server, is_local
from app.errors import ConfigurationError, Forbidden, InvalidInput

CONSOLE = "http://127.0.0.1:8765"
APPS = {
    "Launcher": "http://127.0.0.1:9000/demo/",
    "Shop": "http://127.0.0.1:9000/demo/shop/",
    "Maps": "com.maps",
}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8765/",
        "http://localhost:8765/tasks",
        "http://LOCALHOST:8765",
        "http://localhost.:8765",
        "http://console.localhost:8765",
        "https://127.0.0.1:8765",
        "http://user:pass@127.0.0.1:8765/",
        "http://127.1:8765",
        "http://2130706433:8765",
        "http://0x7f000001:8765",
        "http://0177.0.0.1:8765",
        "http://127.9.9.9:8765",
        "http://0.0.0.0:8765",
        "http://[::1]:8765/",
        "http://[::ffff:127.0.0.1]:8765/",
        " http://127.0.0.1:8765",
        "ws://127.0.0.1:8765/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "view-source:http://example.org",
        "chrome://settings",
    ],
)
def test_the_console_is_blocked_under_every_spelling(url: str) -> None:
    assert Places({}, (), (CONSOLE,)).blocked(url)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8766/", "http://example.org:8765/", "https://a.example", "about:blank", ""],
)
def test_other_places_are_not(url: str) -> None:
    assert not Places({}, (), (CONSOLE,)).blocked(url)


def test_addresses_are_made_whole_or_refused() -> None:
    places = Places(APPS, (), (CONSOLE,))
    assert places.web_address(" example.org/x ") == "https://example.org/x"
    assert places.web_address("http://example.org") == "http://example.org"
    for url in ("localhost:8765", "ftp://example.org", "http://", "http://[::1"):
        with pytest.raises(Forbidden):
            places.web_address(url)
    with pytest.raises(InvalidInput):
        places.web_address("http://example.org/a b")


def test_apps_by_name_and_target() -> None:
    places = Places(APPS)
    assert places.app("shop") == APPS["Shop"]
    assert places.app("COM.maps") == "com.maps"
    assert places.app("org.other.app") == "org.other.app"
    with pytest.raises(InvalidInput, match="Launcher, Shop, Maps"):
        places.app("Banking")


@pytest.mark.parametrize(
    ("place", "app"),
    [
        ("http://localhost:9000/demo/shop/cart?x=1", "Shop"),
        ("http://127.0.0.1:9000/demo/notes/", "Launcher"),
        ("http://127.0.0.1:90/demo/shop/", ""),
        ("com.maps", "Maps"),
        ("com.mapsters", ""),
        ("", ""),
    ],
)
def test_the_app_in_front_has_the_longest_target(place: str, app: str) -> None:
    assert Places(APPS).current_app(place) == app


def test_allowed_apps_are_beginnings_of_whole_parts() -> None:
    places = Places(APPS, ("Shop", "com.maps", "https://a.example/docs"))
    for target in (APPS["Shop"] + "cart", "com.maps.lite", "https://a.example/docs/1"):
        places.check(target)
    for target in (
        APPS["Launcher"],
        "com.mapsters",
        "https://a.example/",
        "https://a.example.evil.example/docs",
        "https://a.example@evil.example/docs",
        "http://a.example/docs",
    ):
        with pytest.raises(Forbidden):
            places.check(target)


LOCAL = ("http://127.0.0.1", "http://[::1]")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:4723", "http://localhost:4444/wd/hub", "http://[::1]:4723"]
)
def test_local_servers_are_allowed(url: str) -> None:
    check_server(url, LOCAL)
    assert is_local(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.example:4723",
        "http://127.0.0.1@evil.example",
        "https://127.0.0.1:4723",
        "http://169.254.169.254/",
        "file:///x",
        "4723",
    ],
)
def test_other_servers_are_not(url: str) -> None:
    with pytest.raises(ConfigurationError):
        check_server(url, LOCAL)


def test_a_farm_is_allowed_by_the_beginning_of_its_address() -> None:
    allowed = ("https://farm.example/wd",)
    check_server("https://me:key@farm.example/wd/hub", allowed)
    for url in (
        "https://farm.example/other",
        "https://farm.example:444/wd",
        "http://farm.example/wd",
    ):
        if url == "https://farm.example:444/wd":
            check_server(url, allowed)  # no port named: any
            continue
        with pytest.raises(ConfigurationError):
            check_server(url, allowed)
    assert bare_url("https://me:key@farm.example/wd?t=1") == "https://farm.example/wd"
