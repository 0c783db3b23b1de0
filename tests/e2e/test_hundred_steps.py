"""A hundred steps, three plan rewrites and a kill: what was read first is there at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random, SystemRandom
from typing import NamedTuple, TypeVar

import pytest

from app.devices.demo.money import cart_totals, money
from app.devices.demo.records import OrderLine
from app.domain.actions import Verdict
from app.domain.events import (
    ChunkChanged,
    ChunkClosed,
    Compacted,
    Event,
    ModelCalled,
    PlanRevised,
    PrefixStored,
    StepDecided,
    StepFinished,
    StoredEvent,
    SummaryChanged,
    TaskStateChanged,
    ToolServed,
)
from app.domain.messages import Image, Message, ModelRequest, Role
from app.domain.screens import ArtifactRef
from app.domain.summaries import ChunkState, HistoryChunk, SummaryStatus
from app.domain.tasks import ModelCallRecord, StepRecord, StepState, Task, TaskState
from app.llm.offline.commands import quoted
from app.memory.ledger import turn_messages
from app.memory.zones import Frozen, Stable
from tests.e2e.journeys import Guide, Journey, Read, Visit
from tests.e2e.stack import Server, until

STEPS = 100
EARLY, LATE = 10, 20
REWRITES = ("See to the order first", "Set the phone up for the night", "Look around a little more")
FIRST_TARGET, FIRST_LIMIT, TURN_LIMIT = 12_000, 16_000, 28_000
SWITCHES = (
    ("Bluetooth", "Use Bluetooth", "bluetooth"),
    ("Display", "Night light", "night_light"),
    ("Sound", "Vibrate for calls", "vibrate"),
    ("Battery", "Battery saver", "battery_saver"),
)
"""Page, label and key: a press that is done twice shows in the phone's state."""
E = TypeVar("E", bound=Event)


@dataclass
class Errand(Journey):
    """A journey that also leaves things behind on the phone."""

    recalled: list[Read] = field(default_factory=list)
    """Seen at the start without being remembered."""
    order: str = ""
    switches: dict[str, bool] = field(default_factory=dict)

    @property
    def told(self) -> list[Read]:
        return [*self.reads, *self.recalled]

    def walk(self, *lines: str) -> int:
        """Adds instructions; gives how many of them take a step."""
        self.lines += lines
        return Visit(lines).steps


def errand(seed: int, rng: Random) -> Errand:
    """Values first, then an order, switches and walks with the rewrites between, then the forms."""
    guide, task = Guide(seed, rng), Errand()
    taken = _see_values(guide, task)
    detours: list[Visit] = []

    def look_around(until_step: int) -> None:
        nonlocal taken
        while taken < until_step:
            if not detours:
                detours.extend(v for v in guide.detours() if only_looks(v))
            visit = detours.pop()
            taken += visit.steps
            task.go(visit)

    look_around(22)
    task.walk(f"plan {quoted(REWRITES[0])}")
    taken += _order(guide, task)
    look_around(43)
    task.walk(f"plan {quoted(REWRITES[1])}")
    taken += _turn_switches(guide, task)
    look_around(72)
    task.walk(f"plan {quoted(REWRITES[2])}")
    look_around(STEPS - 10)
    _tell(task, rng)
    return task


def only_looks(visit: Visit) -> bool:
    """It changes nothing, and comes to no conversation: the gate code is seen once."""
    return not visit.changes and visit.lines[0] != 'open "Messages"'


