"""The walk beside broken summarisers: whose turn it is, what is seen, and what counts as wrong."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from app.bench.drawing import BACK, NEXT
from app.bench.faults import plan
from app.bench.faults_arm import Kept
from app.bench.faults_verdict import Measure, judge, measure_of
from app.bench.servers.appium import Refusal
from app.bench.servers.arms import Arm, ArmModel, Plan, Seen, WalkPhone, prompt_tokens
from app.bench.servers.gemini import Recorded
from app.bench.servers.rota import Rota
from app.domain.config import MemoryConfig, ModelsConfig
from app.domain.screens import Bounds
from app.errors import InvalidInput

MEMORY = MemoryConfig()
STEPS = 20
BY = Measure(MEMORY, STEPS, healthy=0.05, still=2.0)
SEEN = Seen(windows=(0.05,) * STEPS, asked=21, answered=21)
HEALTHY = Kept(
    ended="",
    steps=STEPS,
    first_call_p95=11_000,
    first_call_max=12_000,
    compactions=1,
    summaries={"visual_ready": STEPS},
    chunks={"ready": 1},
    calls={"summaries": {"ok": STEPS}, "chunks": {"ok": 1}},
    attempts=21,
    background={"summaries": (), "chunks": ()},
    refusals={},
    fallbacks={},
    waits=0,
)
SILENT = HEALTHY.model_copy(
    update={
        "summaries": {"pending": 16, "visual_failed": 4},
        "chunks": {"pending": 1},
        "calls": {"summaries": {"model_timeout": 4}, "chunks": {"model_timeout": 1}},
        "attempts": 0,
        "background": {"summaries": ("paused", "paused"), "chunks": ()},
    }
)
UNHEARD = SEEN.model_copy(update={"answered": 0})


# --- turns --------------------------------------------------------------------------------


def test_one_arm_at_a_time_goes_on_for_a_block() -> None:
    rota = Rota("abc", 2, random.Random(4), patience=20)
    order: list[str] = []

    def walk(arm: str) -> None:
        for _ in range(6):
            rota.step(arm)
            order.append(arm)
        rota.leave(arm)

    threads = [threading.Thread(target=walk, args=(arm,)) for arm in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    blocks = ["".join(order[i : i + 2]) for i in range(0, 18, 2)]
    rounds = [blocks[i : i + 3] for i in range(0, 9, 3)]
    assert all(sorted(r) == ["aa", "bb", "cc"] for r in rounds) and not rota.broken
    assert len({tuple(r) for r in rounds}) > 1, "the order is drawn anew"


def test_an_arm_that_stands_still_holds_the_others_for_a_bounded_time_and_is_told() -> None:
    rota = Rota("ab", 1, random.Random(1), patience=0.05)
    rota.step("a")
    assert rota.broken
    rota.step("a")  # nobody is held any more


# --- the phone and the model -----------------------------------------------------------------


def touch(box: Bounds) -> dict[str, object]:
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    moves = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown"}]
    return {"actions": [{"type": "pointer", "actions": moves}]}


def test_the_phone_follows_taps_on_next_and_back_alone() -> None:
    phone = WalkPhone(Plan(screens=3).walk)
    for box, number in ((NEXT, 2), (NEXT, 3), (NEXT, 3), (BACK, 2)):
        phone.answer("POST", "/actions", touch(box))
        assert phone.number == number
    phone.answer("POST", "/actions", touch(Bounds(left=0, top=0, right=10, bottom=10)))
    phone.answer("POST", "/actions", {"actions": [{"type": "pointer", "actions": []}]})
    assert phone.number == 2
    assert "Record 2 of 3" in phone.answer("GET", "/source", {})
    assert isinstance(phone.answer("GET", "/nothing", {}), Refusal)


def request(text: str, arrived: float = 0.0, **more: object) -> Recorded:
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}
    return Recorded("v1beta", "m", "generateContent", "k", body, arrived)


def model(arm: Arm, phone: WalkPhone | None = None) -> ArmModel:
    given = Plan(screens=12, thinks=0, slow=0.01, quota=2)
    phone = phone or WalkPhone(given.walk)
    return ArmModel(arm, given, phone, Rota([arm.value], 1, random.Random(1)))


SUMMARY = request("# STEP\n1\n# SEEN\npage: Start\n# ACTION\ntap [Next]\n")


@pytest.mark.parametrize(
    ("arm", "statuses", "answered"),
    [
        (Arm.HEALTHY, [200] * 4, 4),
        (Arm.SILENT, [200] * 4, 0),
        (Arm.SLOW, [200] * 4, 0),
        (Arm.GARBAGE, [200] * 4, 4),
        (Arm.UNAVAILABLE, [503] * 4, 0),
        (Arm.QUOTA, [200, 200, 429, 429], 2),
    ],
)
def test_an_arm_does_what_it_is_about(arm: Arm, statuses: list[int], answered: int) -> None:
    writer = model(arm)
    behaviours = [writer.take(SUMMARY) for _ in range(4)]
    assert [b.status for b in behaviours] == statuses
    assert all(b.hang == (arm is Arm.SILENT) for b in behaviours)
    assert all((b.delay > 0) == (arm is Arm.SLOW) for b in behaviours)
    assert writer.seen == Seen(windows=(), asked=4, answered=answered)


def test_the_time_before_a_request_begins_with_the_last_answer_of_the_look() -> None:
    phone = WalkPhone(Plan(screens=12).walk)
    operator = model(Arm.HEALTHY, phone)
    screen = '## Screen\n[1] text "Record 1 of 12"\n[2] text "RE-000011234"\n[9] button "Next"\n'
    for answered, arrived in ((10.0, 10.5), (10.0, 11.0), (12.0, 12.25)):
        phone.answered = answered
        asked = request(f"The task.\n\n{screen}", arrived, tools=[{"functionDeclarations": []}])
        (_, tap) = operator.take(asked).parts or []
        assert tap == {"functionCall": {"name": "tap", "args": {"element": 9}}}
    assert operator.seen.windows == (0.5, 0.25), "a second request of a turn is none"


def test_a_picture_costs_what_it_costs_whatever_its_bytes() -> None:
    picture = {"inlineData": {"mimeType": "image/jpeg", "data": "A" * 9_000}}
    text = {"text": "x" * 400}
    plain = {"contents": [{"role": "user", "parts": [text]}]}
    shown = {"contents": [{"role": "user", "parts": [text, picture]}]}
    assert prompt_tokens(shown) == prompt_tokens(plain) + 2_064
    assert 100 <= prompt_tokens(plain) < 120


# --- the verdict ------------------------------------------------------------------------------


def test_arms_that_say_what_happened_have_no_problem() -> None:
    assert judge(Arm.HEALTHY, HEALTHY, SEEN, BY).problems == ()
    assert judge(Arm.SILENT, SILENT, UNHEARD, BY).problems == ()


def changed(kept: Kept, **update: object) -> Callable[[], Kept]:
    return lambda: kept.model_copy(update=update)


@pytest.mark.parametrize(
    ("arm", "kept", "problem"),
    [
        (Arm.HEALTHY, changed(HEALTHY, ended="failed: away"), "the task failed: away"),
        (Arm.HEALTHY, changed(HEALTHY, steps=19), "19 steps with 20 looks"),
        (Arm.HEALTHY, changed(HEALTHY, first_call_max=16_001), "a request of 16,001"),
        (Arm.HEALTHY, changed(HEALTHY, first_call_p95=12_001), "P95 of requests"),
        (Arm.HEALTHY, changed(HEALTHY, waits=1), "stood still 1 times"),
        (Arm.HEALTHY, changed(HEALTHY, summaries={"visual_ready": 19}), "19 summary states"),
        (Arm.HEALTHY, changed(HEALTHY, attempts=20), "20 attempts that led to an answer"),
        (Arm.HEALTHY, changed(HEALTHY, chunks={"failed": 1}), "are not all"),
        (
            Arm.HEALTHY,
            changed(HEALTHY, background={"summaries": ("paused",), "chunks": ()}),
            "paused after 0 calls",
        ),
        (
            Arm.SILENT,
            changed(SILENT, summaries={"pending": 15, "visual_failed": 4, "visual_ready": 1}),
            "1 summaries and 0 capsules of nothing",
        ),
        (Arm.SILENT, changed(SILENT, summaries={"pending": 20}), "no summary is said to have"),
        (
            Arm.SILENT,
            changed(SILENT, background={"summaries": (), "chunks": ()}),
            "nothing after 4 calls without an answer",
        ),
        (Arm.UNAVAILABLE, changed(SILENT), "ended in model_timeout"),
        (Arm.QUOTA, changed(SILENT), "no call for a summary ended in model_quota, ok"),
        (Arm.GARBAGE, changed(SILENT, refusals={"json": 9}), "only 1 rules refused"),
    ],
)
def test_what_does_not_fit_is_a_problem(arm: Arm, kept: Callable[[], Kept], problem: str) -> None:
    seen = SEEN if arm is Arm.HEALTHY else UNHEARD
    assert any(problem in told for told in judge(arm, kept(), seen, BY).problems)


def test_a_wait_shows_in_the_times_even_if_no_figure_says_so() -> None:
    windows = (9.0, *(0.05,) * (STEPS - 2), 2.5)
    found = judge(Arm.SILENT, SILENT, UNHEARD.model_copy(update={"windows": windows}), BY)
    assert found.waits == 1, "the warm-up is left out"
    assert found.problems == ("the operator stood still 1 times",)


def test_a_slower_arm_is_out_of_time() -> None:
    for seconds, fine in ((0.055, True), (0.056, False)):
        seen = UNHEARD.model_copy(update={"windows": (seconds,) * STEPS})
        assert judge(Arm.SILENT, SILENT, seen, BY).in_time is fine


def test_what_counts_as_standing_still_follows_the_writers_time_out() -> None:
    assert measure_of(MEMORY, ModelsConfig(), STEPS, SEEN) == BY._replace(still=10.0)


@pytest.mark.parametrize("steps", [0, 11, 5_001])
def test_a_walk_too_short_to_say_anything_is_refused(steps: int) -> None:
    with pytest.raises(InvalidInput, match=f"{steps} steps"):
        plan(steps)
