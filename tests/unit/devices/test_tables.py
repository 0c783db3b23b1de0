"""Abilities, keys and capabilities: the tables per platform."""

import pytest

from app.devices import capabilities
from app.devices.abilities import ABILITIES, abilities_of
from app.devices.keys import ALIASES, KEYS, find_key, key_name
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.domain.messages import JsonObject
from app.domain.tasks import Ability
from app.errors import AbilityMissing, InvalidInput


def test_every_platform_has_a_row() -> None:
    assert set(ABILITIES) == set(Platform)


@pytest.mark.parametrize("platform", list(Platform))
def test_a_shell_needs_driver_and_policy(platform: Platform) -> None:
    closed = DeviceConfig(name="a", platform=platform)
    allowed = DeviceConfig(name="a", platform=platform, shell=True)
    assert Ability.SHELL not in abilities_of(closed)
    assert (Ability.SHELL in abilities_of(allowed)) == (platform is Platform.ANDROID)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Enter", "enter"),
        ("RETURN", "enter"),
        ("Page Down", "page_down"),
        ("backspace", "delete"),
        ("KEYCODE_HOME", "home"),
        (" Esc ", "escape"),
        ("arrow-left", "left"),
    ],
)
def test_spellings_of_keys(spelling: str, name: str) -> None:
    assert key_name(spelling) == name


def test_aliases_lead_to_keys_and_codes_are_unique() -> None:
    assert set(ALIASES.values()) <= set(KEYS)
    for place in (0, 1):
        codes = [key[place] for key in KEYS.values() if key[place] is not None]
        assert len(codes) == len(set(codes))


def test_keys_by_platform() -> None:
    assert find_key("enter", Platform.ANDROID).android == 66
    assert find_key("enter", Platform.CHROMIUM).web == "\ue007"
    with pytest.raises(AbilityMissing):
        find_key("volume_up", Platform.CHROMIUM)
    with pytest.raises(AbilityMissing):
        find_key("menu", Platform.IOS)
    with pytest.raises(InvalidInput, match="Known keys"):
        find_key("bang", Platform.ANDROID)


def chromium(config: DeviceConfig, appium: AppiumConfig, *, as_root: bool = True) -> JsonObject:
    return capabilities.chromium(
        config, appium, browser="/b/chromium", driver="/b/chromedriver", port=12345, as_root=as_root
    )


def test_chromium_capabilities() -> None:
    found = chromium(DeviceConfig(name="web"), AppiumConfig(page_load_timeout=7))
    assert (found["platformName"], found["browserName"]) == ("linux", "chrome")
    assert found["unhandledPromptBehavior"] == "ignore"
    assert found["timeouts"] == {"implicit": 0, "pageLoad": 7000, "script": 10_000}
    assert found["appium:chromedriverPort"] == 12345
    assert found["appium:autodownloadEnabled"] is False
    options = found["goog:chromeOptions"]
    assert options["binary"] == "/b/chromium"
    assert {"--headless=new", "--no-sandbox"} <= set(options["args"])
    assert not any(arg.startswith("--user-data-dir") for arg in options["args"])


def test_the_sandbox_stays_on_without_root() -> None:
    found = chromium(DeviceConfig(name="web"), AppiumConfig(headless=False), as_root=False)
    args = found["goog:chromeOptions"]["args"]
    assert "--no-sandbox" not in args and "--headless=new" not in args


def test_blocked_addresses_are_not_found_under_any_name() -> None:
    config = DeviceConfig(
        name="web", blocked_origins=("http://127.0.0.1:8765", "https://art.example")
    )
    args = chromium(config, AppiumConfig())["goog:chromeOptions"]["args"]
    rules = next(arg for arg in args if arg.startswith("--host-rules="))
    for pattern in ("127.*:8765", "localhost:8765", "[::1]:8765", "art.example:443"):
        assert f"MAP {pattern} ~NOTFOUND" in rules


def test_a_device_s_own_capabilities_win() -> None:
    own = {
        "udid": "emulator-5554",
        "platformName": "android",
        "goog:chromeOptions": {"args": ["--x"]},
        "timeouts": {"script": 1},
    }
    config = DeviceConfig(name="phone", capabilities=own)
    android = capabilities.android(config, AppiumConfig(new_command_timeout=300))
    assert android["appium:udid"] == "emulator-5554" and "udid" not in android
    assert android["platformName"] == "android"
    assert android["appium:newCommandTimeout"] == 300
    web = chromium(config, AppiumConfig())
    assert web["goog:chromeOptions"]["args"] == ["--x"]
    assert web["goog:chromeOptions"]["binary"] == "/b/chromium"
    assert web["timeouts"] == {"implicit": 0, "pageLoad": 15_000, "script": 1}
    ios = capabilities.ios(DeviceConfig(name="p"), AppiumConfig())
    assert (ios["platformName"], ios["appium:automationName"]) == ("iOS", "XCUITest")
