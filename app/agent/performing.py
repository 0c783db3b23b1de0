"""Performs an action and waits until the screen settles."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from app.agent.perceiving import Look, keep, look
from app.agent.run import Run
from app.agent.tools.actions import SWIPES
from app.domain.actions import Action, Finish, GiveUp, Outcome, Receipt, ScrollTo, Swipe, Wait
from app.domain.screens import DeviceView, Observation
from app.errors import DeviceUnreachable, SessionLost
from app.perception.observe import Interpreted

LOST_CODES = frozenset({SessionLost.code, DeviceUnreachable.code})
"""Codes of receipts whose session is gone."""
PERFORM_DEADLINE = 90.0
"""Seconds for one action, the device's own deadlines included."""


class Settled(NamedTuple):
    """The screen after an action."""

    observation: Observation
    moving: bool
    """It was still changing when the time was up."""


async def perform(run: Run, action: Action) -> Receipt:
    """The device's word on one action; an unknown outcome is a receipt, never an exception."""
    match action:
        case Wait(seconds=seconds):
            await run.sleep(seconds)
            return Receipt(outcome=Outcome.OK, message=f"waited {seconds:g} s", seconds=seconds)
        case ScrollTo():
            return await _scroll_to(run, action)
        case Finish() | GiveUp():
            raise RuntimeError("the end of a task is not performed")
        case _:
            pass
    try:
        async with asyncio.timeout(PERFORM_DEADLINE):
            return await run.ports.device.perform(action)
    except TimeoutError:
        return Receipt(
            outcome=Outcome.UNKNOWN,
            code="device_timeout",
            message=f"no answer within {PERFORM_DEADLINE:.0f} s; it may have happened",
            seconds=PERFORM_DEADLINE,
        )
    except (SessionLost, DeviceUnreachable) as error:
        return Receipt(outcome=Outcome.UNKNOWN, code=error.code, message=error.message)


async def _scroll_to(run: Run, action: ScrollTo) -> Receipt:
    """Swipes until the text is in view or the page does not move any more."""
    start, end = SWIPES[action.direction.value]
    swipe = Swipe(start=start, end=end)
    wanted = " ".join(action.text.split()).casefold()
    before = ""
    for swipes in range(action.max_swipes + 1):
        _, seen = await look(run)
        if wanted in _visible(seen):
            return Receipt(outcome=Outcome.OK, message=f"in view after {swipes} swipes")
        if seen.content_hash and seen.content_hash == before:
            return Receipt(
                outcome=Outcome.ERROR,
                code="not_found",
                message=f"“{action.text}” is not there: the end of the page was reached",
            )
        before = seen.content_hash
        if swipes < action.max_swipes:
            receipt = await run.ports.device.perform(swipe)
            if receipt.outcome is not Outcome.OK:
                return receipt
            await run.sleep(run.rules.perception.settle_interval)
    return Receipt(
        outcome=Outcome.ERROR,
        code="not_found",
        message=f"“{action.text}” is not in view after {action.max_swipes} swipes",
    )


def _visible(seen: Interpreted) -> str:
    texts = (t for e in seen.tree.elements if e.visible for t in (e.text, e.value))
    return " ".join(" \n ".join(texts).split()).casefold()


async def settle(run: Run) -> Settled:
    """Looks until two looks in a row are equal, within bounds; raises SessionLost."""
    rules, clock = run.rules.perception, run.ports.clock
    until = clock.monotonic() + rules.settle_timeout
    toasts: dict[str, None] = {}
    notes: dict[str, None] = {}
    view, seen = await look(run)
    moving = True
    while moving:
        toasts.update(dict.fromkeys(view.toasts))
        notes.update(dict.fromkeys(view.notes))
        if clock.monotonic() >= until:
            break
        await clock.sleep(rules.settle_interval)
        later, later_seen = await look(run, Look(view, seen))
        moving = not _same(view, seen, later, later_seen)
        view, seen = later, later_seen
    toasts.update(dict.fromkeys(view.toasts))
    notes.update(dict.fromkeys(view.notes))
    view = view.model_copy(update={"toasts": tuple(toasts), "notes": tuple(notes)})
    observation = await keep(run, view, seen)
    run.observation, run.observed_at = observation, clock.monotonic()
    return Settled(observation, moving)


def _same(a: DeviceView, seen_a: Interpreted, b: DeviceView, seen_b: Interpreted) -> bool:
    return (
        seen_a.content_hash == seen_b.content_hash
        and seen_a.dhash == seen_b.dhash
        and seen_a.signature == seen_b.signature
        and a.alert == b.alert
        and a.url == b.url
    )
