"""`artemis doctor`: what is there, what is missing, and what to type."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import NamedTuple

from app.cli.client import Client, token_of
from app.cli.printing import safe, say
from app.devices.installation import (
    find_appium,
    find_chromedriver,
    find_chromium,
    find_node,
    project_root,
)
from app.errors import ArtemisError
from app.perception.ocr import missing_extra
from app.settings import Settings, gemini_key


class Finding(NamedTuple):
    """One thing that Artemis needs or can use."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = True


async def doctor(settings: Settings, *, as_json: bool) -> int:
    """Exit code 0 when nothing needed is missing."""
    findings = [
        _python(),
        *await asyncio.to_thread(_programs, settings),
        _pictures(settings),
        _key(settings),
        _data_dir(settings),
        await _server(settings),
    ]
    if as_json:
        say(json.dumps([f._asdict() for f in findings], ensure_ascii=False))
    else:
        for f in findings:
            mark = "✓" if f.ok else ("✕" if f.needed else "○")
            say(f"{mark} {f.name:<14} {safe(f.detail)}")
            if f.fix and not f.ok:
                say(f"  {'':<14} → {safe(f.fix)}")
    return 0 if all(f.ok for f in findings if f.needed) else 1


def _python() -> Finding:
    version = ".".join(str(n) for n in sys.version_info[:3])
    return Finding("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")


def _programs(settings: Settings) -> list[Finding]:
    appium = settings.appium_config()
    node = find_node(settings.node)
    browser = find_chromium(appium.chromium)
    found = {
        "Node.js": node,
        "Appium": find_appium(project_root(), node.path),
        "Chromium": browser,
        "ChromeDriver": find_chromedriver(appium.chromedriver, browser),
    }
    return [
        Finding(name, p.usable, f"{p.version} {p.path}" if p.usable else p.problem, p.fix)
        for name, p in found.items()
    ]


def _pictures(settings: Settings) -> Finding:
    if not settings.ocr.enabled:
        return Finding("Pictures", False, "not read: switched off (ocr.enabled)", needed=False)
    missing = missing_extra()
    detail = f"not read: {missing}" if missing else "text in them is read"
    return Finding("Pictures", not missing, detail, "make setup", needed=False)


def _key(settings: Settings) -> Finding:
    try:
        provider = settings.models_config(gemini_key()).provider
    except ArtemisError as error:
        return Finding("Model", False, error.message, error.hint)
    detail = "Gemini" if provider == "gemini" else "offline: obeys the task language"
    fix = "set GEMINI_API_KEY to use Gemini"
    return Finding("Model", provider == "gemini", detail, fix, needed=False)


def _data_dir(settings: Settings) -> Finding:
    path = settings.data_dir
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        return Finding("Data", False, f"{path}: {error.strerror}", "set ARTEMIS_DATA_DIR")
    return Finding("Data", True, str(path.absolute()))


async def _server(settings: Settings) -> Finding:
    client = Client(settings.server_url, token_of(settings))
    try:
        up = await client.answers()
    finally:
        await client.close()
    detail = f"{settings.server_url} {'answers' if up else 'does not answer'}"
    return Finding("Server", up, detail, "artemis serve --demo", needed=False)
