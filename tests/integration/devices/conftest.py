"""Open browser phones over the test site."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from app.devices.appium import AppiumDevice
from app.domain.actions import Home, Outcome, SetOrientation
from app.domain.config import AppiumConfig, DeviceConfig
from app.errors import DeviceError
from tests.integration.devices.pages import Site, serve
from tests.integration.devices.phone import PhoneInHand

APPIUM = AppiumConfig(call_timeout=10, page_load_timeout=2.5, script_timeout=2)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def appium_config() -> AppiumConfig:
    return APPIUM


def new_device(appium_url: str, site: Site) -> AppiumDevice:
    config = DeviceConfig(
        name="test",
        server_url=appium_url,
        apps={"Start": f"{site.url}/", "List": f"{site.url}/list"},
        home=f"{site.url}/",
        blocked_origins=(site.console,),
    )
    return AppiumDevice(config, APPIUM, {"pin": "s3cret-4711"}.get)


@pytest.fixture(scope="session")
def shared_device(appium_url: str, site: Site) -> Iterator[AppiumDevice]:
    """One browser for most tests: its thread serves whatever loop calls."""
    device = new_device(appium_url, site)
    asyncio.run(device.open())
    yield device
    asyncio.run(device.close())


@pytest.fixture
async def phone(shared_device: AppiumDevice, site: Site) -> PhoneInHand:
    """Upright and at its home page, whatever the test before did to it."""
    try:
        await shared_device.observe()
        await shared_device.perform(SetOrientation(orientation="portrait"))
        receipt = await shared_device.perform(Home())
        ready = receipt.outcome is Outcome.OK
    except DeviceError:
        ready = False
    if not ready:
        await shared_device.open()
    site.console_hits.clear()
    return PhoneInHand(shared_device, site)


@pytest.fixture
async def new_phone(appium_url: str, site: Site) -> AsyncIterator[PhoneInHand]:
    """A browser of its own, without a history."""
    device = new_device(appium_url, site)
    await device.open()
    try:
        yield PhoneInHand(device, site)
    finally:
        await device.close()
