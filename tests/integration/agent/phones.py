"""Phones for scenes: a page that changes with every touch, or one that stays."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageDraw

from tests.stand_ins.appium_server import StandIn, android_source

BUTTON = (
    '<android.widget.Button text="{}" resource-id="com.example.shop:id/{}" '
    'package="com.example.shop" bounds="{}" clickable="true"/>'
)


def turn_pages(phone: StandIn) -> None:
    """Every touch shows the next page: another text, another picture."""
    own: Callable[..., Any] = phone.answer
    touches = iter(range(1, 10_000))

    def answer(method: str, path: str, body: dict[str, Any]) -> Any:
        if path == "/actions":
            show(phone, next(touches))
        return own(method, path, body)

    phone.answer = answer  # type: ignore[method-assign]
    show(phone, 0)


def stay(phone: StandIn) -> None:
    """A phone on which nothing happens."""
    vars(phone).pop("answer")


def show(phone: StandIn, page: int) -> None:
    phone.source = page_source(page)
    phone.screenshot = page_picture(page)


def page_source(page: int) -> str:
    return android_source(
        BUTTON.format("Next", "next", "[10,20][98,60]"),
        BUTTON.format(f"Page {page}", "page", "[10,80][98,120]"),
    )


def page_picture(page: int) -> bytes:
    """A picture that is not one plain colour."""
    image = Image.new("RGB", (108, 240), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 20, 98, 60), fill="navy")
    for bar in range(8):
        # Bars that no two neighbouring pages share, so that pictures tell pages apart.
        if (page * 37 + 11) >> bar & 1:
            draw.rectangle((bar * 13, 80, bar * 13 + 12, 230), fill="green")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
