"""`artemis devices …`."""

from __future__ import annotations

import json

from app.cli.client import connected
from app.cli.printing import safe, say
from app.settings import Settings


async def listing(settings: Settings, *, as_json: bool) -> int:
    """Devices and what holds them."""
    async with connected(settings) as client:
        devices = await client.get("/devices")
    if as_json:
        say(json.dumps(devices, ensure_ascii=False))
        return 0
    for device in devices:
        busy = f"busy with {device['busy_with']}" if device["busy_with"] else "free"
        where = safe(device["server_url"], 40)
        say(f"{safe(device['name'], 20):<20}  {device['platform']:<9}  {where:<40}  {busy}")
    if not devices:
        say("no devices yet; `artemis serve --demo` brings the demo phone")
    return 0


async def test(settings: Settings, name: str, *, as_json: bool) -> int:
    """A real session; exit code 0 when it opened."""
    async with connected(settings, demo=name == "demo") as client:
        result = await client.post(f"/devices/{name}/test")
    result.pop("screenshot_base64", None)
    if as_json:
        say(json.dumps(result, ensure_ascii=False))
    else:
        state = "reachable" if result["ok"] else "not reachable"
        detail = safe(result["problem"] or result["description"])
        say(f"{safe(name)}: {state} in {result['seconds']:.1f} s. {detail}")
    return 0 if result["ok"] else 1


async def retire(settings: Settings, name: str) -> int:
    async with connected(settings) as client:
        await client.delete(f"/devices/{name}")
    say("retired")
    return 0
