"""An open browser phone over the test site."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.devices.appium import AppiumDevice
from app.domain.config import AppiumConfig, DeviceConfig
from tests.integration.devices.pages import Site, serve
from tests.integration.devices.phone import PhoneInHand


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def appium_config() -> AppiumConfig:
    return AppiumConfig(call_timeout=12, page_load_timeout=4, script_timeout=3)


@pytest.fixture
async def phone(
    appium_url: str, site: Site, appium_config: AppiumConfig
) -> AsyncIterator[PhoneInHand]:
    config = DeviceConfig(
        name="test",
        server_url=appium_url,
        apps={"Start": f"{site.url}/", "List": f"{site.url}/list"},
        home=f"{site.url}/",
        blocked_origins=(site.console,),
    )
    secrets = {"pin": "s3cret-4711"}
    device = AppiumDevice(config, appium_config, secrets.get)
    await device.open()
    try:
        yield PhoneInHand(device, site)
    finally:
        await device.close()
