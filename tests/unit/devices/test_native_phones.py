"""Android and iOS over a server that speaks their drivers' HTTP."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from app.devices.appium import AppiumDevice
from app.domain.actions import (
    AcceptAlert,
    Back,
    ClearText,
    DeviceAction,
    DismissAlert,
    DoubleTap,
    Drag,
    HideKeyboard,
    Home,
    InputText,
    LaunchApp,
    LongPress,
    OpenUrl,
    Outcome,
    Point,
    PressKey,
    SetOrientation,
    Swipe,
    Tap,
    Target,
    TerminateApp,
    Wait,
)
from app.domain.config import AppiumConfig, DeviceConfig, Platform
from app.domain.screens import Dialect
from app.errors import AbilityMissing, DeviceError, DeviceUnreachable, SessionLost
from tests.stand_ins.appium_server import (
    Drop,
    Hang,
    Raw,
    Refusal,
    StandIn,
    Value,
    android_source,
    appium_stand_in,
    picture,
)

MIDDLE = Target(point=Point(x=500, y=500))
QUICK = AppiumConfig(call_timeout=2, session_timeout=3, page_load_timeout=1)


@pytest.fixture
def android() -> Iterator[StandIn]:
    with appium_stand_in("android") as server:
        yield server


@pytest.fixture
def ios() -> Iterator[StandIn]:
    with appium_stand_in("ios") as server:
        yield server


@asynccontextmanager
async def opened(
    server: StandIn, appium: AppiumConfig = QUICK, **more: object
) -> AsyncIterator[AppiumDevice]:
    apps = {"Shop": "com.example.shop", "Site": "https://shop.example/"}
    fields: dict[str, object] = {"name": "phone", "platform": server.platform, "apps": apps}
    fields |= {"server_url": server.url, "shell": True} | more
    config = DeviceConfig.model_validate(fields)
    device = AppiumDevice(config, appium, {"pin": "s3cret-4711"}.get)
    await device.open()
    try:
        yield device
    finally:
        await device.close()


async def test_android_is_seen_whole(android: StandIn) -> None:
    android.keyboard = True
    toast = '<android.widget.Toast text="Saved &amp; sent" package="com.example.shop"/>'
    android.source = android_source(toast)
    async with opened(android) as device:
        view = await device.observe()
        assert view.screenshot and (view.screenshot.width, view.screenshot.height) == (108, 240)
        assert view.source and view.source.dialect is Dialect.UIAUTOMATOR2
        assert (view.package, view.activity) == ("com.example.shop", ".MainActivity")
        assert (view.window.width, view.window.height) == (108, 240)
        assert (view.keyboard_shown, view.toasts) == (True, ("Saved & sent",))
        assert (view.orientation, view.notes) == ("portrait", ())
    assert android.sessions == {}


async def test_ios_is_seen_whole(ios: StandIn) -> None:
    ios.alert = "Allow “Shop” to send you notifications?"
    async with opened(ios) as device:
        view = await device.observe()
        assert view.source and view.source.dialect is Dialect.XCUITEST
        assert view.alert and view.alert.text == ios.alert
        assert (view.package, view.window.width) == ("com.example.shop", 54)
        await device.perform(DismissAlert())
        assert (await device.observe()).alert is None


@pytest.mark.parametrize(
    ("action", "script", "args"),
    [
        (PressKey(key="Volume Up"), "pressKey", {"keycode": 24}),
        (Home(), "pressKey", {"keycode": 3}),
        (LaunchApp(app="shop"), "activateApp", {"appId": "com.example.shop"}),
        (LaunchApp(app="com.x/.Main"), "startActivity", {"intent": "com.x/.Main"}),
        (LaunchApp(app="Site"), "deepLink", {"url": "https://shop.example/"}),
        (TerminateApp(app="Shop"), "terminateApp", {"appId": "com.example.shop"}),
        (OpenUrl(url="shop://cart"), "deepLink", {"url": "shop://cart"}),
        (HideKeyboard(), "hideKeyboard", {}),
        (AcceptAlert(), "acceptAlert", {}),
        (DismissAlert(), "dismissAlert", {}),
    ],
)
async def test_android_commands(
    android: StandIn, action: DeviceAction, script: str, args: dict[str, object]
) -> None:
    async with opened(android) as device:
        receipt = await device.perform(action)
        assert receipt.outcome is Outcome.OK, receipt
    assert (f"mobile: {script}", args) in android.scripts()


@pytest.mark.parametrize(
    ("action", "script", "args"),
    [
        (PressKey(key="volume_down"), "pressButton", {"name": "volumedown"}),
        (Home(), "pressButton", {"name": "home"}),
        (LaunchApp(app="Shop"), "activateApp", {"bundleId": "com.example.shop"}),
        (TerminateApp(app="Shop"), "terminateApp", {"bundleId": "com.example.shop"}),
        (OpenUrl(url="https://a.example/x"), "deepLink", {"url": "https://a.example/x"}),
        (HideKeyboard(), "hideKeyboard", {}),
    ],
)
async def test_ios_commands(
    ios: StandIn, action: DeviceAction, script: str, args: dict[str, object]
) -> None:
    async with opened(ios) as device:
        receipt = await device.perform(action)
        assert receipt.outcome is Outcome.OK, receipt
    assert (f"mobile: {script}", args) in ios.scripts()


def moves(server: StandIn) -> list[tuple[float, float]]:
    steps = server.sent("/actions")[-1]["actions"][0]["actions"]
    return [(s["x"], s["y"]) for s in steps if s["type"] == "pointerMove"]


async def test_fingers_land_in_the_unit_of_the_window(android: StandIn) -> None:
    async with opened(android) as device:
        await device.perform(Tap(target=MIDDLE))
        assert moves(android) == [(54, 120)]
        await device.perform(Tap(target=Target(point=Point(x=1000, y=1000))))
        assert moves(android) == [(107, 239)]
        for action in (
            LongPress(target=MIDDLE, seconds=0.6),
            DoubleTap(target=MIDDLE),
            Swipe(start=Point(x=500, y=800), end=Point(x=500, y=200)),
            Drag(start=MIDDLE, end=Target(point=Point(x=0, y=0))),
        ):
            assert (await device.perform(action)).outcome is Outcome.OK
        assert moves(android)[-1] == (0, 0)
        # The driver's window leaves out the navigation bar, the picture does not.
        android.size, android.screenshot = (240, 100), picture(240, 108)
        view = await device.observe()
        assert (view.window.height, view.orientation) == (108, "landscape")
        await device.perform(Tap(target=MIDDLE))
        assert moves(android) == [(120, 54)]


async def test_ios_turned_on_its_side_is_touched_where_it_shows(ios: StandIn) -> None:
    ios.screenshot = picture(240, 108)  # while the window still claims 54 x 120
    async with opened(ios) as device:
        view = await device.observe()
        assert (view.window.width, view.window.height) == (120, 54)
        await device.perform(Tap(target=Target(point=Point(x=900, y=500))))
        assert moves(ios) == [(108, 27)]


@pytest.mark.parametrize("platform", ["android", "ios"])
@pytest.mark.parametrize("text", ["很", "☝ 👨\u200d👩\u200d👧", "שלום", "a b%s&'\"$(x)"])
async def test_text_is_typed_and_read_back(platform: str, text: str) -> None:
    with appium_stand_in("ios" if platform == "ios" else "android") as server:
        server.text = "old"
        async with opened(server) as device:
            receipt = await device.perform(InputText(text=text, target=MIDDLE, submit=True))
            assert (receipt.outcome, receipt.message) == (
                Outcome.OK,
                f"the field reads “{text}”",
            )
            assert server.text.strip() == text
            await device.perform(InputText(text="+", mode="append"))
            assert server.text.endswith("+")
            assert (await device.perform(ClearText())).outcome is Outcome.OK
            assert server.text == ""


@pytest.mark.parametrize("platform", ["android", "ios"])
async def test_a_password_is_not_read_back(platform: str) -> None:
    with appium_stand_in("ios" if platform == "ios" else "android") as server:
        server.password = True
        async with opened(server) as device:
            receipt = await device.perform(InputText(text="secret:pin"))
            assert (receipt.outcome, receipt.message) == (Outcome.OK, "typed")
            assert server.text == "s3cret-4711"
            assert not any(r.path.endswith("/text") for r in server.requests)
            server.source = android_source('<node text="s3cret-4711" class="x"/>')
            view = await device.observe()
            assert view.source and 'text="[secret:pin]"' in view.source.text


async def test_a_secret_is_in_no_error(android: StandIn) -> None:
    async with opened(android) as device:
        android.fail("/element/field-1/value", Refusal("cannot set text s3cret-4711"))
        receipt = await device.perform(InputText(text="secret:pin"))
        assert receipt.outcome is Outcome.ERROR
        assert "s3cret" not in receipt.message and "[secret:pin]" in receipt.message


async def test_a_field_that_takes_nothing_is_an_error(android: StandIn) -> None:
    async with opened(android) as device:
        android.fail("/element/field-1/value", Value(None))
        receipt = await device.perform(InputText(text="x", mode="append"))
        assert receipt.outcome is Outcome.ERROR and "did not take" in receipt.message
        android.focused = False
        receipt = await device.perform(InputText(text="x"))
        assert receipt.outcome is Outcome.ERROR and "focus" in receipt.message


BLACK = picture(colour="black")
WARNED = b"[Warning] Multiple displays were found.\n" + picture()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Refusal("FLAG_SECURE prevents it"), "refused: FLAG_SECURE"),
        (Value(""), "zero bytes"),
        (Value(None), "no screenshot"),
        (Value("bm90IGEgcGljdHVyZQ=="), "not a picture"),
        (Value("iVBORw0KGgoAAAAA"), "not a readable picture"),
        (Value("iVBORw0KGgoAAAANSUhEUgAB9AAAAfQACAIAAAA="), "too large"),
    ],
)
async def test_a_missing_picture_has_a_reason(
    android: StandIn, answer: Refusal | Value, problem: str
) -> None:
    async with opened(android) as device:
        android.fail("/screenshot", answer)
        view = await device.observe()
        assert view.screenshot is None and problem in view.screenshot_problem
        assert view.source is not None
        assert (await device.observe()).screenshot is not None


async def test_pictures_that_can_be_used(android: StandIn) -> None:
    async with opened(android) as device:
        android.screenshot = WARNED
        view = await device.observe()
        assert view.screenshot and view.screenshot.data == picture()
        assert any("Multiple displays" in note for note in view.notes)
        android.screenshot = BLACK
        assert (await device.observe()).screenshot is not None


async def test_a_refused_tree_is_asked_once_more(android: StandIn) -> None:
    async with opened(android) as device:
        android.fail("/source", Refusal("Illegal character (d83d)"))
        assert (await device.observe()).source is not None
        again = Refusal("Timed out waiting for: could not get idle state")
        android.fail("/source", again, again)
        view = await device.observe()
        assert view.source is None and "could not get idle state" in view.source_problem
        assert view.screenshot is not None
        android.fail("/source", Value(""), Value(None))
        assert (await device.observe()).source_problem == "the device sent an empty UI tree"


async def test_half_an_emoji_is_replaced(android: StandIn) -> None:
    android.source = android_source('<node text="ok \ud83d ok" class="x"/>')
    async with opened(android) as device:
        view = await device.observe()
        assert view.source and "ok \ufffd ok" in view.source.text
        view.source.text.encode()


async def test_a_tree_of_another_app_is_noted(android: StandIn) -> None:
    android.package = "org.telegram"
    async with opened(android) as device:
        view = await device.observe()
        assert view.notes == (
            "the UI tree belongs to com.example.shop while org.telegram is in front",
        )
        android.fail("/source", Value(android_source()))
        android.source = android_source(package="org.telegram")
        assert (await device.observe()).notes == ()


@pytest.mark.parametrize(
    "fault",
    [
        Refusal("A session is either terminated or not started", "invalid session id", 404),
        Refusal(
            "'GET /source' cannot be proxied to UiAutomator2 server because the instrumentation "
            "process is not running (probably crashed)"
        ),
        Refusal("Could not proxy command to the remote server. Original error: socket hang up"),
        Drop(),
    ],
)
async def test_a_lost_session_is_told_and_opened_again(
    android: StandIn, fault: Refusal | Drop
) -> None:
    async with opened(android) as device:
        android.fail("/source", fault)
        with pytest.raises(SessionLost):
            await device.observe()
        with pytest.raises(SessionLost):
            await device.observe()
        await device.open()
        assert (await device.observe()).source is not None
        android.fail("/actions", fault)
        receipt = await device.perform(Tap(target=MIDDLE))
        assert (receipt.outcome, receipt.code) == (Outcome.UNKNOWN, "session_lost")


async def test_a_slow_tree_costs_one_time_out_and_not_the_step(android: StandIn) -> None:
    async with opened(android) as device:
        android.fail("/source", Hang(3))
        gaps: list[float] = []

        async def ticks() -> None:
            while True:
                before = time.monotonic()
                await asyncio.sleep(0.02)
                gaps.append(time.monotonic() - before)

        ticker = asyncio.create_task(ticks())
        view = await device.observe()
        ticker.cancel()
        assert view.screenshot and view.source is None and "in time" in view.source_problem
        assert len(gaps) > 40 and max(gaps) < 0.5


async def test_an_action_without_an_answer_is_unknown(android: StandIn) -> None:
    async with opened(android, QUICK.model_copy(update={"call_timeout": 0.5})) as device:
        android.fail("/actions", Hang(1.5))
        receipt = await device.perform(Tap(target=MIDDLE))
        assert (receipt.outcome, receipt.code) == (Outcome.UNKNOWN, "device_timeout")
        assert len(android.sent("/actions")) == 1, "a request must never be sent again"


async def test_a_proxy_error_page_is_no_success(android: StandIn) -> None:
    async with opened(android) as device:
        android.fail("/actions", Raw(b"<h1>502 Bad Gateway</h1>", 502))
        receipt = await device.perform(Tap(target=MIDDLE))
        assert (receipt.outcome, receipt.code) == (Outcome.UNKNOWN, "device_unreachable")
        android.fail("/source", Raw(b"\xff\xfe nonsense", 200, "application/json"))
        with pytest.raises(DeviceUnreachable):
            await device.observe()


async def test_the_shell(android: StandIn) -> None:
    async with opened(android) as device:
        android.shell_output = "uid=2000(shell)\n"
        answers = [await device.shell(["id"]) for _ in range(3)]
        assert answers == ["uid=2000(shell)\n"] * 3
        await device.shell(["echo", "a b; rm -rf /", "$(id)"])
        args = android.scripts()[-1][1]
        assert (args["command"], args["args"]) == ("echo", ["'a b; rm -rf /'", "'$(id)'"])
        android.fail(
            "mobile: shell",
            Refusal("Potentially insecure feature 'adb_shell' has not been enabled."),
        )
        with pytest.raises(AbilityMissing, match="allow-insecure"):
            await device.shell(["id"])
    async with opened(android, shell=False) as device:
        with pytest.raises(AbilityMissing):
            await device.shell(["id"])


async def test_what_a_phone_cannot_do_is_an_error(ios: StandIn) -> None:
    async with opened(ios) as device:
        for action, code in (
            (PressKey(key="menu"), "ability_missing"),
            (PressKey(key="no such key"), "invalid_input"),
            (LaunchApp(app="Nothing"), "invalid_input"),
            (Wait(seconds=1), "ability_missing"),
            (OpenUrl(url="file:///etc/passwd"), "forbidden"),
        ):
            receipt = await device.perform(action)
            assert (receipt.outcome, receipt.code) == (Outcome.ERROR, code)
        ios.fail("/back", Refusal("no back button", "unknown command", 404))
        assert (await device.perform(Back())).code == "ability_missing"
        with pytest.raises(AbilityMissing):
            await device.shell(["ls"])


async def test_orientation_and_keep_alive(android: StandIn) -> None:
    async with opened(android) as device:
        await device.perform(SetOrientation(orientation="landscape"))
        await device.perform(Tap(target=MIDDLE))
        assert moves(android) == [(120, 54)]
        await device.keep_alive()
        android.sessions.clear()
        await device.keep_alive()
        with pytest.raises(SessionLost):
            await device.observe()


async def test_allowed_apps_hold_for_launch_and_addresses(android: StandIn) -> None:
    async with opened(android, allowed_apps=("com.example",)) as device:
        assert (await device.perform(LaunchApp(app="Shop"))).outcome is Outcome.OK
        for action in (LaunchApp(app="com.examples.other"), OpenUrl(url="https://x.example/")):
            assert (await device.perform(action)).code == "forbidden"


@pytest.mark.parametrize(
    ("fault", "error", "hint"),
    [
        (Refusal("Could not find a connected Android device in 20000ms"), DeviceError, "USB"),
        (Refusal("Neither ANDROID_HOME nor ANDROID_SDK_ROOT environment"), DeviceError, "HOME"),
        (Raw(b"<h1>It works!</h1>", 404), DeviceError, ""),
        (Raw(b"Unauthorized", 401), DeviceError, "credentials"),
        (Hang(4), DeviceUnreachable, "Start it"),
    ],
)
async def test_a_session_that_cannot_be_opened_names_the_remedy(
    android: StandIn, fault: Refusal | Raw | Hang, error: type[DeviceError], hint: str
) -> None:
    android.fail("/session", fault)
    config = DeviceConfig(name="x", platform=Platform.ANDROID, server_url=android.url)
    device = AppiumDevice(config, QUICK, lambda _: None)
    with pytest.raises(error) as caught:
        await device.open()
    assert hint in caught.value.hint
    await device.close()


async def test_a_server_that_is_not_there() -> None:
    with appium_stand_in() as gone:
        pass
    config = DeviceConfig(name="x", platform=Platform.ANDROID, server_url=gone.url)
    device = AppiumDevice(config, QUICK, lambda _: None)
    with pytest.raises(DeviceUnreachable):
        await device.open()


async def test_a_session_that_comes_too_late_is_ended(android: StandIn) -> None:
    android.fail("/session", Hang(1))
    config = DeviceConfig(name="x", platform=Platform.ANDROID, server_url=android.url)
    device = AppiumDevice(config, QUICK, lambda _: None)
    opening = asyncio.create_task(device.open())
    await asyncio.sleep(0.3)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await device.close()
    deadline = time.monotonic() + 5
    while not any(r.method == "DELETE" for r in android.requests):
        assert time.monotonic() < deadline, "the session was left open"
        await asyncio.sleep(0.05)
    assert android.sessions == {}
