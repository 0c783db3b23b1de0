"""Shorthands for tests that drive a browser phone."""

import json
from dataclasses import dataclass
from typing import Any

from app.devices.appium import AppiumDevice
from app.domain.actions import (
    DeviceAction,
    InputText,
    OpenUrl,
    Outcome,
    Point,
    Receipt,
    Tap,
    Target,
)
from app.domain.screens import DeviceView
from tests.integration.devices.pages import Site


@dataclass
class PhoneInHand:
    device: AppiumDevice
    site: Site
    view: DeviceView | None = None

    async def look(self) -> list[dict[str, Any]]:
        """The elements of the page in front."""
        self.view = await self.device.observe()
        assert self.view.source is not None, self.view.source_problem
        elements: list[dict[str, Any]] = json.loads(self.view.source.text)["elements"]
        return elements

    async def open(self, path: str) -> None:
        await self.do(OpenUrl(url=f"{self.site.url}{path}"))

    async def do(self, action: DeviceAction) -> Receipt:
        receipt = await self.device.perform(action)
        assert receipt.outcome is Outcome.OK, receipt
        return receipt

    async def find(self, words: str) -> dict[str, Any]:
        for element in await self.look():
            if words in (element["text"], element["hint"], element["id"]):
                return element
        raise AssertionError(f"{words} is not on the screen")

    async def target(self, words: str) -> Target:
        element = await self.find(words)
        assert self.view is not None
        window = self.view.window
        x = (element["x"] + element["w"] / 2) / window.width * 1000
        y = (element["y"] + element["h"] / 2) / window.height * 1000
        return Target(point=Point(x=x, y=y), text=element["text"])

    async def tap(self, words: str) -> Receipt:
        return await self.device.perform(Tap(target=await self.target(words)))

    async def type(self, words: str, text: str, **more: Any) -> Receipt:
        action = InputText(text=text, target=await self.target(words), **more)
        return await self.device.perform(action)

    async def texts(self) -> list[str]:
        return [element["text"] for element in await self.look()]
