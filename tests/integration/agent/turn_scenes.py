"""Part 5 of docs/outcomes.md: what happens within a turn, and what people ask of a task."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from app.domain.actions import Verdict
from app.domain.config import AgentConfig, DeviceConfig, Platform
from app.domain.events import (
    ControlApplied,
    LoopNoticed,
    ModelCalled,
    QuestionAsked,
    StepDecided,
    StepFinished,
    ToolServed,
)
from app.domain.tasks import Task, TaskState
from tests.integration.agent.device_scenes import diagnosis, failing
from tests.integration.agent.house import act, android, answer, finish, plan, tap
from tests.integration.agent.phones import stay
from tests.integration.agent.scene import OPERATOR, Scene, Stage, around
from tests.stand_ins.appium_server import Hang, Refusal, StandIn
from tests.stand_ins.gemini_server import Behaviour, says

TRAJECTORIES = Path(__file__).parents[2] / "data" / "trajectories"
SAID = 'Take the blue one; never "Pay now"!\n第二行 \\ 100 %'
SCHEMA = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
}
LATE = 0.3
"""Real seconds a model takes in scenes where somebody acts in the meantime."""


def slow(behaviour: Behaviour) -> Behaviour:
    return replace(behaviour, delay=LATE)


def recording(url: str) -> DeviceConfig:
    path = str(TRAJECTORIES / "appagent-wifi-5")
    return DeviceConfig(name="old", platform=Platform.REPLAY, replay_path=path)


async def _untouched(stage: Stage, task: Task) -> None:
    assert not stage.phone.sent("/actions")


async def _touched_once(stage: Stage, task: Task) -> None:
    assert len(stage.phone.sent("/actions")) == 1


async def _kept_open_list(stage: Stage, task: Task) -> None:
    assert "still open: milestone 1 “The thing is bought”" in stage.prompt(OPERATOR + 1)


async def _told_of_loop(stage: Stage, task: Task) -> None:
    [noticed] = await stage.house.events(stage.task_id, LoopNoticed)
    assert noticed.step_number == 9
    assert "You are going round in a circle" in stage.prompt(-2)


async def _only_actions_at_last(stage: Stage, task: Task) -> None:
    def allowed(number: int) -> list[str]:
        calling = stage.server.requests[number].body["toolConfig"]["functionCallingConfig"]
        names: list[str] = calling.get("allowedFunctionNames", [])
        return names or calling.get("allowed_function_names", [])

    assert not allowed(OPERATOR) and not allowed(OPERATOR + 11)
    assert "tap" in allowed(OPERATOR + 12) and "notes" not in allowed(OPERATOR + 12)
    declared = [json.dumps(r.body["tools"]) for r in stage.server.requests[OPERATOR:-1]]
    assert len(set(declared)) == 1, "declarations never change"


async def _whole_result_kept(stage: Stage, task: Task) -> None:
    served = await stage.house.events(stage.task_id, ToolServed)
    assert await stage.house.text(served[1].result_ref) == LONG_NOTE
    assert len(stage.prompt(OPERATOR + 2)) - len(stage.prompt(OPERATOR + 1)) < 12_000


def _recoveries(*verdicts: Verdict) -> Callable[[Stage, Task], Awaitable[None]]:
    async def check(stage: Stage, task: Task) -> None:
        [step, *_] = await stage.house.steps(stage.task_id)
        assert tuple(r.verdict for r in step.recoveries) == verdicts
        assert all(r.diagnosis == "a dialog covers it" for r in step.recoveries)
        called = await stage.house.events(stage.task_id, ModelCalled)
        assert sum(c.call.role == "analyzer" for c in called) == len(verdicts)

    return check


async def _plain_plan(stage: Stage, task: Task) -> None:
    made = await stage.house.queries.tasks.plan(stage.task_id)
    assert made is not None and made.milestones[0].text == "Buy the thing."


async def _operators_words(stage: Stage, task: Task) -> None:
    assert task.answer == "bought"


async def _structured(stage: Stage, task: Task) -> None:
    assert task.answer_data == {"price": 7.5}
    assert "data does not fit the schema" in stage.prompt(-1)


async def _answer_reached_the_model(stage: Stage, task: Task) -> None:
    assert "the blue one" in stage.prompt(OPERATOR + 1)
    [asked] = await stage.house.queries.tasks.questions(stage.task_id)
    assert (asked.question.text, asked.answer) == ("Which one?", "the blue one")


async def _word_for_word(stage: Stage, task: Task) -> None:
    line = f"- I1 (step 2): {json.dumps(SAID, ensure_ascii=False)}"
    assert json.dumps(line, ensure_ascii=False)[1:-1] in stage.prompt(OPERATOR + 1)
    assert line.split(": ", 1)[1][1:9] not in stage.prompt(OPERATOR)
    [kept] = await stage.house.queries.tasks.instructions(stage.task_id)
    assert kept.text == SAID


async def _paused_then_looked(stage: Stage, task: Task) -> None:
    applied = await stage.house.events(stage.task_id, ControlApplied)
    assert [(a.control, a.applied) for a in applied] == [
        ("pause", True),
        ("resume", True),
        ("look", True),
    ]


async def _all_refused(stage: Stage, task: Task) -> None:
    applied = await stage.house.events(stage.task_id, ControlApplied)
    assert {(a.control, a.applied) for a in applied} == {
        (name, False) for name in ("pause", "look", "inject")
    }


async def _finished_first(stage: Stage, task: Task) -> None:
    kinds = [s.event.type for s in await stage.house.stored(stage.task_id)]
    assert kinds.index("step_finished") < len(kinds) - 1
    [finished] = await stage.house.events(stage.task_id, StepFinished)
    assert finished.after is not None and finished.receipt is not None
    await _touched_once(stage, task)


# --- what people do in the meantime -----------------------------------------------------------


async def _answer(stage: Stage) -> None:
    asked = await stage.house.until(stage.task_id, QuestionAsked)
    await stage.house.in_state(stage.task_id, TaskState.WAITING)
    await stage.house.service.answer(
        stage.task_id, asked.question.question_id, "the blue one", by="Ann"
    )


def _decide(approved: bool) -> Callable[[Stage], Awaitable[None]]:
    async def decide(stage: Stage) -> None:
        asked = await stage.house.until(stage.task_id, QuestionAsked)
        assert asked.question.kind == "approval" and asked.question.text == "tap [Next]"
        assert not stage.phone.sent("/actions"), "nothing runs before it is approved"
        await stage.house.service.decide(stage.task_id, asked.question.question_id, approved)

    return decide


async def _inject(stage: Stage) -> None:
    await stage.house.request(OPERATOR + 1)
    await stage.house.service.inject(stage.task_id, SAID)


async def _pause(stage: Stage) -> None:
    await stage.house.request(OPERATOR + 1)
    await stage.house.service.pause(stage.task_id)
    await stage.house.in_state(stage.task_id, TaskState.PAUSED)


async def _pause_and_resume(stage: Stage) -> None:
    await _pause(stage)
    before = len(stage.server.requests)
    await stage.house.service.look(stage.task_id)
    await stage.house.service.resume(stage.task_id)
    assert len(stage.server.requests) == before


async def _pause_and_cancel(stage: Stage) -> None:
    await _pause(stage)
    await stage.house.service.cancel(stage.task_id)


async def _cancel_question(stage: Stage) -> None:
    await stage.house.in_state(stage.task_id, TaskState.WAITING)
    await stage.house.service.cancel(stage.task_id)


async def _cancel_action(stage: Stage) -> None:
    await stage.house.until(stage.task_id, StepDecided)
    await stage.house.touched(stage.phone)
    await stage.house.service.cancel(stage.task_id)


async def _cancel_wait(stage: Stage) -> None:
    stage.house.clock.holds = 30.0
    await stage.house.clock.holding.wait()
    await stage.house.service.cancel(stage.task_id)


async def _too_late(stage: Stage) -> None:
    await stage.house.request(3)
    await stage.house.service.inject(stage.task_id, SAID)
    await stage.house.service.look(stage.task_id)
    await stage.house.service.pause(stage.task_id)


def _stays_and_refuses(phone: StandIn) -> None:
    stay(phone)
    phone.fail("/actions", Refusal("the button is gone"))


LONG_NOTE = "\n".join(f"line {n}" for n in range(1_800))


def _circle() -> list[Behaviour]:
    steps: list[Behaviour] = []
    for number in range(8):
        steps.append(tap(1 + number % 2))
        if number:
            steps.append(diagnosis())
    return [plan(), *steps, finish(), answer()]


SCENES: dict[str, Scene] = {
    "stale-index": Scene(
        script=lambda: around(tap(290), tap(1)),
        for_ever=lambda: [plan(), *(tap(290) for _ in range(6))],
        spec={"limits": {"steps": 2}},
        also=_touched_once,
    ),
    "point-off-screen": Scene(
        script=lambda: around(act("tap", x=500, y=1920), act("swipe", x=1, y=-3, x2=5, y2=5)),
        also=_untouched,
    ),
    "ability-missing": Scene(
        script=lambda: around(act("set_orientation", orientation="landscape")), device=recording
    ),
    "app-not-allowed": Scene(
        script=lambda: around(act("launch_app", app="com.example.bank")),
        device=lambda url: android(url, allowed_apps=("com.example.shop",)),
    ),
    "third-identical": Scene(
        script=lambda: around(tap(), tap(), diagnosis(), tap()), prepare=stay, at=2
    ),
    "refused-thrice": Scene(script=lambda: around(tap(290), tap(291), act("tap")), also=_untouched),
    "finish-open": Scene(
        script=lambda: [
            plan("The thing is bought"),
            finish(),
            act("update_plan", done=[1]),
            finish(),
            answer(),
        ],
        for_ever=lambda: [plan("The thing is bought"), finish(), finish(), finish()],
        also=_kept_open_list,
    ),
    "give-up": Scene(script=lambda: around(act("give_up", reason="the shop is closed"))),
    "going-round": Scene(script=_circle, prepare=stay, also=_told_of_loop),
    "endless-tools": Scene(
        script=lambda: around(*(act("notes", op="list") for _ in range(13))),
        for_ever=lambda: [plan(), *(act("notes", op="list") for _ in range(40))],
        also=_only_actions_at_last,
    ),
    "long-tool-result": Scene(
        script=lambda: around(
            act("notes", op="save", key="k", text=LONG_NOTE), act("notes", op="read", key="k")
        ),
        also=_whole_result_kept,
    ),
    "recovered": Scene(
        script=lambda: around(tap(), diagnosis("other_locator", element=2)),
        prepare=failing("/actions", Refusal("the button is gone")),
        also=_recoveries(Verdict.EXECUTED),
    ),
    "not-recovered": Scene(
        script=lambda: around(tap(), *(diagnosis("back") for _ in range(3))),
        prepare=_stays_and_refuses,
        also=_recoveries(*[Verdict.NO_VISIBLE_CHANGE] * 3),
    ),
    "analyzer-fails": Scene(
        script=lambda: around(tap(), says("no idea"), says("none at all")),
        prepare=failing("/actions", Refusal("the button is gone")),
    ),
    "planner-fails": Scene(
        script=lambda: [
            says("no"),
            says('{"milestones": []}'),
            act("update_plan", done=[1]),
            finish(),
            answer(),
        ],
        also=_plain_plan,
    ),
    "outputter-fails": Scene(
        script=lambda: [plan(), finish(), says("x"), says("[]")], also=_operators_words
    ),
    "schema-unfit": Scene(
        script=lambda: [
            plan(),
            finish(),
            answer(data={"price": "dear"}),
            answer(data={"price": 7.5}),
        ],
        for_ever=lambda: [plan(), finish(), *(answer(data={"price": "dear"}) for _ in range(5))],
        spec={"answer_schema": SCHEMA},
        also=_structured,
    ),
    "asked": Scene(
        script=lambda: around(act("ask_user", question="Which one?")),
        meanwhile=_answer,
        also=_answer_reached_the_model,
    ),
    "nobody-answers": Scene(
        script=lambda: around(act("ask_user", question="Which one?")),
        house={"agent": AgentConfig(question_timeout=0.1, keep_alive=0.03)},
    ),
    "approved": Scene(spec={"approval": "always"}, meanwhile=_decide(True), also=_touched_once),
    "denied": Scene(spec={"approval": "always"}, meanwhile=_decide(False), also=_untouched),
    "injected": Scene(script=lambda: around(slow(tap())), meanwhile=_inject, also=_word_for_word),
    "paused": Scene(
        script=lambda: around(slow(tap())),
        meanwhile=_pause_and_resume,
        also=_paused_then_looked,
    ),
    "cancelled-paused": Scene(script=lambda: around(slow(tap())), meanwhile=_pause_and_cancel),
    "cancelled-asking": Scene(
        script=lambda: around(act("ask_user", question="Which one?")), meanwhile=_cancel_question
    ),
    "cancelled-acting": Scene(
        prepare=failing("/actions", Hang(0.5)), meanwhile=_cancel_action, also=_finished_first
    ),
    "cancelled-waiting": Scene(
        script=lambda: around(act("wait", seconds=40)), meanwhile=_cancel_wait
    ),
    "too-late": Scene(
        script=lambda: [plan(), finish(), slow(answer())], meanwhile=_too_late, also=_all_refused
    ),
    "limit-steps": Scene(
        script=lambda: [plan(), tap(), tap()], spec={"limits": {"steps": 2}}, at=2
    ),
    "limit-seconds": Scene(
        script=lambda: [plan(), act("wait", seconds=60)], spec={"limits": {"seconds": 50}}
    ),
    "limit-tokens": Scene(spec={"limits": {"tokens": 1}}, also=_untouched),
    "limit-cost": Scene(spec={"limits": {"cost_usd": 0.001}}),
}
