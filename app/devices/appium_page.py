"""What a web page looks like right now: its elements, its short messages, its picture."""

from __future__ import annotations

import json
from importlib.resources import files

from app.devices.appium_errors import AlertOpen, NoAnswer
from app.devices.appium_wire import Wire
from app.devices.capabilities import HEIGHT, WIDTH
from app.devices.pictures import Picture, read_picture
from app.domain.messages import JsonObject
from app.domain.screens import Screenshot
from app.errors import DeviceError, SessionLost

WORLD = "artemis"
"""Name of the isolated world: page scripts neither see nor change what runs in it."""
LIMITS = {"nodes": 30_000, "elements": 1_500, "text": 200, "chars": 400_000}
QUALITY = 90
"""A PNG of a page with a picture in it takes four times as long and five times the space
(400 ms and 610 kB against 90 ms and 106 kB); letters stay sharp at this quality."""
GLANCE_SCALE = 0.5


class WebPage:
    """Reads the page in front of one Chromium session."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        folder = files("app.devices")
        self._collector = folder.joinpath("collector.js").read_text(encoding="utf-8")
        self._toasts = folder.joinpath("toasts.js").read_text(encoding="utf-8")

    def watch_toasts(self) -> None:
        """From the next page of this window on, messages that vanish are remembered."""
        self._wire.cdp(
            "Page.addScriptToEvaluateOnNewDocument", source=self._toasts, worldName=WORLD
        )

    def collect(self, frame: str) -> tuple[JsonObject, str]:
        """The page's description, or an empty one with the reason. A page in the middle of a
        navigation fails once and answers the second time."""
        problem = ""
        for _ in range(2):
            try:
                return self._collect(frame), ""
            except (SessionLost, AlertOpen, NoAnswer):
                raise
            except DeviceError as error:
                problem = error.message
        return {}, problem

    def _collect(self, frame: str) -> JsonObject:
        self._wire.send("switchToFrame", {"id": None})
        world = self._wire.cdp("Page.createIsolatedWorld", frameId=frame, worldName=WORLD)
        answer = self._wire.cdp(
            "Runtime.evaluate",
            contextId=world.get("executionContextId"),
            returnByValue=True,
            expression=f"(function (limits) {{{self._collector}\n}})({json.dumps(LIMITS)})",
        )
        text = answer.get("result", {}).get("value")
        if not isinstance(text, str):
            details = answer.get("exceptionDetails", {})
            words = details.get("exception", {}).get("description") or details.get("text", "")
            raise DeviceError(f"The page could not be read: {str(words)[:300]}")
        page: JsonObject = json.loads(text)
        page["json"] = text
        return page

    def picture(self) -> Picture:
        try:
            answer = self._wire.cdp("Page.captureScreenshot", format="jpeg", quality=QUALITY)
        except (SessionLost, AlertOpen, NoAnswer):
            raise
        except DeviceError as error:
            return Picture(None, f"the screenshot was refused: {error.message}")
        return read_picture(answer.get("data"))

    def glance(self) -> Screenshot | None:
        """A small JPEG: 37 ms where the whole PNG takes 70."""
        metrics = self._wire.cdp("Page.getLayoutMetrics").get("cssVisualViewport", {})
        clip = {
            "x": metrics.get("pageX", 0),
            "y": metrics.get("pageY", 0),
            "width": metrics.get("clientWidth", WIDTH),
            "height": metrics.get("clientHeight", HEIGHT),
            "scale": GLANCE_SCALE,
        }
        try:
            answer = self._wire.cdp("Page.captureScreenshot", format="jpeg", quality=40, clip=clip)
        except AlertOpen:
            return None
        return read_picture(answer.get("data")).screenshot
