"""Draws long tasks for the demo phone, with the right answers taken from its seeded world."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from app.devices.demo.money import money
from app.devices.demo.vocabulary import HOSTILE_CONTACT_NAME
from app.devices.demo.world import DemoWorld
from app.llm.offline.commands import quoted


@dataclass(frozen=True)
class Read:
    """A value to be read on the way."""

    name: str
    label: str
    value: str


@dataclass(frozen=True)
class Visit:
    """A few instructions that begin with an app."""

    lines: tuple[str, ...]
    reads: tuple[Read, ...] = ()

    @property
    def steps(self) -> int:
        return sum(not line.startswith(("read ", "check ")) for line in self.lines)

    @property
    def changes(self) -> bool:
        """It may leave something behind, or needs what its own last step left."""
        return any("Add " in line for line in self.lines)


@dataclass
class Journey:
    """A task in the task language and what must come of it."""

    lines: list[str] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    answer: str = ""
    note: str = ""
    """What must stand in the note that it writes."""

    @property
    def goal(self) -> str:
        return "\n".join(self.lines)

    def go(self, visit: Visit) -> None:
        self.lines += visit.lines
        self.reads += visit.reads


class Guide:
    """Knows the phone of one seed."""

    def __init__(self, seed: int, rng: Random) -> None:
        self.world = DemoWorld(seed)
        self.rng = rng
        people = [c for c in self.world.contacts if c.name != HOSTILE_CONTACT_NAME]
        self.people = rng.sample(people, len(people))
        self.products = rng.sample(self.world.products, len(self.world.products))
        self.rows = rng.sample(range(1, 40), 20)

    # --- places with values ---------------------------------------------------------------

    def about_phone(self, how_many: int = 2) -> Visit:
        about = self.world.about
        known = {
            "Model": about.model,
            "Serial number": about.serial_number,
            "Build number": about.build_number,
            "IMEI": about.imei,
            "Wi-Fi MAC address": about.wifi_mac,
        }
        labels = self.rng.sample(sorted(known), how_many)
        return _visit(("Settings", "About phone"), {label: known[label] for label in labels})

    def a_person(self) -> Visit:
        person = self.people.pop()
        return _visit(("Contacts", person.name), {"Phone": person.phone, "E-mail": person.email})

    def a_product(self) -> Visit:
        product = self.products.pop()
        known = {"Price": money(product.price_cents), "Product code": product.sku}
        return _visit(("Shop", product.name), known)

    # --- places to pass through -----------------------------------------------------------

    def detours(self) -> list[Visit]:
        """Walks through the phone in drawn order; none comes to a place with values."""
        world, rng = self.world, self.rng
        network = rng.choice(world.wifi_networks)
        order = rng.choice(world.past_orders)
        title = rng.choice([n.title for n in world.notes[:-1]])
        talks = rng.sample(world.conversations[:5], 2)
        walks = [
            ("Settings", "Network & internet", "Wi-Fi", network.name),
            ("Settings", "Network & internet", "Mobile network"),
            ("Settings", "Network & internet", "Hotspot"),
            ("Settings", "Bluetooth"),
            ("Settings", "Notifications", "App notifications"),
            ("Settings", "Notifications", "Do not disturb"),
            ("Settings", "Display", "Font size"),
            ("Settings", "Display", "Screen timeout"),
            ("Settings", "Sound", "Ringtone", rng.choice(("Marimba", "River", "Silence"))),
            ("Settings", "Battery", "Battery usage"),
            ("Settings", "Storage", "Clear cache"),
            ("Settings", "Date & time", "Time zone"),
            ("Clock", "Timer", "Stopwatch", "World clock"),
            ("Clock", "Add alarm"),
            ("Shop", "Orders", f"Order {order.number}"),
            ("Notes", title),
            *(("Catalogue", f"Item {self.rows.pop():03d}") for _ in range(3)),
            *(("Messages", talk.name) for talk in talks),
            ("Shop", self.products.pop().name, "Add to cart", "Cart: 1"),
        ]
        return [_visit(walk, {}) for walk in rng.sample(walks, len(walks))]


def _visit(walk: tuple[str, ...], values: dict[str, str]) -> Visit:
    app, *labels = walk
    key = "".join(c for c in labels[0].casefold() if c.isalnum())
    reads = tuple(
        Read(f"{key}_{i}", label, value) for i, (label, value) in enumerate(values.items(), 1)
    )
    lines = [f"open {quoted(app)}", *(f"tap {quoted(label)}" for label in labels)]
    lines += [f"read {quoted(r.label)} as {r.name}" for r in reads]
    return Visit(tuple(lines), reads)


def long_journey(seed: int, rng: Random, steps: int) -> Journey:
    """Reads six values at once, walks about, then writes them down and answers with them."""
    guide, journey = Guide(seed, rng), Journey()
    for visit in rng.sample([guide.about_phone(), guide.a_person(), guide.a_product()], 3):
        journey.go(visit)
    taken, detours = 6, guide.detours()
    while taken < steps - 6:
        if not detours:
            detours = guide.detours()
        visit = detours.pop()
        journey.go(visit)
        taken += visit.steps
    _write_down(journey, rng)
    return journey


def _write_down(journey: Journey, rng: Random) -> None:
    named = [(r, f"{{{r.name}}}") for r in rng.sample(journey.reads, len(journey.reads))]
    note = "; ".join(f"{r.label} {place}" for r, place in named)
    answer = ", ".join(f"{r.label} is {place}" for r, place in named)
    journey.lines += [
        'open "Notes"',
        'tap "New note"',
        'type "Found on the way" into "Title"',
        f'type "{note}" into "Text"',
        'tap "Save"',
        'check "Found on the way"',
        f'answer "{answer}."',
    ]
    values = {r.name: r.value for r in journey.reads}
    journey.note = note.format_map(values)
    journey.answer = answer.format_map(values) + "."
