"""Lines for a terminal: nothing from outside reaches it raw; an event has its line or none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.cli.printing import event_lines, safe
from app.domain.actions import Verdict
from app.domain.events import (
    ActionRefused,
    Compacted,
    Event,
    FallbackUsed,
    ModelWaiting,
    PlanRevised,
    Remembered,
    SessionLostEvent,
    StepFinished,
    StoredEvent,
    TaskStateChanged,
    ToolServed,
)
from app.domain.memory import ZoneTokens
from app.domain.plans import Milestone, MilestoneState, Plan
from app.domain.tasks import Recovery, StepState, TaskState

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def told(event: Event) -> list[str]:
    return event_lines(StoredEvent(seq=1, task_id="t", at=NOW, event=event))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07red", "[2J]0;ownedred"),
        ("one\ntwo\r\n\tthree", "one two three"),
        ("abc\u202egpj.exe\u2069", "abcgpj.exe"),
        ("\x9b31mraw", "31mraw"),
        ("naïve 你好 😀", "naïve 你好 😀"),
    ],
)
def test_text_from_outside_cannot_steer_a_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert safe("x" * 400) == "x" * 299 + "…"
    assert safe("x" * 300) == "x" * 300


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            TaskStateChanged(
                state=TaskState.FAILED, previous=TaskState.RUNNING, reason="a\x1b[31m limit"
            ),
            "● failed: a[31m limit",
        ),
        (
            SessionLostEvent(device="d", reason="gone", step_number=2),
            "△ the device session was lost: gone",
        ),
        (
            ToolServed(step_number=1, name="remember", args={}, result="kept:\nprice"),
            "      · remember: kept: price",
        ),
        (
            ActionRefused(step_number=1, name="tap\x07", args={}, reason="no", refusal=1),
            "      ✕ tap refused: no",
        ),
        (
            ModelWaiting(role="operator", model="m", reason="429", seconds=6.6, attempt=2),
            "      … waiting 7 s: 429",
        ),
        (FallbackUsed(kind="model", detail="other", step_number=1), "      △ model: other"),
        (
            Compacted(step_number=9, before=ZoneTokens(frozen=12_100), after=ZoneTokens(frozen=9)),
            "      ≡ history compacted: 12,100 → 9 tokens",
        ),
    ],
)
def test_what_happens_is_one_line(event: Event, line: str) -> None:
    assert told(event) == [line]


def test_a_plan_tells_how_far_it_is() -> None:
    plan = Plan(
        revision=2,
        milestones=(
            Milestone(number=1, text="look", state=MilestoneState.DONE),
            Milestone(number=2, text="write", state=MilestoneState.ACTIVE),
        ),
    )
    (line,) = told(PlanRevised(plan=plan, step_number=3))
    assert line == "  plan revision 2: 1/2 done, now: write"


def test_recoveries_follow_their_step() -> None:
    finished = StepFinished(
        step_id="s",
        step_number=4,
        state=StepState.DONE,
        verdict=Verdict.ERROR,
        verdict_reason="not there",
        recoveries=(Recovery(trigger="error", diagnosis="a dialog is open"),),
        ended_at=NOW,
    )
    assert told(finished) == ["      → error (not there)", "      ↻ a dialog is open"]


def test_what_needs_no_line_has_none() -> None:
    assert told(Remembered(values={"a": "b"}, step_number=1)) == []
