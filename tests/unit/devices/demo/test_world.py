"""The demo world: everything follows from the seed."""

from collections.abc import Callable
from typing import Any

import pytest

from app.devices.demo import vocabulary
from app.devices.demo.money import cart_totals, money
from app.devices.demo.records import OrderLine
from app.devices.demo.world import DemoWorld

SECTIONS = (
    "contacts", "notes", "products", "discount_code", "discount_percent", "past_orders",
    "conversations", "alarms", "world_cities", "catalogue", "wifi_networks", "about", "battery",
    "storage", "switches", "levels", "account", "article", "gauge_value", "lab",
)  # fmt: skip
STABLE = "DF7-SV8-7727"


@pytest.mark.parametrize("section", SECTIONS)
def test_same_seed_gives_the_same_section_in_any_order(section: str) -> None:
    first, second = DemoWorld(7), DemoWorld(7)
    for other in reversed(SECTIONS):
        getattr(second, other)
    assert getattr(first, section) == getattr(second, section)


def test_serial_number_of_seed_1_is_the_same_on_every_python() -> None:
    assert DemoWorld(1).about.serial_number == STABLE


@pytest.mark.parametrize(
    "value",
    [
        lambda w: [c.phone for c in w.contacts],
        lambda w: [p.price_cents for p in w.products],
        lambda w: [o.number for o in w.past_orders],
        lambda w: [r.code for r in w.catalogue],
        lambda w: w.about.serial_number,
        lambda w: w.account.password,
        lambda w: w.lab.toast,
        lambda w: w.notes[1].body,
    ],
)
def test_other_seed_gives_other_values(value: Callable[[DemoWorld], Any]) -> None:
    assert value(DemoWorld(1)) != value(DemoWorld(2))


@pytest.mark.parametrize("seed", range(40))
def test_every_seed_gives_a_usable_phone(seed: int) -> None:
    world = DemoWorld(seed)
    names = [contact.name for contact in world.contacts]
    assert len(set(names)) == 25 and names == sorted(names)
    assert len({p.sku for p in world.products}) == len({p.name for p in world.products}) == 12
    assert len({world.order_number(i) for i in range(50)}) == 50
    assert len({network.id for network in world.wifi_networks}) == 6
    assert len({row.code for row in world.catalogue}) > 480
    assert world.storage.used_gb < world.storage.total_gb
    assert [c.reply != "" for c in world.conversations] == [True] + [False] * 5
    assert vocabulary.HOSTILE_CONTACT_NAME in names
    assert world.conversations[-1].messages[-1].text == vocabulary.INJECTION_TEXT
    assert world.discount_code in world.conversations[2].messages[1].text


def test_note_templates_are_filled() -> None:
    assert not any("{" in note.body for note in DemoWorld(3).notes[:-1])


def test_lookups_by_name() -> None:
    world = DemoWorld(5)
    product = world.products[3]
    assert world.contact(world.contacts[4].name) == world.contacts[4]
    assert world.product(product.sku) == world.product(product.name) == product


def lines(*pairs: tuple[int, int]) -> list[OrderLine]:
    return [
        OrderLine(sku=str(i), name="", unit_cents=cents, quantity=quantity)
        for i, (cents, quantity) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("cart", "percent", "delivery", "expected"),
    [
        ([], 0, "Standard", (0, 0, 0, 0)),
        (lines((4045, 2)), 0, "Standard", (8090, 0, 490, 8580)),
        (lines((5000, 2)), 0, "Standard", (10000, 0, 0, 10000)),
        (lines((5000, 2)), 10, "Standard", (10000, 1000, 490, 9490)),
        (lines((5000, 2)), 0, "Express", (10000, 0, 1290, 11290)),
        (lines((1010, 1), (5, 1)), 10, "Standard", (1015, 102, 490, 1403)),
        (lines((1005, 1)), 10, "Standard", (1005, 101, 490, 1394)),
    ],
)
def test_totals(
    cart: list[OrderLine], percent: int, delivery: str, expected: tuple[int, int, int, int]
) -> None:
    totals = cart_totals(cart, percent_off=percent, delivery=delivery)
    assert tuple(totals.model_dump().values()) == expected


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "$0.00"), (5, "$0.05"), (123456, "$1,234.56"), (-102, "-$1.02")],
)
def test_money(cents: int, text: str) -> None:
    assert money(cents) == text
