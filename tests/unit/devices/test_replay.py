"""A recorded run as a device."""

import json
from pathlib import Path

import pytest

from app.devices.factory import open_device
from app.devices.replay import ReplayDevice
from app.domain.actions import (
    Back,
    DeviceAction,
    InputText,
    LaunchApp,
    Outcome,
    Point,
    PressKey,
    Swipe,
    Tap,
    Target,
)
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.domain.screens import Dialect
from app.errors import AbilityMissing, ConfigurationError, DeviceUnreachable, SessionLost

RUNS = Path(__file__).parents[2] / "data" / "trajectories"
UP = Swipe(start=Point(x=500, y=800), end=Point(x=500, y=300))
DOWN = Swipe(start=Point(x=500, y=300), end=Point(x=500, y=800))


def replay(folder: Path) -> ReplayDevice:
    config = DeviceConfig(name="old", platform=Platform.REPLAY, replay_path=str(folder))
    device = open_device(config, AppiumConfig(), lambda _: None)
    assert isinstance(device, ReplayDevice)
    return device


def tap(x: float, y: float, text: str = "") -> Tap:
    return Tap(target=Target(point=Point(x=x, y=y), text=text))


async def test_the_recorded_actions_lead_through_the_run() -> None:
    device = replay(RUNS / "appagent-wifi-5")
    await device.open()
    packages = []
    while device.position[0] < device.position[1]:
        view = await device.observe()
        assert view.screenshot and view.source and view.source.dialect is Dialect.UIAUTOMATOR2
        packages.append(view.package)
        assert (await device.perform(tap(500, 500))).outcome is Outcome.OK
    assert packages[0] == "com.google.android.apps.nexuslauncher"
    assert packages[1] == "com.android.settings"
    assert (await device.perform(tap(500, 500))).message == "the recording ends here"


async def test_another_action_changes_nothing() -> None:
    device = replay(RUNS / "aw-text-calendar-two-weeks-20")
    await device.open()
    before = await device.observe()
    assert before.screenshot is None and before.screenshot_problem
    assert before.source and before.source.dialect is Dialect.ELEMENTS
    assert (before.window.width, before.window.height) == (1080, 2400)
    for other in (tap(500, 500), Back(), UP, LaunchApp(app="Clock")):
        receipt = await device.perform(other)
        assert receipt.outcome is Outcome.OK and "nothing happens" in receipt.message
    assert (await device.observe()).source == before.source
    await device.perform(LaunchApp(app="simple calendar pro"))
    after = await device.observe()
    assert after.source and after.source != before.source
    await device.perform(tap(1, 1))
    assert device.position[0] == 2
    await device.perform(DOWN)
    assert device.position[0] == 2, "the recording scrolls down, so the finger goes up"
    await device.perform(UP)
    assert device.position[0] == 3


async def test_results_are_seen_before_the_next_action() -> None:
    device = replay(RUNS / "bench-mobilemcp-crash-hunt-115")
    await device.open()
    assert (await device.observe()).screenshot is None
    await device.perform(LaunchApp(app="dev.lincforge.benchtarget"))
    view = await device.observe()
    assert view.screenshot is not None
    # Recorded at (150, 67) on a screen of 1008 x 2244 pixels.
    await device.perform(tap(900, 900))
    assert device.position[0] == 1
    await device.perform(tap(150, 40))
    assert device.position[0] == 2
    text = (await device.observe()).source
    assert text is not None and text.dialect is Dialect.TEXT


def write_run(folder: Path, *steps: dict[str, object], space: str = "device pixels") -> Path:
    screen = {"width": 1000, "height": 2000}
    task = {"coordinate_space": space, "screen": screen}
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    lines = "\n".join(json.dumps(step, ensure_ascii=False) for step in steps)
    (folder / "steps.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("step", "same", "other"),
    [
        ({"action_type": "tap", "x": 500, "y": 1000}, tap(520, 530), tap(600, 500)),
        ({"action_type": "tap", "text": "Wi-Fi"}, tap(1, 1, "wi-fi"), tap(1, 1, "Sound")),
        (
            {"action_type": "type", "text": "很 hi"},
            InputText(text=" 很  HI "),
            InputText(text="很"),
        ),
        ({"action_type": "key", "key": "BACK"}, Back(), PressKey(key="home")),
        ({"action_type": "key", "key": "ENTER"}, PressKey(key="return"), PressKey(key="tab")),
        (
            {"action_type": "swipe", "x": 500, "y": 1500, "x2": 480, "y2": 300},
            UP,
            DOWN,
        ),
        ({"action_type": "swipe", "action": {"swipe": {"direction": "up"}}}, UP, DOWN),
        ({"action_type": "swipe", "action": "page up"}, DOWN, UP),
    ],
)
async def test_kind_and_place_or_text_must_agree(
    tmp_path: Path, step: dict[str, object], same: DeviceAction, other: DeviceAction
) -> None:
    device = replay(write_run(tmp_path, step, {"action_type": "done"}))
    await device.open()
    await device.perform(other)
    assert device.position == (0, 1)
    await device.perform(same)
    assert device.position == (1, 1)


async def test_a_file_outside_the_folder_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret.xml").write_text("<secret/>", encoding="utf-8")
    step: dict[str, object] = {"action_type": "tap", "ui": "../secret.xml"}
    device = replay(write_run(tmp_path / "run", step))
    await device.open()
    view = await device.observe()
    assert view.source is None and view.source_problem


@pytest.mark.parametrize(
    ("task", "steps"), [("", "{}"), ("[]", "{}"), ("{}", ""), ("{}", "nonsense"), ("{}", "[1]")]
)
async def test_a_folder_that_is_no_recording(tmp_path: Path, task: str, steps: str) -> None:
    (tmp_path / "task.json").write_text(task, encoding="utf-8")
    (tmp_path / "steps.jsonl").write_text(steps, encoding="utf-8")
    with pytest.raises(DeviceUnreachable):
        await replay(tmp_path).open()


async def test_what_a_recording_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        ReplayDevice(DeviceConfig(name="x", platform=Platform.REPLAY))
    device = replay(tmp_path)
    with pytest.raises(SessionLost):
        await device.observe()
    with pytest.raises(AbilityMissing):
        await device.shell(["ls"])
    with pytest.raises(DeviceUnreachable):
        await device.open()
