"""Part 4 of docs/outcomes.md: what the device does, over the Appium server's stand-in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from app.domain.actions import Outcome, Verdict
from app.domain.config import AppiumConfig
from app.domain.events import FallbackUsed, ToolServed
from app.domain.tasks import Task
from tests.integration.agent.house import act, android, ios, plan, tap
from tests.integration.agent.phones import page_source, stay
from tests.integration.agent.scene import OPERATOR, Scene, Stage, around
from tests.stand_ins.appium_server import Fault, Hang, Refusal, StandIn, Value, picture
from tests.stand_ins.gemini_server import Behaviour, says

GONE = Refusal("A session is either terminated or not started", "invalid session id", 404)
PASS = Hang(0)
"""A call that goes well, to let the next one fail."""
ALWAYS = 60
QUICK = {"appium": AppiumConfig(call_timeout=0.4, session_timeout=3)}


def failing(command: str, *faults: Fault) -> Callable[[StandIn], None]:
    def prepare(phone: StandIn) -> None:
        phone.fail(command, *faults)

    return prepare


def diagnosis(
    recovery: str = "none", text: str = "a dialog covers it", **more: object
) -> Behaviour:
    return says(json.dumps({"diagnosis": text, "recovery": recovery, **more}))


def taps(count: int) -> list[Behaviour]:
    return [plan(), *(tap() for _ in range(count))]


async def _looked_afresh(stage: Stage, task: Task) -> None:
    """A new session, whose screen was read before anything else was decided; told once."""
    assert len(stage.phone.sent("/session")) == 2
    assert "opened anew; look where you are" in stage.prompt(OPERATOR + 1)
    paths = [r.path for r in stage.phone.requests]
    second = len(paths) - 1 - paths[::-1].index("/session")
    assert "/source" in paths[second:]
    steps = await stage.house.steps(stage.task_id)
    assert steps[0].receipt is not None and steps[0].receipt.outcome is Outcome.UNKNOWN
    assert steps[0].after is None
    assert len(stage.phone.sent("/actions")) == len(steps) - 1


async def _recovery_recorded(stage: Stage, task: Task) -> None:
    [step, *_] = await stage.house.steps(stage.task_id)
    [recovery] = step.recoveries
    assert recovery.action is not None and recovery.action.type == "back"
    assert recovery.verdict is Verdict.UNCERTAIN


async def _no_picture_sent(stage: Stage, task: Task) -> None:
    for number in range(len(stage.server.requests)):
        prompt = stage.prompt(number)
        assert "inlineData" not in prompt and "inline_data" not in prompt


async def _black_is_kept(stage: Stage, task: Task) -> None:
    await _no_picture_sent(stage, task)
    [step, *_] = await stage.house.steps(stage.task_id)
    assert step.observation.black and step.observation.screenshot is not None


async def _dump_failed(stage: Stage, task: Task) -> None:
    prompt = stage.prompt(OPERATOR)
    assert "Elements: none (dump failed" in prompt
    assert "inlineData" in prompt or "inline_data" in prompt
    [step, *_] = await stage.house.steps(stage.task_id)
    assert step.observation.tree.status == "failed"


async def _nothing_lost(stage: Stage, task: Task) -> None:
    assert not await stage.house.events(stage.task_id, FallbackUsed)
    assert "(dump failed" not in stage.prompt(OPERATOR)


async def _characters(stage: Stage, task: Task) -> None:
    prompt = stage.prompt(OPERATOR)
    assert "Pay \ufffd now" in prompt and "👨‍👩‍👧" in prompt and "很" in prompt
    assert (await stage.house.told(stage.task_id)).encode()
    [step, *_] = await stage.house.steps(stage.task_id)
    assert "\ud83d" not in await stage.house.text(step.observation.source_ref)


async def _only_dismissed(stage: Stage, task: Task) -> None:
    assert not stage.phone.sent("/actions") and not stage.phone.alert
    assert 'alert: \\"Allow location?\\"' in stage.prompt(OPERATOR)


async def _toast_shown(stage: Stage, task: Task) -> None:
    assert 'toast: \\"Added to cart\\"' in stage.prompt(OPERATOR + 1)


async def _shell_used(stage: Stage, task: Task) -> None:
    commands = [args for script, args in stage.phone.scripts() if script == "mobile: shell"]
    assert [c["command"] for c in commands] == ["dumpsys"] * 2
    assert [c["args"] for c in commands] == [["battery"], ["'a b;reboot'"]]
    served = await stage.house.events(stage.task_id, ToolServed)
    assert served[0].result.startswith("level: 81") and served[0].result == served[1].result
    assert all(s.result_ref is not None for s in served)
    whole = await stage.house.text(served[0].result_ref)
    assert whole == stage.phone.shell_output
    assert "full_result_ref" in stage.prompt(OPERATOR + 1)
    assert '"name": "shell"' in stage.prompt(OPERATOR)


async def _not_declared(stage: Stage, task: Task) -> None:
    assert '"name": "shell"' not in stage.prompt(OPERATOR)
    assert all(script != "mobile: shell" for script, _ in stage.phone.scripts())


async def _uncertain_once(stage: Stage, task: Task) -> None:
    assert len(stage.phone.sent("/actions")) == 1, "an unknown outcome is never repeated blindly"
    [step, *_] = await stage.house.steps(stage.task_id)
    assert step.receipt is not None and step.receipt.outcome is Outcome.UNKNOWN
    assert step.after is not None


def _black(phone: StandIn) -> None:
    phone.fail("/screenshot", *[Value(base64.b64encode(picture(colour="black")).decode())] * ALWAYS)


def _unseen_after(phone: StandIn) -> None:
    phone.fail("/screenshot", PASS, *[Refusal("no frame")] * ALWAYS)
    phone.fail("/source", PASS, *[Refusal("could not get idle state")] * ALWAYS)


def _silent(phone: StandIn) -> None:
    phone.fail("/screenshot", Hang(0.8))
    phone.fail("/source", Hang(0.8))


def _for_ever_silent(phone: StandIn) -> None:
    phone.fail("/screenshot", *[Hang(0.8)] * ALWAYS)
    phone.fail("/source", *[Hang(0.8)] * ALWAYS)


def _odd_characters(phone: StandIn) -> None:
    phone.source = page_source(0).replace("Page 0", "Pay \ud83d now 👨‍👩‍👧 很 \u202ea")


def _toast(phone: StandIn) -> None:
    toast = '<android.widget.Toast text="Added to cart" bounds="[0,200][108,230]"/></hierarchy>'
    phone.fail("/source", PASS, Value(page_source(1).replace("</hierarchy>", toast)))


def _other_app(phone: StandIn) -> None:
    phone.package = "com.example.bank"


def _long_shell(phone: StandIn) -> None:
    phone.shell_output = "level: 81\n" + "\n".join(f"line {n} of the dump" for n in range(600))


def _alert(phone: StandIn) -> None:
    phone.alert = "Allow location?"


def _first_session_only(phone: StandIn) -> None:
    phone.fail("/actions", GONE)
    phone.fail("/session", PASS, *[Hang(1.2)] * 3)


def _lost_recovering(phone: StandIn) -> None:
    phone.fail("/actions", Refusal("the button is gone"))
    phone.fail("/back", GONE)


SCENES: dict[str, Scene] = {
    "server-not-running": Scene(device=lambda url: android("http://127.0.0.1:1")),
    "no-session": Scene(
        prepare=failing(
            "/session",
            Refusal("Could not find a connected Android device in 20000ms", "session not created"),
        )
    ),
    "lost-acting": Scene(
        script=lambda: around(tap(), tap()),
        prepare=failing("/actions", GONE),
        for_ever=lambda: taps(10),
        for_ever_prepare=failing("/actions", *[GONE] * ALWAYS),
        also=_looked_afresh,
    ),
    "lost-looking": Scene(
        prepare=failing("/screenshot", GONE),
        for_ever=lambda: taps(10),
        for_ever_prepare=failing("/screenshot", *[GONE] * ALWAYS),
    ),
    "lost-recovering": Scene(
        script=lambda: around(tap(), diagnosis("back")),
        prepare=_lost_recovering,
        also=_recovery_recorded,
    ),
    "stays-away": Scene(
        prepare=_first_session_only,
        house={"appium": AppiumConfig(call_timeout=2, session_timeout=0.7)},
    ),
    "action-time-out": Scene(
        prepare=failing("/actions", Hang(0.8)), house=QUICK, also=_uncertain_once
    ),
    "action-refused": Scene(
        script=lambda: around(tap(), diagnosis()),
        prepare=failing("/actions", Refusal("the button is gone")),
        for_ever=lambda: [plan(), tap(), diagnosis(), tap(), diagnosis()],
        for_ever_prepare=failing("/actions", *[Refusal("the button is gone")] * ALWAYS),
        spec={"limits": {"steps": 2}},
    ),
    "no-change": Scene(prepare=stay),
    "nothing-seen": Scene(prepare=_unseen_after),
    "screenshot-refused": Scene(
        prepare=failing("/screenshot", *[Refusal("the window is secure")] * ALWAYS),
        also=_no_picture_sent,
    ),
    "screenshot-black": Scene(prepare=_black, also=_black_is_kept),
    "source-refused": Scene(
        script=lambda: around(act("tap", x=500, y=170)),
        prepare=failing("/source", *[Refusal("Illegal character (d83d)")] * ALWAYS),
        also=_dump_failed,
    ),
    "source-refused-once": Scene(
        prepare=failing("/source", Refusal("could not get idle state")), also=_nothing_lost
    ),
    "source-empty": Scene(
        script=lambda: around(act("tap", x=500, y=170)),
        prepare=failing("/source", *[Value("")] * ALWAYS),
        also=_dump_failed,
    ),
    "source-cut": Scene(prepare=failing("/source", Value(page_source(0)[:-40]))),
    "source-surrogate": Scene(prepare=_odd_characters, also=_characters),
    "source-of-another-app": Scene(prepare=_other_app),
    "all-silent": Scene(
        prepare=_silent,
        for_ever=lambda: taps(5),
        for_ever_prepare=_for_ever_silent,
        house={"appium": AppiumConfig(call_timeout=0.3, session_timeout=3)},
    ),
    "alert-open": Scene(
        script=lambda: around(tap(), act("dismiss_alert")),
        prepare=_alert,
        device=ios,
        platform="ios",
        also=_only_dismissed,
    ),
    "toast": Scene(prepare=_toast, also=_toast_shown),
    "shell-answers": Scene(
        script=lambda: around(
            act("shell", command=["dumpsys", "battery"]),
            act("shell", command=["dumpsys", "a b;reboot"]),
        ),
        prepare=_long_shell,
        device=lambda url: android(url, shell=True),
        also=_shell_used,
    ),
    "shell-refused": Scene(
        script=lambda: around(act("shell", command=["ls"])),
        prepare=failing(
            "mobile: shell",
            Refusal("Potentially insecure feature 'adb_shell' has not been enabled."),
        ),
        device=lambda url: android(url, shell=True),
    ),
    "shell-not-allowed": Scene(
        script=lambda: around(act("shell", command=["ls"])),
        for_ever=lambda: [plan(), *(act("shell", command=["ls"]) for _ in range(40))],
        also=_not_declared,
    ),
}
