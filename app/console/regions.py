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
        {"head", "controls", "ask", "outcome", "now", "receipts", "screen", "memory"}
    ),
    ev.SessionOpened: frozenset({"now"}),
    ev.SessionLostEvent: frozenset({"now"}),
    ev.PrefixStored: frozenset(),
    ev.PlanRevised: frozenset({"plan", "now"}),
    ev.ChecksChanged: frozenset({"checks"}),
    ev.TurnStarted: frozenset({"now", "screen", "world"}),
    ev.ModelCalled: frozenset({"head", "now", "context", "memory", "spend"}),
    ev.ModelWaiting: frozenset({"now"}),
    ev.ToolServed: frozenset({"now", "fallbacks"}),
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
    ev.FallbackUsed: frozenset({"now", "fallbacks"}),
    ev.Compacted: frozenset({"now", "context"}),
    ev.LoopNoticed: frozenset({"now"}),
    ev.TextRead: frozenset({"memory"}),
    ev.SummaryChanged: frozenset({"memory"}),
    ev.TextRefused: frozenset({"memory"}),
    ev.ChunkClosed: frozenset({"memory"}),
    ev.ChunkChanged: frozenset({"memory"}),
    ev.BackgroundChanged: frozenset({"memory"}),
}
"""Regions by event; a new event type without a row changes all of them."""

MORPH = Markup(' hx-swap-oob="outerMorph"')


class Change(NamedTuple):
    """What some events changed."""

    regions: frozenset[str]
    added: frozenset[int]
    """Turns that are new to every page."""
    changed: frozenset[int]
    """Turns that are shown anew where a page has them."""
    summaries: frozenset[int]
    """Steps whose summary moved."""
    chunks: frozenset[int]
    """Last steps of the chunks that closed or moved."""
    last_seq: int


def change(events: Collection[StoredEvent]) -> Change:
    """The union of what these events touch; each part once, however many events."""
    regions: set[str] = set()
    added, changed, summaries, chunks = set[int](), set[int](), set[int](), set[int]()
    for stored in events:
        event = stored.event
        regions |= TOUCHES.get(type(event), frozenset(REGIONS))
        match event:
            case ev.StepDecided(step_number=number):
                added.add(number)
            case ev.SummaryChanged(step_number=number):
                summaries.add(number)
            case ev.ChunkClosed(chunk=chunk) | ev.ChunkChanged(chunk=chunk):
                chunks.add(chunk.end_step)
            case _ if isinstance(event, ev.StepFinished) or mark(event) is not None:
                changed.add(step_of(event) or 0)
    whole = added | changed
    return Change(
        regions=frozenset(regions),
        added=frozenset(added),
        changed=frozenset(changed - added - {0}),
        summaries=frozenset(summaries - whole),
        chunks=frozenset(chunks - whole),
        last_seq=max(e.seq for e in events),
    )


class Fragments:
    """Renders one viewer's messages."""

    def __init__(self, templates: Templates, reader: TaskReader, order: str) -> None:
        self._templates = templates
        self._reader = reader
        self._order = order

    async def message(self, events: Collection[StoredEvent]) -> str:
        """What changed, as one message of out-of-band fragments only."""
        what = change(events)
        view = await self._reader.parts(what.regions, self._order)
        view.seq = what.last_seq
        turns = await self._turns(view, what)
        memory = await self._memory(view, what)
        regions = (self.region(name, view) for name in REGIONS if name in what.regions)
        return "\n".join([self.region("seq", view), *turns, *memory, *regions])

    def region(self, name: str, view: TaskView) -> str:
        """One region as a fragment that replaces itself wherever it stands."""
        return str(self._templates.macro("components/regions.html", name)(view, MORPH))

    async def _turns(self, view: TaskView, what: Change) -> Iterable[str]:
        """New turns take their place in the list; the others change where a page has them."""
        if what.added and max(what.added) - min(what.added) >= WINDOW:
            # Too far behind to add turn by turn: the newest window replaces the list.
            await self._reader.add_window(view)
            return [self._templates.text("components/window.html", view=view)]
        numbers = what.added | what.changed
        if not numbers:
            return []
        await self._reader.add_turns(view, numbers)
        item = self._templates.macro("components/turn.html", "turn_item")
        out = []
        for turn in view.turns:
            if turn.number in what.added:
                new = str(item(view.task.task_id, turn, self._order))
                out.append(upsert(new, self._order))
            else:
                out.append(str(item(view.task.task_id, turn, self._order, MORPH)))
        return out

    async def _memory(self, view: TaskView, what: Change) -> Iterable[str]:
        """Badges and chunk boundaries; a page without their turn leaves them out by itself."""
        task_id, out = view.task.task_id, []
        if what.summaries:
            badge = self._templates.macro("components/memory.html", "badge")
            summaries = await self._reader.summaries(what.summaries)
            out += [str(badge(task_id, n, s, MORPH)) for n, s in summaries.items()]
        if what.chunks:
            boundary = self._templates.macro("components/memory.html", "boundary")
            chunks = await self._reader.chunks(what.chunks)
            out += [str(boundary(task_id, n, c, MORPH)) for n, c in chunks.items()]
        return out


def upsert(items: str, order: str) -> str:
    """Turns that take their place in the list, whether they stand there already or not."""
    sort = "desc" if order == "newest" else "asc"
    return f'<hx-upsert hx-target="#turns" key="data-n" sort="{sort}">{items}</hx-upsert>'
