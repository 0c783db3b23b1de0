"""Looks at the device for a node: observes, parses, stores the evidence."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from app.agent.pictures import window_of, with_picture_text
from app.agent.run import Run
from app.domain.memory import TextKind
from app.domain.screens import DeviceView, Observation, UiSource
from app.errors import SessionLost
from app.perception import observe as perception
from app.perception.observe import Interpreted
from app.perception.redact import without_passwords

OBSERVE_DEADLINE = 60.0
"""Seconds for one look, the device's own deadlines included."""
INDEX_CHARACTERS = 20_000
"""Screen text indexed per step; the whole tree stays in its artifact."""


class Look(NamedTuple):
    """One look at the device and what it shows."""

    view: DeviceView
    seen: Interpreted


async def look(run: Run, before: Look | None = None) -> Look:
    """One look at the device, not stored; one equal to that before is not read again.

    Raises SessionLost.
    """
    try:
        async with asyncio.timeout(OBSERVE_DEADLINE):
            view = await run.ports.device.observe()
    except TimeoutError:
        raise SessionLost(f"the device gave no answer within {OBSERVE_DEADLINE:.0f} s") from None
    if before is not None and _equal(view, before.view):
        return Look(view, before.seen)
    seen = await asyncio.to_thread(perception.interpret, view, run.rules.perception)
    return Look(view, seen)


def _equal(a: DeviceView, b: DeviceView) -> bool:
    """Whether two looks show the same, whenever they were taken."""
    return a.model_copy(update={"taken_at": b.taken_at}) == b


async def keep(run: Run, view: DeviceView, seen: Interpreted) -> Observation:
    """Stores a look's evidence and gives the observation that refers to it.

    Words that only the picture shows become part of it here, so that what is compared with it
    later was seen with the same eyes.
    """
    seen = await with_picture_text(run, view, seen)
    put = run.ports.artifacts.put
    shot, source, shown = view.screenshot, view.source, seen.model_image
    return Observation(
        observation_id=run.ports.new_id(),
        taken_at=view.taken_at,
        tree=seen.tree,
        window=window_of(view, seen),
        orientation=view.orientation,
        package=view.package or seen.tree.package,
        activity=view.activity,
        url=view.url,
        title=view.title,
        alert=view.alert,
        keyboard_shown=view.keyboard_shown,
        toasts=view.toasts,
        windows=view.windows,
        problems=seen.problems,
        notes=view.notes,
        screenshot=await put(shot.data, shot.media_type) if shot is not None else None,
        model_image=await put(shown.data, "image/jpeg") if shown is not None else None,
        image_size=seen.image_size,
        black=seen.black,
        source_ref=await put(_readable(source), "text/plain; charset=utf-8")
        if source is not None
        else None,
        tree_ref=await put(seen.tree.model_dump_json().encode(), "application/json"),
        dhash=seen.dhash,
        signature=seen.signature,
        content_hash=seen.content_hash,
        element_count=len(seen.tree.elements),
    )


def _readable(source: UiSource) -> bytes:
    """The raw source for the record, without what stands in password fields."""
    return without_passwords(source).text.encode(errors="replace")


def index_screen(run: Run, seen: Observation) -> None:
    """Makes a decision screen's texts findable under the step that saw them."""
    run.index(TextKind.SCREEN, screen_text(seen))
    run.index(TextKind.APP, app_text(seen))


def screen_text(seen: Observation) -> str:
    """What can be read on a screen, line by line."""
    lines = [seen.title, seen.alert.text if seen.alert else "", *seen.toasts]
    for element in seen.tree.elements:
        lines.append(" ".join(t for t in (element.text, element.value, element.hint) if t))
    return "\n".join(dict.fromkeys(line for line in lines if line))[:INDEX_CHARACTERS]


def app_text(seen: Observation) -> str:
    """What is in front, by its names."""
    return " ".join(t for t in (seen.package, seen.activity, seen.url) if t)
