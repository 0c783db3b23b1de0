"""Which parts of the task page an event changes, and those parts as out-of-band fragments."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from markupsafe import Markup

from app.console.marks import mark, step_of
from app.console.taskview import REGIONS, WINDOW, TaskReader, TaskView
from app.console.templating import Templates
from app.domain import events as ev
from app.domain.events import StoredEvent

TOUCHES: dict[type, frozenset[str]] = {
    ev.TaskCreated: frozenset({"head", "now"}),
    ev.TaskStateChanged: frozenset(
        {"head", "controls", "ask", "outcome", "now", "receipts", "screen"}
    ),
    ev.SessionOpened: frozenset({"now"}),
    ev.SessionLostEvent: frozenset({"now"}),
    ev.PrefixStored: frozenset(),
    ev.PlanRevised: frozenset({"plan", "now"}),
    ev.ChecksChanged: frozenset({"checks"}),
    ev.TurnStarted: frozenset({"now", "screen", "world"}),
    ev.ModelCalled: frozenset({"head", "now", "context", "spend"}),
    ev.ModelWaiting: frozenset({"now"}),
    ev.ToolServed: frozenset({"now"}),
    ev.NoteWritten: frozenset({"notes"}),
    ev.Remembered: frozenset({"world"}),
    ev.InstructionInjected: frozenset({"receipts", "now"}),
    ev.ControlRequested: frozenset({"receipts", "controls"}),
    ev.ControlApplied: frozenset({"receipts", "controls"}),
    ev.QuestionAsked: frozenset({"ask", "now"}),
    ev.QuestionAnswered: frozenset({"ask", "receipts", "now"}),
    ev.ActionRefused: frozenset({"now"}),
    ev.StepDecided: frozenset({"head", "now", "screen"}),
    ev.StepFinished: frozenset({"head", "now", "world", "screen"}),
    ev.FallbackUsed: frozenset({"now"}),
    ev.Compacted: frozenset({"now"}),
    ev.LoopNoticed: frozenset({"now"}),
    ev.TextRead: frozenset(),
    ev.SummaryChanged: frozenset(),
    ev.ChunkClosed: frozenset(),
    ev.ChunkChanged: frozenset(),
    ev.BackgroundChanged: frozenset(),
}
"""Regions by event; a new event type without a row changes all of them."""

MORPH = Markup(' hx-swap-oob="outerMorph"')


class Change(NamedTuple):
    """What some events changed."""

    regions: frozenset[str]
    turns: frozenset[int]
    last_seq: int


def change(events: Collection[StoredEvent]) -> Change:
    """The union of what these events touch; each region once, however many events."""
    regions: set[str] = set()
    turns: set[int] = set()
    for stored in events:
        regions |= TOUCHES.get(type(stored.event), frozenset(REGIONS))
        number = step_of(stored.event)
        if number and _changes_turn(stored.event):
            turns.add(number)
    return Change(frozenset(regions), frozenset(turns), max(e.seq for e in events))


def _changes_turn(event: ev.Event) -> bool:
    return isinstance(event, ev.StepDecided | ev.StepFinished) or mark(event) is not None


class Fragments:
    """Renders one viewer's messages; remembers which turns it has sent already."""

    def __init__(self, templates: Templates, reader: TaskReader, order: str) -> None:
        self._templates = templates
        self._reader = reader
        self._order = order
        self._sent: set[int] = set()

    async def message(self, events: Collection[StoredEvent]) -> str:
        """What changed, as one message of out-of-band fragments only."""
        what = change(events)
        view = await self._reader.parts(what.regions, self._order)
        view.seq = what.last_seq
        turns = await self._turns(view, what.turns)
        regions = (self.region(name, view) for name in REGIONS if name in what.regions)
        return "\n".join([self.region("seq", view), *turns, *regions])

    def region(self, name: str, view: TaskView) -> str:
        """One region as a fragment that replaces itself wherever it stands."""
        return str(self._templates.macro("components/regions.html", name)(view, MORPH))

    async def _turns(self, view: TaskView, numbers: frozenset[int]) -> Iterable[str]:
        if not numbers:
            return []
        if max(numbers) - min(numbers) >= WINDOW:
            # Too far behind to add turn by turn: the newest window replaces the list.
            await self._reader.add_window(view)
            self._sent = {turn.number for turn in view.turns}
            return [self._templates.text("components/window.html", view=view)]
        await self._reader.add_turns(view, numbers)
        item = self._templates.macro("components/turn.html", "turn_item")
        out = []
        for turn in view.turns:
            if turn.number in self._sent:
                out.append(str(item(view.task.task_id, turn, "outerMorph")))
            else:
                out.append(upsert(str(item(view.task.task_id, turn)), self._order))
            self._sent.add(turn.number)
        return out


def upsert(items: str, order: str) -> str:
    """Turns that take their place in the list, whether they stand there already or not."""
    sort = "desc" if order == "newest" else "asc"
    return f'<hx-upsert hx-target="#turns" key="data-n" sort="{sort}">{items}</hx-upsert>'
