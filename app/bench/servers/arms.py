"""The outside of an arm: its phone, its model, and what they saw of the agent between them."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any

from app.bench.drawing import BACK, NEXT, WINDOW
from app.bench.servers.appium import AppiumHandler, Refusal
from app.bench.servers.gemini import (
    BACKGROUND,
    Behaviour,
    Recorded,
    daily_quota,
    either,
    hang,
    parts_of,
    pictures_of,
    reply_of,
    request_of,
    says,
    unavailable,
)
from app.bench.servers.local import Json
from app.bench.servers.rota import Rota
from app.bench.walk import PACKAGE, Walk, WalkModel, screenshot, ui_source
from app.domain.messages import Role
from app.domain.values import Value
from app.llm.offline.model import IMAGE_TOKENS, answer


class Arm(StrEnum):
    """What the model that writes summaries and capsules does."""

    HEALTHY = "healthy"
    SILENT = "silent"
    """It never answers."""
    SLOW = "slow"
    """It answers after a minute."""
    GARBAGE = "garbage"
    """It answers at once, with what breaks every rule."""
    UNAVAILABLE = "unavailable"
    """503 all day."""
    QUOTA = "quota"
    """It answers well until the day's quota is used up."""


class Plan(Value):
    """How the outside behaves; equal for all arms but for what an arm is about."""

    screens: int
    scale: int = 1
    """Screenshots are so many times smaller than the phone's."""
    block: int = 3
    """Steps of one arm in a row."""
    thinks: float = 0.04
    """Seconds that the operator's model takes."""
    slow: float = 60.0
    """Seconds that the slow background model takes."""
    quota: int = 40
    """Background answers before the day's quota is used up."""

    @property
    def walk(self) -> Walk:
        return Walk(screens=self.screens, pictures=True, scale=self.scale, wordy=True)


class Seen(Value):
    """What the outside saw of one arm."""

    windows: tuple[float, ...]
    """Seconds from the last answer of a turn's look to the operator's request."""
    asked: int
    """Requests for summaries and capsules."""
    answered: int
    """Of them, those that were answered at once, well or badly."""


GARBAGE = (
    "## Summary of the step",
    "Successfully entered 4711 and arrived at the last page.",
    "- I tapped the button\n- I waited for the page",
    "",
    "The agent opened the record and then the agent tapped the button below it.",
    "{}",
    '{"doing": "I read “no such value”.", "intervals": [{"start_step": 9, "end_step": 1}]}',
    "502 " * 1_000,
)
"""Answers that break the rules for summaries and for capsules, in turn."""
PAGE = "<html><title>502 Bad Gateway</title></html>"
"""What a proxy says; no answer at all."""


