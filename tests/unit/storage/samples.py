"""Events and values that storage tests write."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.actions import Outcome, Point, Receipt, Tap, Target, Verdict, describe
from app.domain.events import (
    ModelCalled,
    StepDecided,
    StepFinished,
    StoredEvent,
    TaskStateChanged,
    ToolServed,
    TurnStarted,
)
from app.domain.memory import PromptFigures, SearchEntry, TextKind, ZoneTokens
from app.domain.messages import Call, Image, Message, Text, Usage, user
from app.domain.screens import (
    ArtifactRef,
    Bounds,
    Element,
    Observation,
    Size,
    TreeStatus,
    UiTree,
)
from app.domain.tasks import ModelCallRecord, StepState, TaskSpec, TaskState

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class SteppingClock:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self.seconds = 0

    def now(self) -> datetime:
        self.seconds += 1
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return float(self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.seconds += int(seconds)


class Viewer:
    """A bus that keeps what was announced."""

    def __init__(self) -> None:
        self.seen: list[StoredEvent] = []

    def __call__(self, event: StoredEvent) -> None:
        self.seen.append(event)

    def of(self, task_id: str) -> list[StoredEvent]:
        return [event for event in self.seen if event.task_id == task_id]


def new_id() -> str:
    return str(uuid.uuid4())


def spec(goal: str = "Find the total", device: str = "demo", **more: Any) -> TaskSpec:
    return TaskSpec(goal=goal, device=device, **more)


def elements(count: int = 3) -> tuple[Element, ...]:
    box = Bounds(left=0, top=0, right=100, bottom=20)
    return tuple(Element(index=i, role="button", text=f"Row {i}", bounds=box) for i in range(count))


def observation(number: int = 1, *, shown: int = 3, **more: Any) -> Observation:
    return Observation(
        observation_id=f"look-{number}",
        taken_at=START + timedelta(seconds=number),
        tree=UiTree(status=TreeStatus.OK, elements=elements(shown)),
        window=Size(width=400, height=800),
        url="http://phone/settings",
        title="Settings",
        dhash="0" * 16,
        signature="a" * 16,
        content_hash="b" * 16,
        **more,
    )


def messages(number: int = 1, picture: ArtifactRef | None = None) -> tuple[Message, ...]:
    """A turn as a model had it, with a signature of every byte."""
    call = Call(id=f"c{number}", name="tap", args={"element": 1}, signature=bytes(range(256)))
    shown = (Image(ref=picture, width=1, height=1),) if picture else ()
    return (
        Message(role="user", parts=(Text(text=f"screen {number}"), *shown)),
        Message(role="model", parts=(Text(text="", signature=b"\xff\x00"), call)),
        user("done"),
    )


def tap(label: str = "Sign in") -> Tap:
    return Tap(target=Target(point=Point(x=500, y=500), text=label))


def decided(number: int, **more: Any) -> StepDecided:
    action = more.pop("action", tap())
    return StepDecided(
        **{
            "step_id": new_id(),
            "step_number": number,
            "started_at": START + timedelta(seconds=number),
            "offset": number * 5.0,
            "observation": observation(number),
            "action": action,
            "action_text": describe(action),
            "thinking": "The button leads on.",
            **more,
        }
    )


def finished(step: StepDecided, **more: Any) -> StepFinished:
    return StepFinished(
        **{
            "step_id": step.step_id,
            "step_number": step.step_number,
            "state": StepState.DONE,
            "receipt": Receipt(outcome=Outcome.OK, seconds=0.1),
            "verdict": Verdict.EXECUTED,
            "ended_at": step.started_at + timedelta(seconds=3),
            **more,
        }
    )


def called(number: int, **more: Any) -> ModelCalled:
    return ModelCalled(
        call=ModelCallRecord(
            **{
                "call_id": new_id(),
                "role": "operator",
                "step_number": number,
                "provider": "gemini",
                "model": "gemini-3.8-flash",
                "usage": Usage(prompt=9_000, cached=6_000, thinking=50, output=100),
                "cost_usd": 0.25,
                "seconds": 1.5,
                "first_of_turn": True,
                "figures": PromptFigures(zones=ZoneTokens(stable=3_000, tail=2_000)),
                **more,
            }
        )
    )


def served(number: int, **more: Any) -> ToolServed:
    fields = {"name": "remember", "args": {"total": "12"}, "result": "kept", **more}
    return ToolServed(step_number=number, **fields)


def turn(number: int, **more: Any) -> TurnStarted:
    return TurnStarted(step_number=number, observation=observation(number), **more)


def change(previous: TaskState, state: TaskState, **more: Any) -> TaskStateChanged:
    return TaskStateChanged(previous=previous, state=state, **more)


def entries(number: int, *texts: str, kind: TextKind = TextKind.SCREEN) -> Sequence[SearchEntry]:
    return [SearchEntry(step_number=number, kind=kind, text=text) for text in texts]