def _see_values(guide: Guide, task: Errand) -> int:
    """Eight steps that pass all values; some of them are only looked at."""
    world, about = guide.world, guide.world.about
    # Near the top of its list, so that reaching all values takes no more than the early steps.
    person = guide.rng.choice(sorted(guide.people, key=lambda c: c.name.casefold())[:6])
    product, talk = guide.products.pop(), world.conversations[1]
    task.recalled = [
        Read("mac", "Wi-Fi MAC address", about.wifi_mac),
        Read("gate", "The gate code is", talk.messages[0].text.split()[-1].strip(".")),
    ]
    task.reads = [
        Read("serial", "Serial number", about.serial_number),
        Read("imei", "IMEI", about.imei),
        Read("phone", "Phone", person.phone),
        Read("price", "Price", money(product.price_cents)),
    ]
    serial, imei, phone, price = (f"read {quoted(r.label)} as {r.name}" for r in task.reads)
    return (
        task.walk('open "Settings"', 'tap "About phone"', serial, imei)
        + task.walk('open "Messages"', f"tap {quoted(talk.name)}")
        + task.walk('open "Contacts"', f"tap {quoted(person.name)}", phone)
        + task.walk('open "Shop"', f"tap {quoted(product.name)}", price)
    )


def _order(guide: Guide, task: Errand) -> int:
    world, product = guide.world, guide.products.pop()
    line = OrderLine(sku=product.sku, name=product.name, unit_cents=product.price_cents, quantity=1)
    task.order = world.order_number(len(world.past_orders))
    total = money(cart_totals((line,)).total_cents)
    return task.walk(
        'open "Shop"',
        f"tap {quoted(product.name)}",
        'tap "Add to cart"',
        'tap "Cart: 1"',
        'tap "Checkout"',
        'type "Robin Park" into "Full name"',
        'type "{phone}" into "Address"',
        'type "Porto" into "City"',
        'tap "I accept the terms"',
        'tap "Place order"',
        f"check {quoted(task.order)}",
        f"check {quoted(total)}",
    )


def _turn_switches(guide: Guide, task: Errand) -> int:
    steps = 0
    for page, label, key in SWITCHES:
        task.switches[key] = wanted = not guide.world.switches[key]
        turn = f"turn {'on' if wanted else 'off'} {quoted(label)}"
        steps += task.walk('open "Settings"', f"tap {quoted(page)}", turn)
    return steps


def _tell(task: Errand, rng: Random) -> None:
    """Recalls what was only seen, fills two forms with the values, and answers with all."""
    named = {r.name: f"{{{r.name}}}" for r in rng.sample(task.told, len(task.told))}
    labels = {r.name: r.label for r in task.told}
    task.note = "; ".join(f"{labels[name]} {place}" for name, place in named.items())
    answer = ", ".join(f"{labels[name]} {place}" for name, place in named.items())
    task.walk(
        *(f"recall {quoted(r.label)} as {r.name}" for r in task.recalled),
        'open "Contacts"',
        'tap "Add contact"',
        'type "Found on the way" into "Name"',
        'type "{phone}" into "Phone"',
        'type "{gate}" into "City"',
        'tap "Save"',
        'check "Found on the way"',
        'open "Notes"',
        'tap "New note"',
        'type "Found on the way" into "Title"',
        f'type "{task.note}" into "Text"',
        'tap "Save"',
        'check "Found on the way"',
        f'answer "{answer}."',
    )
    values = {r.name: r.value for r in task.told}
    task.note = task.note.format_map(values)
    task.answer = f"{answer}.".format_map(values)


class Record:
    """All that was recorded of an ended task."""

    def __init__(self, server: Server, task_id: str) -> None:
        self._server = server
        self.task: Task = server.task(task_id)
        self.steps: list[StepRecord] = server.steps(task_id)
        self.events: list[StoredEvent] = server.events(task_id)
        self.calls = [e.event.call for e in self.events if isinstance(e.event, ModelCalled)]

    def of(self, kind: type[E], *, before: float = float("inf")) -> list[E]:
        """Events of a kind, in order, up to a number."""
        return [e.event for e in self.events if isinstance(e.event, kind) and e.seq < before]

    def seq_of(self, event: Event) -> int:
        return next(e.seq for e in self.events if e.event is event)

    @property
    def broken_off(self) -> int:
        """Number of the event that says that the server had died."""
        return next(
            e.seq
            for e in self.events
            if isinstance(e.event, TaskStateChanged) and e.event.state is TaskState.INTERRUPTED
        )

    @property
    def firsts(self) -> list[ModelCallRecord]:
        return [c for c in self.calls if c.role == Role.OPERATOR and c.first_of_turn]

    def prompt(self, call: ModelCallRecord) -> ModelRequest:
        path = f"/tasks/{self.task.task_id}/calls/{call.call_id}/prompt"
        return ModelRequest.model_validate(self._server.get(path))

    def text(self, ref: ArtifactRef | None) -> str:
        assert ref is not None
        return json.dumps(self._server.get(f"/tasks/{self.task.task_id}/artifacts/{ref.sha256}"))


