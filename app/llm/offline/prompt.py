"""Reads an operator request back into what it says: the offline model knows nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from app.domain.messages import (
    Call,
    JsonObject,
    Message,
    ModelRequest,
    Response,
    Text,
)
from app.llm.offline.elements import Shown, read_elements

NOW = "# NOW"
GOAL = "# GOAL"

_STEP_HEAD = re.compile(r"# NOW \[Step (\d+)")
_KEPT_VALUE = re.compile(r'^- ([^\n=]+?) = ("(?:[^"\\\n]|\\.)*") \(step (\d+)\)$', re.MULTILINE)
_INSTRUCTION = re.compile(r"^- I(\d+) \(step (\d+)\): (.*)$", re.MULTILINE)
_ANSWER = re.compile(
    r'^- Q \(step \d+\): ("(?:[^"\\\n]|\\.)*") → ("(?:[^"\\\n]|\\.)*")$', re.MULTILINE
)
_PLAN_HEAD = re.compile(r"^## Plan \(revision (\d+), (\d+) of (\d+) done\)", re.MULTILINE)
_MILESTONE = re.compile(r"^- \[( |/|x|Loop|Loop:continuous)\] (\d+)\. (.*)$", re.MULTILINE)
_VERDICT = re.compile(r'"verdict":\s*"(\w+)"')
_EXCERPT = re.compile(r"\nI said \(excerpt\): (.*?)\n(Step \d+ .*)", re.DOTALL)
_LEDGER_VERDICT = re.compile(r"→ (executed|no_visible_change|uncertain|error|blocked)\b")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call of this turn and what came back."""

    name: str
    args: JsonObject
    response: JsonObject


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the last action."""

    verdict: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A visible line of the plan."""

    box: str
    number: int
    text: str

    @property
    def done(self) -> bool:
        return self.box == "x"

    @property
    def active(self) -> bool:
        return self.box == "/"


@dataclass(frozen=True, slots=True)
class PlanView:
    """The part of the plan that the prompt shows."""

    done: int
    total: int
    lines: tuple[Line, ...]

    @property
    def active(self) -> Line | None:
        marked = [line for line in self.lines if line.active]
        return next(iter(marked or [line for line in self.lines if not line.done]), None)


