"""Finding an element: on the screen, in the full tree, then by scrolling; always bounded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from app.domain.messages import JsonObject
from app.llm.offline.elements import Shown
from app.llm.offline.turn import GivesUp, Move, Turn

Match = Callable[[Sequence[Shown]], Shown | None]

SEEKING = ("", "waited", "scrolled", "scrolledback")
"""Stages of a search that the place remembers, in order."""


def seek(turn: Turn, label: str, match: Match) -> Generator[Move, JsonObject, Shown]:
    """The element; otherwise ends the turn by the next thing to try, or gives up."""
    if (found := match(turn.view.elements)) is not None:
        return found
    further = yield from turn.explore(label)
    elsewhere = match(further)
    if elsewhere is not None and elsewhere.on_screen:
        return elsewhere
    stage = turn.place.stage if turn.place.stage in SEEKING else ""
    if stage == "" and elsewhere is None:
        # Perhaps it is only late.
        yield from turn.act("wait", {"seconds": 1}, stage="waited")
    if stage in ("", "waited"):
        yield from turn.act("scroll_to", {"text": label}, stage="scrolled")
    if stage == "scrolled":
        args: JsonObject = {"text": label, "direction": "down"}
        yield from turn.act("scroll_to", args, stage="scrolledback")
    where = f" on “{turn.view.page}”" if turn.view.page else ""
    seen = ", ".join(f"“{e.text}”" for e in turn.view.elements[:8] if e.text)
    raise GivesUp(f"I cannot find “{label}”{where}. I see {seen or 'no text'}.")
