"""The capabilities a session is opened with, per platform."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.devices.places import LOOPBACK, origin_of
from app.domain.config import AppiumConfig, DeviceConfig
from app.domain.messages import JsonObject

WIDTH, HEIGHT, RATIO = 412, 915, 2.0
"""The emulated phone: CSS pixels and device pixels per CSS pixel."""

_BROWSER_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_LOOPBACK_NAMES = ("localhost", "*.localhost", "127.*", "[::1]", "0.0.0.0", "[::]")


def host_rules(blocked_origins: tuple[str, ...]) -> str:
    """A browser switch by which blocked addresses are not found, also for links and frames."""
    rules = []
    for url in blocked_origins:
        origin = origin_of(url)
        if origin is None:
            continue
        names = _LOOPBACK_NAMES if origin.host == LOOPBACK else (urlsplit(url).hostname or "",)
        rules += [f"MAP {name}:{origin.port} ~NOTFOUND" for name in names]
    return ", ".join(rules)


def chromium(
    config: DeviceConfig,
    appium: AppiumConfig,
    *,
    browser: str,
    driver: str,
    port: int,
    as_root: bool,
) -> JsonObject:
    """For Appium's Chromium driver; platform and browser name are matched letter by letter."""
    args = [arg for arg in _BROWSER_ARGS if as_root or arg != "--no-sandbox"]
    if appium.headless:
        args.insert(0, "--headless=new")
    if rules := host_rules(config.blocked_origins):
        args.append(f"--host-rules={rules}")
    options: JsonObject = {
        "args": [*args],
        "mobileEmulation": {
            "deviceMetrics": {
                "width": WIDTH,
                "height": HEIGHT,
                "pixelRatio": RATIO,
                "touch": True,
                "mobile": True,
            },
            # Without a userAgent the driver makes one that names the browser's own version.
            "clientHints": {"platform": "Android", "mobile": True},
        },
    }
    if browser:
        options["binary"] = browser
    capabilities: JsonObject = {
        "platformName": "linux",
        "browserName": "chrome",
        "appium:automationName": "Chromium",
        "appium:deviceName": config.name,
        "appium:autodownloadEnabled": False,
        "appium:newCommandTimeout": round(appium.new_command_timeout),
        "unhandledPromptBehavior": "ignore",
        "timeouts": {
            "implicit": 0,
            "pageLoad": round(appium.page_load_timeout * 1000),
            "script": round(appium.script_timeout * 1000),
        },
        "goog:chromeOptions": options,
    }
    if driver:
        capabilities["appium:executable"] = driver
    if port:
        capabilities["appium:chromedriverPort"] = port
    return merged(capabilities, config.capabilities)


def android(config: DeviceConfig, appium: AppiumConfig) -> JsonObject:
    """For the UiAutomator2 driver."""
    base: JsonObject = {
        "platformName": "Android",
        "appium:automationName": "UiAutomator2",
        "appium:deviceName": config.name,
        "appium:newCommandTimeout": round(appium.new_command_timeout),
        "appium:autoGrantPermissions": False,
        "appium:noReset": True,
        "appium:disableWindowAnimation": True,
        # The idle wait is what makes a dump fail on screens that never stop moving.
        "appium:settings[waitForIdleTimeout]": 1000,
        "appium:settings[enableTopmostWindowFromActivePackage]": True,
    }
    return merged(base, config.capabilities)


def ios(config: DeviceConfig, appium: AppiumConfig) -> JsonObject:
    """For the XCUITest driver."""
    base: JsonObject = {
        "platformName": "iOS",
        "appium:automationName": "XCUITest",
        "appium:deviceName": config.name,
        "appium:newCommandTimeout": round(appium.new_command_timeout),
        "appium:noReset": True,
        "appium:settings[snapshotMaxDepth]": 60,
        "appium:settings[animationCoolOffTimeout]": 1,
    }
    return merged(base, config.capabilities)


def merged(base: JsonObject, over: JsonObject) -> JsonObject:
    """The device's own capabilities win; nested objects are merged, lists replaced."""
    named = {n if ":" in n or n in _STANDARD else f"appium:{n}": v for n, v in over.items()}
    return _merge(base, named)


def _merge(base: JsonObject, over: JsonObject) -> JsonObject:
    result: JsonObject = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = _merge(old, value) if isinstance(old, dict) and both else value
    return result


_STANDARD = frozenset(
    {
        "platformName",
        "browserName",
        "browserVersion",
        "acceptInsecureCerts",
        "pageLoadStrategy",
        "proxy",
        "setWindowRect",
        "strictFileInteractability",
        "timeouts",
        "unhandledPromptBehavior",
        "webSocketUrl",
    }
)