class Moment(NamedTuple):
    """When the server is killed: so many steps after the second rewrite, so many seconds later."""

    steps: int
    seconds: float


@pytest.fixture
def rng() -> Random:
    drawn = SystemRandom().randrange(2**31)
    print(f"task drawn with {drawn}")  # noqa: T201 (shown on failure)
    return Random(drawn)


def test_values_of_the_first_steps_are_there_after_a_hundred(server: Server, rng: Random) -> None:
    task = errand(server.seed, rng)
    moment = Moment(rng.randint(1, 3 * len(SWITCHES)), rng.choice((0.0, rng.uniform(0, 0.8))))
    print(moment)  # noqa: T201 (shown on failure)
    task_id = server.submit(task.goal)
    kill_at(server, task_id, moment)
    orphans = server.helpers()
    assert orphans, "a killed server leaves its Appium and its browser behind"
    server.start()
    assert not set(orphans) & set(server.helpers())
    ended = server.ended(task_id, 300)
    assert ended.state is TaskState.COMPLETED, f"{ended.reason}\n{task.goal}"
    wait_until_written(server, task_id)
    record = Record(server, task_id)
    check_answer(task, record)
    check_phone(task, server)
    check_steps(record)
    check_rewrites(record)
    check_budget(record)
    check_prompts(record)
    check_recalls(task, record)
    check_background(record)


def kill_at(server: Server, task_id: str, moment: Moment) -> None:
    """Kills the server in the middle, whatever it is doing."""

    def rewritten() -> int:
        revisions = server.get(f"/tasks/{task_id}/plan-revisions")
        found = [r["step_number"] for r in revisions if r["plan"]["reason"] == REWRITES[1]]
        return int(found[0]) if found else 0

    number = until("the second rewrite", rewritten, 300) + moment.steps
    until(f"step {number}", lambda: server.task(task_id).steps >= number, 60)
    time.sleep(moment.seconds)
    server.kill()


def wait_until_written(server: Server, task_id: str) -> None:
    """Until no summary and no capsule of a task is being written any more."""
    states: dict[str, str] = {}
    after = 0

    def settled() -> bool:
        nonlocal after
        page = server.get(f"/tasks/{task_id}/events", after=after, limit=1000)
        for stored in page["events"]:
            after, event = stored["seq"], stored["event"]
            if event["type"] == "summary_changed":
                states[event["step_id"]] = event["status"]
            elif event["type"] in ("chunk_closed", "chunk_changed"):
                states[event["chunk"]["chunk_id"]] = event["chunk"]["state"]
        return after == page["last_seq"] and "pending" not in states.values()

    until("the last summaries and capsules", settled, 90)


# --- what came of it ------------------------------------------------------------------------


def check_answer(task: Errand, record: Record) -> None:
    """The answer is exact and cites the early steps that showed its values."""
    assert record.task.answer == task.answer
    places = {read.name: first_shown(record.steps, read) for read in task.told}
    assert max(places.values()) <= EARLY, places
    assert set(record.task.cited_steps) == set(places.values()), places
    seen = {key for s in record.steps[:EARLY] for key in s.remembered}
    assert seen == {r.name for r in task.reads}
    last = [s for s in record.steps[-LATE:] if s.remembered]
    assert {key for s in last for key in s.remembered} == {r.name for r in task.recalled}
    assert all("recall_history" in s.tools for s in last)


