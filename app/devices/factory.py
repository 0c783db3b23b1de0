"""Makes the device that a configuration describes."""

from __future__ import annotations

from app.devices.appium import AppiumDevice
from app.devices.replay import ReplayDevice
from app.devices.secrets import Secrets
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.domain.ports import Device


def open_device(config: DeviceConfig, appium: AppiumConfig, secrets: Secrets) -> Device:
    """A device that is not connected yet: its `open` does that. Raises ConfigurationError."""
    if config.platform is Platform.REPLAY:
        return ReplayDevice(config)
    return AppiumDevice(config, appium, secrets)
