"""The walk: a device and a model that are the same every time and keep their ports."""

from __future__ import annotations

from app.bench.walk import LABELS, Walk, WalkClock, WalkDevice, WalkModel, screenshot, ui_source
from app.domain.actions import Back, Home, Outcome, Point, Tap, Target
from app.domain.config import PerceptionConfig
from app.domain.ports import Clock, Device, Model
from app.domain.screens import TreeStatus
from app.perception.hit import centre
from app.perception.observe import interpret
from app.perception.render import render

WALK = Walk(screens=40, seed=3)
CONFIG = PerceptionConfig()


def test_it_keeps_the_ports() -> None:
    clock: Clock = WalkClock()
    device: Device = WalkDevice(WALK, WalkClock())
    model: Model = WalkModel(WALK)
    assert clock.now().tzinfo is not None
    assert device.name and model is not None


def test_no_value_stands_on_two_screens() -> None:
    values = [row.value for number in range(1, 41) for row in WALK.rows(number)]
    assert len(values) == len(set(values)) == 40 * len(LABELS)


def test_the_seed_decides_everything() -> None:
    assert ui_source(WALK, 7) == ui_source(Walk(screens=40, seed=3), 7)
    assert ui_source(WALK, 7) != ui_source(Walk(screens=40, seed=4), 7)
    assert screenshot(WALK, 7) == screenshot(Walk(screens=40, seed=3), 7)


async def test_a_screen_is_read_whole_and_fits_the_element_list() -> None:
    view = await WalkDevice(WALK, WalkClock()).observe()
    seen = interpret(view, CONFIG)
    assert seen.tree.status is TreeStatus.OK
    listed = render(seen.tree, view.window, CONFIG.element_list_tokens)
    assert listed.shown == listed.total
    for row in WALK.rows(1):
        assert row.label in listed.text
        assert row.value in listed.text
    assert '"Next"' in listed.text and '"Back"' in listed.text


async def test_pictures_come_only_when_asked_for() -> None:
    assert (await WalkDevice(WALK, WalkClock()).observe()).screenshot is None
    view = await WalkDevice(WALK._replace(pictures=True), WalkClock()).observe()
    seen = interpret(view, CONFIG)
    assert seen.model_image is not None and len(seen.dhash) == 16
    assert seen.image_size is not None and seen.image_size.height == 2400


async def test_next_and_back_move_one_screen_and_stop_at_the_ends() -> None:
    device = WalkDevice(Walk(screens=3), WalkClock())
    await device.open()

    async def press(label: str) -> int:
        view = await device.observe()
        tree = interpret(view, CONFIG).tree
        element = next(e for e in tree.elements if e.text == label)
        receipt = await device.perform(Tap(target=Target(point=centre(element, view.window))))
        assert receipt.outcome is Outcome.OK
        return device.number

    assert [await press("Next") for _ in range(3)] == [2, 3, 3]
    assert [await press("Back") for _ in range(3)] == [2, 1, 1]
    await device.perform(Tap(target=Target(point=Point(x=500, y=300))))
    assert device.number == 1
    await press("Next")
    await device.perform(Back())
    assert device.number == 1
    assert (await device.perform(Home())).outcome is Outcome.ERROR


async def test_time_passes_only_in_sleep() -> None:
    clock = WalkClock()
    before = clock.now()
    assert clock.now() == before
    await clock.sleep(2.5)
    assert clock.monotonic() == 2.5
    assert (clock.now() - before).total_seconds() == 2.5
