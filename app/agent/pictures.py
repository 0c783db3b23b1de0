"""Adds what only the picture shows to a look, where the tree does not say it."""

from __future__ import annotations

import asyncio

from app.agent.run import Run
from app.domain.screens import DeviceView, PictureText, Screenshot, Size
from app.errors import PictureUnread
from app.perception import screen
from app.perception.drawn import unread_regions, with_text
from app.perception.observe import Interpreted


async def with_picture_text(run: Run, view: DeviceView, seen: Interpreted) -> Interpreted:
    """The look with its drawn words as elements; the very same look where the tree is enough."""
    rules, window = run.rules.ocr, window_of(view, seen)
    if view.screenshot is None or seen.model_image is None:
        return seen
    regions = unread_regions(seen.tree, window, rules.canvas_share, bare=seen.bare)
    if not regions:
        return seen
    read = await _read(run, view.screenshot)
    if isinstance(read, str):
        where = "" if seen.bare else "in a part of the screen "
        told = f"words that {where}stand only in the picture could not be read: {read}"
        return seen._replace(problems=(*seen.problems, told))
    tree = with_text(seen.tree, read, regions, window)
    return seen._replace(tree=tree, content_hash=screen.content_hash(tree, window))


async def _read(run: Run, screenshot: Screenshot) -> PictureText | str:
    """The text, or why there is none; a reading that is too late goes on in the background."""
    deadline = run.rules.ocr.deadline
    if run.ports.ocr is None:
        return "there is no reader"
    try:
        async with asyncio.timeout(deadline):
            return await run.ports.ocr.read(screenshot, urgent=True)
    except TimeoutError:
        return f"it took longer than {deadline:g} s"
    except PictureUnread as error:
        return error.message


def window_of(view: DeviceView, seen: Interpreted) -> Size:
    """The window; where the device gives none, a bare screen is measured in picture pixels."""
    if seen.bare and view.window.width <= 0 and seen.image_size is not None:
        return seen.image_size
    return view.window