def first_shown(steps: Sequence[StepRecord], read: Read) -> int:
    """The first step whose screen, as recorded, shows a value with its label."""
    for step in steps:
        texts = [e.text for e in step.observation.tree.elements]
        if {f"{read.label}:", read.value} <= set(texts):
            return step.step_number
        if any(f"{read.label} {read.value}" in text for text in texts):
            return step.step_number
    raise AssertionError(f"no step shows {read}")


def check_phone(task: Errand, server: Server) -> None:
    """Everything was done, and nothing twice."""
    state = server.phone_state()
    values = {r.name: r.value for r in task.told}
    assert [n["body"] for n in state["notes"] if n["title"] == "Found on the way"] == [task.note]
    made = [c for c in state["contacts"] if c["name"] == "Found on the way"]
    assert [(c["phone"], c["city"]) for c in made] == [(values["phone"], values["gate"])]
    placed = [o for o in state["orders"] if o["address"] == values["phone"]]
    assert [o["number"] for o in placed] == [task.order] and not state["cart"]
    assert [line["quantity"] for line in placed[0]["lines"]] == [1]
    assert {key: state["switches"][key] for key in task.switches} == task.switches


def check_steps(record: Record) -> None:
    """Every step decided once and ended once; only the kill left one with an unknown outcome."""
    assert [e.seq for e in record.events] == list(range(1, len(record.events) + 1))
    numbers = list(range(1, record.task.steps + 1))
    assert [e.step_number for e in record.of(StepDecided)] == numbers
    assert [e.step_number for e in record.of(StepFinished)] == numbers
    assert len(numbers) >= STEPS
    assert [e.state for e in record.of(TaskStateChanged)] == [
        TaskState.RUNNING,
        TaskState.INTERRUPTED,
        TaskState.RUNNING,
        TaskState.COMPLETED,
    ]
    broken = [s for s in record.steps if s.state is not StepState.DONE]
    assert {s.state for s in broken} <= {StepState.INTERRUPTED}
    assert all(s.verdict is Verdict.UNCERTAIN for s in broken)
    newest = record.of(StepDecided, before=record.broken_off)[-1].step_number
    assert {s.step_number for s in broken} <= {newest}
    assert STEPS * 0.4 <= newest <= STEPS * 0.75
    apps = {
        s.observation.url.split("/")[4] for s in record.steps if s.observation.url.count("/") > 4
    }
    assert len(apps) >= 6, apps


def check_rewrites(record: Record) -> None:
    """Three rewrites by the planner; no chunk that was there before is another one after."""
    rewrites = [e for e in record.of(PlanRevised) if e.plan.reason in REWRITES]
    assert [e.plan.reason for e in rewrites] == list(REWRITES)
    assert [e.plan.revision for e in rewrites] == sorted({e.plan.revision for e in rewrites})
    assert rewrites[0].plan.revision > 1
    assert len([c for c in record.calls if c.role == Role.PLANNER]) == 1 + len(REWRITES)
    assert all(
        w in {m.text for m in e.plan.milestones} for e, w in zip(rewrites, REWRITES, strict=True)
    )
    at_the_end = chunks(record)
    for rewrite in rewrites:
        before = chunks(record, before=record.seq_of(rewrite))
        assert before, "no chunk was closed before a rewrite"
        for chunk_id, chunk in before.items():
            after = at_the_end[chunk_id]
            assert identity(after) == identity(chunk)
            if chunk.state is ChunkState.READY:
                assert after == chunk
    assert any(c.state is ChunkState.READY for c in before.values())


def chunks(record: Record, *, before: float = float("inf")) -> dict[str, HistoryChunk]:
    """Chunks as they stood before an event, by id."""
    known: dict[str, HistoryChunk] = {}
    for stored in record.events:
        if stored.seq < before and isinstance(stored.event, ChunkClosed | ChunkChanged):
            known[stored.event.chunk.chunk_id] = stored.event.chunk
    return known


