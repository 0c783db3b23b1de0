"""Tries a device: a real session, one look, and what it gave."""

from __future__ import annotations

from typing import NamedTuple

from app.domain.ports import Clock, Device
from app.errors import ArtemisError


class DeviceTest(NamedTuple):
    """What a real session with a device gave."""

    ok: bool
    seconds: float
    description: str
    problem: str
    screenshot: bytes | None


async def test_session(device: Device, clock: Clock) -> DeviceTest:
    """Opens, looks and closes; what went wrong is part of the result."""
    began = clock.monotonic()
    try:
        await device.open()
        view = await device.observe()
    except ArtemisError as error:
        return DeviceTest(False, clock.monotonic() - began, "", str(error), None)
    finally:
        await device.close()
    shot = view.screenshot.data if view.screenshot is not None else None
    problem = "; ".join(p for p in (view.screenshot_problem, view.source_problem) if p)
    return DeviceTest(True, clock.monotonic() - began, device.description, problem, shot)
