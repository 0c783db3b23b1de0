"""Builds finished steps for the tests of the memory."""

from __future__ import annotations

from datetime import UTC, datetime

from app.domain.actions import Outcome, Point, Receipt, Tap, Target, Verdict
from app.domain.config import MemoryConfig
from app.domain.messages import Call, Image, Message, Response, Text
from app.domain.screens import ArtifactRef, Observation, ScreenDiff, Size, TreeStatus, UiTree
from app.domain.tasks import StepRecord, StepState
from app.memory.ledger import PENDING
from app.memory.tail import Elements, TailFacts
from app.memory.tokens import Counter, cut_text
from app.memory.transcript import Transcript
from app.memory.zones import Stable

THINKING = "I look at the screen and tap what the plan names. " * 8
START = datetime(2026, 1, 1, tzinfo=UTC)


def observation(number: int, title: str = "") -> Observation:
    return Observation(
        observation_id=f"o{number}",
        taken_at=START,
        tree=UiTree(status=TreeStatus.OK),
        window=Size(width=412, height=915),
        title=title or f"Screen {number}",
        url=f"http://phone/{number}",
        element_count=20,
        dhash=f"{number:016x}",
        signature=f"s{number}",
        content_hash=f"c{number}",
    )


def step(
    number: int,
    *,
    thinking: str = THINKING,
    tool_result: str = "",
    verdict: Verdict = Verdict.EXECUTED,
    irreversible: bool = False,
) -> StepRecord:
    label = f"Button {number}"
    tools: list[Message] = []
    if tool_result:
        call = Call(name="notes", args={"op": "read", "key": "a"}, signature=b"\x00\xff")
        tools = [
            Message(role="model", parts=(call,)),
            Message(role="user", parts=(Response(name="notes", response={"result": tool_result}),)),
        ]
    messages = (
        *tools,
        Message(
            role="model",
            parts=(
                Text(text=thinking),
                Call(name="tap", args={"element": number % 20}, signature=bytes([number % 256])),
            ),
        ),
        Message(role="user", parts=(Response(name="tap", response=PENDING),)),
    )
    return StepRecord(
        step_id=f"id{number}",
        step_number=number,
        state=StepState.DONE,
        started_at=START,
        offset=number * 7.0,
        observation=observation(number),
        thinking=thinking,
        action=Tap(target=Target(point=Point(x=500, y=500), text=label)),
        action_text=f"tap [{label}]",
        messages=messages,
        receipt=Receipt(outcome=Outcome.OK),
        verdict=verdict,
        diff=ScreenDiff(changed=True, page_changed=True, added=(f"Value {number}",)),
        irreversible=irreversible,
    )


def transcript(
    goal: str = "Walk through the screens.", *, system_tokens: int = 3_000
) -> Transcript:
    return Transcript(
        goal=goal,
        stable=Stable("rule " * (system_tokens * 4 // 5), ()),
        config=MemoryConfig(),
        counter=Counter(2_064),
    )


def tail(number: int, *, element_tokens: int = 1_400) -> TailFacts:
    text = "[0] button “Next” @1,1\n" * 500
    return TailFacts(
        step_number=number,
        offset=number * 7.0,
        observation=observation(number),
        elements=Elements(
            render=lambda tokens: cut_text(text, min(tokens, element_tokens)),
            counts=lambda tokens: (20, 40),
        ),
        image=Image(
            ref=ArtifactRef(sha256=f"{number:064x}", media_type="image/jpeg", size=1),
            width=720,
            height=1600,
        ),
    )
