"""A pretended phone, and the prompts an operator would get of it by the prompt contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.domain.messages import (
    Call,
    JsonObject,
    Message,
    ModelRequest,
    Response,
    Role,
    Text,
    ToolSpec,
    user,
)
from app.llm.offline.operator import answer_operator

IN_TURN = ("recall_history", "notes", "remember", "update_plan", "explore_ui", "ask_user")
ACTIONS = (
    "tap long_press double_tap input_text clear_text swipe scroll_to drag press_key back home "
    "launch_app terminate_app open_url hide_keyboard set_orientation accept_alert dismiss_alert "
    "wait finish give_up"
).split()
TOOLS = tuple(
    ToolSpec(name=name, description=name, parameters={"type": "object"})
    for name in (*IN_TURN, *ACTIONS)
)


def q(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def line(
    index: int, role: str, text: str = "", more: str = "", at: tuple[int, int] = (500, 0)
) -> str:
    """An element line as the prompt shows it; without a height, one row per index."""
    x, y = at[0], at[1] or 60 + index * 60
    shown = f" {q(text)}" if text else ""
    return f"[{index}] {role}{shown}{' ' + more if more else ''} @{x},{y}"


@dataclass
class Screen:
    """What stands on the phone, and what a call does to it: a new screen or None."""

    lines: list[str]
    page: str = "Page"
    alert: str = ""
    toast: str = ""
    hidden: list[str] = field(default_factory=list)
    """Elements that only explore_ui finds."""
    on: dict[str, Callable[[JsonObject], Screen | str | None]] = field(default_factory=dict)
    """By function name, or `name:element`. A text is a verdict without another screen."""


@dataclass
class Session:
    """Plays the agent: builds prompts, serves tools, applies actions, keeps what memory keeps."""

    goal: str
    screen: Screen
    plan: list[str] = field(default_factory=list)
    """Plan lines, shown as they are."""
    kept: list[str] = field(default_factory=list)
    since: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    hot_turns: int = 2
    """Turns that stay in A."""
    recall: Callable[[JsonObject], str] = lambda args: "Nothing recorded matches."
    answers: str = "forty-two"
    refuse: dict[str, str] = field(default_factory=dict)
    """Function names whose calls are refused, once each, with the reason."""
    forgets: bool = False
    """Remembered values leave the prompt at once."""
    scroll_verdict: str = "executed"
    """What a scroll_to that brought another screen ends in."""
    answer: Callable[[ModelRequest], Message] = answer_operator

    def __post_init__(self) -> None:
        self.step = 1
        self.turns: list[list[Message]] = []
        self.live: list[Message] = []
        self.calls: list[tuple[str, JsonObject]] = []
        self.words: list[str] = []
        self.plan_calls: list[JsonObject] = []
        self.remembered: dict[str, str] = {}
        self.allowed: tuple[str, ...] | None = None

    # --- prompt ----------------------------------------------------------------------------

    def request(self) -> ModelRequest:
        frozen = f"# GOAL\n{self.goal}"
        if self.kept:
            frozen += "\n\n# KEPT\n" + "\n".join(self.kept)
        if self.history:
            frozen += "\n\n# HISTORY\n" + "\n".join(self.history)
        active = (
            [m for turn in self.turns[-self.hot_turns :] for m in turn] if self.hot_turns else []
        )
        return ModelRequest(
            role=Role.OPERATOR,
            system="You operate a phone.",
            messages=(user(frozen), *active, user(self.tail()), *self.live),
            tools=TOOLS,
            allowed_tools=self.allowed,
        )

    def tail(self) -> str:
        s = self.screen
        lines = [f"# NOW [Step {self.step} · T+00:0{self.step % 10}]"]
        if self.plan:
            done = sum("[x]" in row for row in self.plan)
            lines += [f"## Plan (revision 1, {done} of {len(self.plan)} done)", *self.plan]
        if self.since:
            lines += ["## Since the last compaction", *self.since]
        lines += ["## Screen", f"page {q(s.page)}; 412x915 portrait; keyboard hidden; windows 1"]
        lines += [f"alert: {q(s.alert)}"] if s.alert else []
        lines += [f"toast: {q(s.toast)}"] if s.toast else []
        lines += [f"## Elements ({len(s.lines)} shown of {len(s.lines)})", *s.lines]
        return "\n".join(lines)

    # --- playing ---------------------------------------------------------------------------

    def move(self) -> Call:
        """One reply of the operator; a tool is served, an action ends the turn."""
        message = self.answer(self.request())
        [call] = message.calls
        self.calls.append((call.name, call.args))
        self.words.append(message.text)
        if reason := self.refuse.pop(call.name, ""):
            self._live(message, call, {"error": f"refused: {reason}"})
        elif call.name in IN_TURN:
            self._live(message, call, self._serve(call))
        else:
            self._end_turn(message, call)
        return call

    def run(self, limit: int = 60) -> tuple[str, str]:
        """Plays to the end; the name and text of the last call."""
        for _ in range(limit):
            call = self.move()
            if call.name in ("finish", "give_up") and not self.live:
                return call.name, str(call.args.get("answer", call.args.get("reason")))
        raise AssertionError(f"no end after {limit} replies: {self.words[-3:]}")

    @property
    def actions(self) -> list[tuple[str, JsonObject]]:
        return [(name, args) for name, args in self.calls if name not in IN_TURN]

    def _live(self, message: Message, call: Call, response: JsonObject) -> None:
        answer = Response(id=call.id, name=call.name, response=response)
        self.live += [message, Message(role="user", parts=(answer,))]

    def _serve(self, call: Call) -> JsonObject:
        args: Any = call.args
        match call.name:
            case "remember":
                for pair in args["values"]:
                    self.remembered[pair["key"]] = pair["value"]
                    if not self.forgets:
                        self.since.append(
                            f"- {pair['key']} = {q(pair['value'])} (step {self.step})"
                        )
                return {"result": "kept"}
            case "explore_ui":
                return {"result": "\n".join(self.screen.hidden) or "no element matches"}
            case "update_plan":
                self.plan_calls.append(args)
                self._tick(args)
                return {"result": "ok"}
            case "recall_history":
                return {"result": self.recall(args)}
            case "ask_user":
                return {"result": self.answers}
        return {"result": "ok"}

    def _tick(self, args: JsonObject) -> None:
        for at, row in enumerate(self.plan):
            number, text = at + 1, row.split("] ", 1)[1]
            if number in args.get("done", ()):
                self.plan[at] = f"- [x] {text}"
            elif number == args.get("active"):
                self.plan[at] = f"- [/] {text}"

    def _end_turn(self, message: Message, call: Call) -> None:
        on = self.screen.on
        effect = on.get(f"{call.name}:{call.args.get('element')}") or on.get(call.name)
        after = effect(call.args) if effect else "no_visible_change"
        verdict = "executed"
        if isinstance(after, Screen):
            self.screen = after
            verdict = self.scroll_verdict if call.name == "scroll_to" else verdict
        elif isinstance(after, str):
            verdict = after
        result: JsonObject = {"verdict": verdict, "change": "", "message": "as the phone said"}
        answer = Response(id=call.id, name=call.name, response=result)
        head = Text(text=f"[Step {self.step} · T+00:01] Screen “{self.screen.page}”, 5 elements")
        turn = [Message(role="user", parts=(head,)), *self.live, message]
        self.turns.append([*turn, Message(role="user", parts=(answer,))])
        self.live = []
        self.step += 1