@dataclass(frozen=True)
class PromptView:
    """One operator request, taken apart."""

    frozen: str
    """F."""
    earlier: tuple[Message, ...]
    """A."""
    tail: str
    """T."""
    exchanges: tuple[Exchange, ...]
    declared: frozenset[str]
    allowed: frozenset[str]

    @cached_property
    def goal(self) -> str:
        text = self.frozen.removeprefix(GOAL).lstrip("\n")
        for head in ("\n# HISTORY\n", "\n# KEPT\n"):
            if (at := text.rfind(head)) >= 0:
                text = text[:at]
        return text.strip()

    @property
    def has_history(self) -> bool:
        """Steps were taken whose turns are not in A."""
        return "\n# HISTORY\n" in self.frozen

    @cached_property
    def step(self) -> int:
        found = _STEP_HEAD.match(self.tail)
        return int(found[1]) if found else 1

    @cached_property
    def texts(self) -> str:
        """F and T after the goal: what the memory keeps, never what a screen shows."""
        after_goal = self.frozen[len(GOAL) + len(self.goal) :]
        return f"{after_goal}\n{self.tail}"

    @cached_property
    def values(self) -> dict[str, tuple[str, int]]:
        """Remembered values and their steps; of equal keys the newest."""
        values: dict[str, tuple[str, int]] = {}
        for key, raw, step in _KEPT_VALUE.findall(self.texts):
            name = key.strip().casefold()
            if name not in values or values[name][1] <= int(step):
                values[name] = (str(json.loads(raw, strict=False)), int(step))
        return values

    @cached_property
    def instructions(self) -> dict[int, str]:
        """What a person said, by number."""
        return {int(n): _maybe_json(raw) for n, _, raw in _INSTRUCTION.findall(self.texts)}

    @cached_property
    def frozen_instructions(self) -> frozenset[int]:
        return frozenset(int(n) for n, _, _ in _INSTRUCTION.findall(self.frozen))

    @cached_property
    def answers(self) -> dict[str, str]:
        return {
            str(json.loads(q, strict=False)): str(json.loads(a, strict=False))
            for q, a in _ANSWER.findall(self.texts)
        }

    @cached_property
    def plan(self) -> PlanView | None:
        head = _PLAN_HEAD.search(self.tail)
        if head is None:
            return None
        body = re.split(r"^## ", self.tail[head.end() :], maxsplit=1, flags=re.MULTILINE)[0]
        lines = tuple(Line(box, int(n), text) for box, n, text in _MILESTONE.findall(body))
        return PlanView(int(head[2]), int(head[3]), lines)

    @cached_property
    def screen(self) -> str:
        """The lines of `## Screen`."""
        return self._section("Screen")

    @cached_property
    def alert(self) -> str | None:
        """The open alert's text; None when no alert is open."""
        found = re.search(r"^alert: (.*)$", self.screen, re.MULTILINE)
        return _maybe_json(found[1]) if found else None

    @cached_property
    def page(self) -> str:
        found = re.search(r'^page ("(?:[^"\\\n]|\\.)*")', self.screen, re.MULTILINE)
        return _maybe_json(found[1]) if found else ""

    @cached_property
    def elements(self) -> tuple[Shown, ...]:
        return read_elements(self._section("Elements"))

    @cached_property
    def messages(self) -> tuple[str, ...]:
        """What stands in front of the elements: the alert, and toasts."""
        toasts = re.findall(r"^toast: (.*)$", self.screen, re.MULTILINE)
        return (*([self.alert] if self.alert else []), *(_maybe_json(t) for t in toasts))

    @cached_property
    def shown_texts(self) -> tuple[str, ...]:
        """Everything that can be read on the screen now."""
        elements = (t for e in self.elements for t in (e.text, e.value, e.hint))
        return (self.page, *self.messages, *elements)

    def own_words(self) -> Iterator[str]:
        """What the model itself said in A, newest first; excerpts of large turns included."""
        for message in reversed(self.earlier):
            if message.role == "model":
                yield message.text
            elif found := _EXCERPT.search(message.text):
                yield found[1]

    @cached_property
    def result(self) -> Result | None:
        """What the newest turn in A ended in."""
        for message in reversed(self.earlier):
            for part in reversed(message.parts):
                if isinstance(part, Response) and "verdict" in part.response:
                    told = str(part.response.get("message") or "")
                    return Result(str(part.response["verdict"]), told)
                if isinstance(part, Text) and message.role == "user":
                    if result := _told_result(part.text):
                        return result
        return None

    def _section(self, title: str) -> str:
        # The last heading counts: element and screen lines are quoted and cannot forge one.
        start = self.tail.rfind(f"\n## {title}")
        if start < 0:
            return ""
        body = self.tail[start + 1 :].partition("\n")[2]
        return body.partition("\n## ")[0]


def read_prompt(request: ModelRequest) -> PromptView:
    """Takes a request apart; missing zones are empty."""
    messages = request.messages
    starts = [i for i, m in enumerate(messages) if m.role == "user" and m.text.startswith(NOW)]
    now = starts[-1] if starts else len(messages) - 1
    first = 1 if messages and messages[0].text.startswith(GOAL) else 0
    declared = frozenset(tool.name for tool in request.tools)
    allowed = declared if request.allowed_tools is None else frozenset(request.allowed_tools)
    return PromptView(
        frozen=messages[0].text if first else "",
        earlier=messages[first:now],
        tail=messages[now].text if messages else "",
        exchanges=_exchanges(messages[now + 1 :]),
        declared=declared,
        allowed=allowed,
    )


def _exchanges(messages: tuple[Message, ...]) -> tuple[Exchange, ...]:
    """Calls of this turn with their answers, matched by id, else by name in order."""
    waiting: list[Call] = []
    done: list[Exchange] = []
    for message in messages:
        waiting.extend(message.calls)
        for part in message.parts:
            if not isinstance(part, Response):
                continue
            call = next((c for c in waiting if c.id == part.id and c.name == part.name), None)
            if call is not None:
                waiting.remove(call)
                done.append(Exchange(call.name, call.args, part.response))
    return tuple(done)


def _told_result(text: str) -> Result | None:
    """A result told as text: the JSON of a lost call, or the ledger line of an excerpt."""
    if text.startswith("Result: ") and (words := _VERDICT.findall(text)):
        return Result(words[-1])
    if (found := _EXCERPT.search(text)) and (ledger := _LEDGER_VERDICT.findall(found[2])):
        return Result(ledger[-1])
    return None


def _maybe_json(raw: str) -> str:
    raw = raw.strip()
    if raw.startswith('"'):
        try:
            return str(json.loads(raw, strict=False))
        except ValueError:
            return raw.strip('"')
    return raw
