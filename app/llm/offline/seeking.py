"""Finding an element: on the screen, in the full tree, then by scrolling; always bounded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from app.domain.messages import JsonObject
from app.llm.offline.elements import Shown
from app.llm.offline.turn import GivesUp, Move, Moves, Turn

Match = Callable[[Sequence[Shown]], Shown | None]

SEEKING = ("waited", "scrolledup", "scrolled", "scrolledback")
"""Stages of a search that the place remembers, in order."""
SCROLLING = SEEKING[1:]
MAX_SCROLLS = 20
"""Times that scrolling one way is asked for again while there is more to see."""


def seek(turn: Turn, label: str, match: Match) -> Generator[Move, JsonObject, Shown]:
    """The element; otherwise ends the turn by the next thing to try, or gives up."""
    if (found := match(turn.view.elements)) is not None:
        _search_is_over(turn)
        return found
    further = yield from turn.explore(label)
    elsewhere = match(further)
    if elsewhere is not None and elsewhere.on_screen:
        _search_is_over(turn)
        return elsewhere
    if turn.place.stage not in SEEKING and elsewhere is None:
        # Perhaps it is only late.
        yield from turn.act("wait", {"seconds": 1}, stage="waited")
    yield from scroll_on(turn, label, above=elsewhere is not None and "above" in elsewhere.flags)
    where = f" on “{turn.view.page}”" if turn.view.page else ""
    seen = ", ".join(f"“{e.text}”" for e in turn.view.elements[:8] if e.text)
    raise GivesUp(f"I cannot find “{label}”{where}. I see {seen or 'no text'}.")


def scroll_on(turn: Turn, label: str, *, above: bool = False) -> Moves:
    """Scrolls down the page to its end, then back up; returns when both brought nothing.

    What is known to be `above` is looked for that way first.
    """
    stage = turn.place.stage if turn.place.stage in SCROLLING else ""
    more = bool(stage) and _more_to_see(turn)
    if stage and more:
        turn.place = turn.place.again()
        yield from turn.act("scroll_to", _way(label, stage), stage=stage)
    first = "scrolledup" if above else "scrolled"
    if following := {"": first, "scrolledup": "scrolled", "scrolled": "scrolledback"}.get(stage):
        _search_is_over(turn)
        yield from turn.act("scroll_to", _way(label, following), stage=following)


def _way(label: str, stage: str) -> JsonObject:
    down: JsonObject = {} if stage == "scrolled" else {"direction": "down"}
    return {"text": label, **down}


def _more_to_see(turn: Turn) -> bool:
    """The last scrolling ended for want of swipes, or was broken off before the page's end."""
    result = turn.view.result
    if result is None or turn.place.tries >= MAX_SCROLLS:
        return False
    return result.verdict in ("error", "uncertain") and "end of the page" not in result.message


def _search_is_over(turn: Turn) -> None:
    if turn.place.stage in SEEKING:
        turn.place = replace(turn.place, tries=1, stage="")