def identity(chunk: HistoryChunk) -> tuple[object, ...]:
    return (chunk.start_step, chunk.end_step, chunk.source_step_ids, chunk.boundary)


def check_budget(record: Record) -> None:
    """Every call inside its bounds; no picture of an earlier turn; nobody waited."""
    assert [c.step_number for c in record.firsts] == sorted(c.step_number for c in record.firsts)
    assert {c.step_number for c in record.firsts} == {s.step_number for s in record.steps}
    figures = [c.figures for c in record.firsts if c.figures is not None]
    assert len(figures) == len(record.firsts)
    sizes = sorted(max(f.estimated, f.zones.total) for f in figures)
    assert sizes[-1] <= FIRST_LIMIT
    assert sizes[round(0.95 * (len(sizes) - 1))] <= FIRST_TARGET
    turns = [c.usage.prompt for c in record.calls if c.role == Role.OPERATOR]
    assert 0 < max(turns) <= TURN_LIMIT
    assert all(f.waits == 0 and f.images <= 1 for f in figures)
    assert len(record.of(Compacted)) >= 2


def check_prompts(record: Record) -> None:
    """S and F are the stored bytes in every prompt, before and after the kill; A only grows."""
    prefix = Stable.from_json(record.text(record.of(PrefixStored)[0].stable_ref))
    compacted = {e.step_number: e for e in record.of(Compacted)}
    by_number = {s.step_number: s for s in record.steps}
    goal = f"# GOAL\n{record.task.spec.goal}"
    frozen = Frozen("")
    active: tuple[Message, ...] = ()
    for call in record.firsts:
        request = record.prompt(call)
        assert (request.system, request.tools) == (prefix.system, prefix.tools)
        first, *between, tail = request.messages
        if call.figures is not None and call.figures.compacted:
            frozen = Frozen.from_json(record.text(compacted[call.step_number].frozen_ref))
            active = ()
        assert first.text == (frozen.text or goal), call.step_number
        assert tuple(between[: len(active)]) == active, call.step_number
        turns = [by_number[n] for n in range(frozen.through + 1, call.step_number)]
        assert tuple(between) == tuple(m for step in turns for m in turn_messages(step))
        active = tuple(between)
        pictured = [m for m in request.messages if any(isinstance(p, Image) for p in m.parts)]
        assert pictured in ([], [tail])
    rewritten = {c.step_number for c in record.firsts if c.figures and c.figures.compacted}
    assert rewritten == set(compacted)
    before = record.of(ModelCalled, before=record.broken_off)
    assert any(c.call.first_of_turn for c in before) and len(before) < len(record.calls)


def check_recalls(task: Errand, record: Record) -> None:
    """What was not remembered came from the history, and had left the prompt before."""
    served = [e for e in record.of(ToolServed) if e.name == "recall_history"]
    asked = {e.args["query"]: e for e in served if e.step_number > len(record.steps) - LATE}
    assert {r.label for r in task.recalled} <= set(asked), served
    for read in task.recalled:
        assert read.value in asked[read.label].result
    number = asked[task.recalled[0].label].step_number
    call = next(c for c in record.firsts if c.step_number == number)
    shown = " ".join(m.text for m in record.prompt(call).messages)
    assert [r for r in task.recalled if r.value not in shown], "nothing had left the prompt"


def check_background(record: Record) -> None:
    """Chunks have their capsules, and most steps their summary."""
    known = chunks(record)
    assert len(known) >= 8
    assert all(c.state is ChunkState.READY for c in known.values())
    states = {e.step_number: e.status for e in record.of(SummaryChanged)}
    ready = [n for n, status in states.items() if status is SummaryStatus.VISUAL_READY]
    assert set(states) == {s.step_number for s in record.steps}
    assert len(ready) >= 0.9 * len(states), states