class WalkPhone:
    """Shows the walk's screens; a tap on Next goes on."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self.sessions: dict[str, Json] = {}
        self.number = 1
        self.answered = 0.0
        """Monotonic time of the newest answer."""

    def answer(self, method: str, path: str, body: Json) -> Any:
        match method, path:
            case "GET", "/source":
                return ui_source(self._walk, self.number)
            case "GET", "/screenshot":
                return _picture(self._walk, self.number)
            case "GET", "/window/rect":
                return {"x": 0, "y": 0, "width": WINDOW.width, "height": WINDOW.height}
            case "POST", "/actions":
                return self._touched(body)
            case "POST", "/back":
                return self._go(-1)
            case "POST", "/execute/sync":
                return self._mobile(body["script"])
        return Refusal(f"{method} {path}", "unknown command", 404)

    def _touched(self, body: Json) -> None:
        moves = (move for source in body["actions"] for move in source.get("actions") or [])
        places = [(move["x"], move["y"]) for move in moves if "x" in move]
        if places and NEXT.contains(*places[-1]):
            self._go(1)
        elif places and BACK.contains(*places[-1]):
            self._go(-1)

    def _go(self, screens: int) -> None:
        self.number = max(1, min(self.number + screens, self._walk.screens))

    def _mobile(self, script: str) -> Any:
        known = {
            "mobile: getCurrentPackage": PACKAGE,
            "mobile: getCurrentActivity": ".RecordActivity",
            "mobile: isKeyboardShown": False,
        }
        unknown = Refusal(f"Unknown mobile command {script!r}", "unknown method", 405)
        return known.get(script, unknown)


@lru_cache(maxsize=32)
def _picture(walk: Walk, number: int) -> str:
    return base64.b64encode(screenshot(walk, number).data).decode()


class PhoneHandler(AppiumHandler):
    """Notes when it answered, and when the session ends."""

    phone: WalkPhone
    ended: Callable[[], None]

    def intercept(self, method: str, path: str, body: Json) -> bool:
        if method == "DELETE" and not path:
            self.ended()
        return False

    def reply(self, value: Any) -> None:
        super().reply(value)
        self.phone.answered = time.monotonic()


class ArmModel:
    """Walks as the operator; as a writer it does what its arm is about."""

    def __init__(self, arm: Arm, plan: Plan, phone: WalkPhone, rota: Rota) -> None:
        self._arm = arm
        self._plan = plan
        self._phone = phone
        self._rota = rota
        self._walk = WalkModel(plan.walk)
        self._looked = 0.0
        self._windows: list[float] = []
        self._asked = self._answered = self._signed = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def seen(self) -> Seen:
        with self._lock:
            windows = tuple(self._windows)
            return Seen(windows=windows, asked=self._asked, answered=self._answered)

    def take(self, request: Recorded) -> Behaviour:
        asked = request_of(request.body)
        if asked.role in BACKGROUND:
            with self._lock:
                self._asked += 1
                number = self._asked
            behaviour = self._written(number, lambda: parts_of(answer(asked)))
            with self._lock:
                self._answered += behaviour.status == 200 and not (
                    behaviour.hang or behaviour.delay
                )
            return behaviour
        if asked.role is Role.OPERATOR:
            self._note(request.arrived)
            self._rota.step(self._arm)
        self.closing.wait(self._plan.thinks)
        parts = parts_of(self._walk.answer(asked))
        self._signed += 1
        return Behaviour(parts=parts, signature=f"signature {self._signed}".encode())

    def _note(self, arrived: float) -> None:
        """A second request of a turn has no look before it and is no window."""
        looked = self._phone.answered
        with self._lock:
            if looked > self._looked:
                self._windows.append(arrived - looked)
            self._looked = looked

    def _written(self, number: int, well: Callable[[], list[Json]]) -> Behaviour:
        match self._arm:
            case Arm.SILENT:
                return hang()
            case Arm.SLOW:
                return Behaviour(parts=well(), delay=self._plan.slow)
            case Arm.GARBAGE if number % (len(GARBAGE) + 1) == 0:
                return Behaviour(body=PAGE)
            case Arm.GARBAGE:
                return says(GARBAGE[number % len(GARBAGE)])
            case Arm.UNAVAILABLE:
                return unavailable()
            case Arm.QUOTA if number > self._plan.quota:
                return daily_quota()
            case _:
                return Behaviour(parts=well())

    def reply(self, request: Recorded, behaviour: Behaviour) -> Json:
        parts = [dict(part) for part in behaviour.parts or []]
        if behaviour.signature is not None and parts:
            signature = base64.b64encode(behaviour.signature).decode()
            next((p for p in parts if "functionCall" in p), parts[-1])["thoughtSignature"] = (
                signature
            )
        return reply_of(request, parts, behaviour.finish, prompt_tokens(request.body), 0)


def prompt_tokens(body: Json) -> int:
    """What the provider says that a request cost: four characters a token, and its pictures."""
    contents = [
        {**content, "parts": [p for p in content["parts"] if either(p, "inlineData") is None]}
        for content in body.get("contents") or []
    ]
    text = json.dumps({**body, "contents": contents}, ensure_ascii=False, separators=(",", ":"))
    return len(text) // 4 + IMAGE_TOKENS * pictures_of(body)
