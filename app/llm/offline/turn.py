"""One turn of the offline operator: its place, its tools, its action, its plan.

A turn is a generator of moves. A move that is a tool call gets the tool's answer sent
back; an action gets an answer only when it was refused. Every request of a turn replays
the generator with the answers that stand in the prompt, so nothing is kept in between.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from app.domain.actions import IRREVERSIBLE_WORDS
from app.domain.messages import JsonObject
from app.llm.offline.commands import Command, Verb, render
from app.llm.offline.elements import Shown, plain, read_elements
from app.llm.offline.language import Program, parse
from app.llm.offline.milestones import group_at, groups
from app.llm.offline.place import Place, find_place, furthest_place
from app.llm.offline.prompt import Line, PromptView, Result

MAX_TOOLS = 10
"""In-turn tool calls after which the turn is ended by a short wait."""
MAX_TRIES = 2
PRESSES = frozenset({Verb.TAP, Verb.LONG_PRESS, Verb.DOUBLE_TAP, Verb.TAP_AT})

TWICE_IS_ONCE = frozenset(
    {Verb.OPEN, Verb.CLOSE, Verb.VISIT, Verb.HOME, Verb.TYPE, Verb.CLEAR, Verb.ROTATE}
)
ADDING_WORDS = frozenset("add apply create decrease increase new save".split())
"""A tap on one of these that may have worked is not repeated: two would be one too many."""


@dataclass(frozen=True, slots=True)
class Move:
    """One function call with the words that go with it."""

    words: str
    name: str
    args: JsonObject


Moves = Generator[Move, JsonObject, None]
Told = Generator[Move, JsonObject, str | None]
"""Moves that end in a text, or in None where there is none."""


class GivesUp(Exception):
    """The program cannot go on; the reason is for people."""


class Turn:
    """What every command needs: the prompt, the program, and the place in it."""

    def __init__(self, view: PromptView, program: Program) -> None:
        self.view = view
        self.program = program
        self.total = len(program.commands)
        self.place = Place()
        self.values = {name: value for name, (value, _) in view.values.items()}
        self.explored: dict[str, tuple[Shown, ...]] = {}
        self.remark = ""
        self._tools = 0
        self._inserted: tuple[Command, ...] = ()
        active = view.plan.active if view.plan else None
        self._active = active.number if active else 0

    @property
    def command(self) -> Command | None:
        """The command to carry out now; None when an inserted instruction is at its end."""
        if self.place.inserted:
            part = self.place.part
            return self._inserted[part] if part < len(self._inserted) else None
        return self.program.commands[min(self.place.index, self.total - 1)]

    # --- moves -----------------------------------------------------------------------------

    def _move(self, name: str, args: JsonObject) -> Move:
        command = self.command
        doing = render(command) if command else "going on"
        words = self.place.line(self.total, f"{doing}.")
        return Move(f"{words} {self.remark}".rstrip(), name, args)

    def tool(self, name: str, args: JsonObject) -> Generator[Move, JsonObject, JsonObject]:
        """Calls an in-turn tool; ends the turn first when none may be called any more."""
        if name not in self.view.declared:
            return {"error": f"there is no tool {name}"}
        if self._tools >= MAX_TOOLS or (
            name not in self.view.allowed and self._tools >= len(self.view.exchanges)
        ):
            yield from self.act("wait", {"seconds": 1}, stage=self.place.stage or "paused")
        self._tools += 1
        return (yield self._move(name, args))

    def act(
        self,
        name: str,
        args: JsonObject,
        *,
        stage: str = "",
        instead: tuple[str, JsonObject] | None = None,
    ) -> Moves:
        """Ends the turn with an action. A refused one is adapted once, then given up."""
        if self.view.alert is not None and name not in ("accept_alert", "dismiss_alert"):
            self._expect_no_alert()
            name, args, stage, instead = "dismiss_alert", {}, "alert", None
            self.place = replace(self.place, tries=self.place.tries + 1)
        self.place = self.place.at_stage(stage)
        self._need(name)
        answer = yield self._move(name, args)
        if instead is not None:
            answer = yield self._move(*instead)
        raise GivesUp(f"This was refused: {_error(answer)}")

    def _expect_no_alert(self) -> None:
        if self.place.tries > 3:
            raise GivesUp(f"The alert “{self.view.alert}” stays open although I dismissed it.")

    def _need(self, name: str) -> None:
        if name not in self.view.declared:
            raise GivesUp(f"This device offers no action {name}.")

    # --- where it is -----------------------------------------------------------------------

    def locate(self) -> Moves:
        """Takes up the place that its own words name, and what became of its last action."""
        if place := find_place(self.view.own_words(), self.total):
            self._take_up(place)
            self._judge(self.view.result)
            return
        if self.view.step > 1 and (self.view.earlier or self.view.has_history):
            yield from self._recover()

    def _take_up(self, place: Place) -> None:
        self.place = place
        if place.inserted:
            text = self.view.instructions.get(place.inserted, "")
            self._inserted = parse(text).commands
            if not self._inserted:
                self.place = place.back_to_program()

    def _recover(self) -> Moves:
        """Its own words left the prompt: asks the history for them, else trusts the plan."""
        recent = [max(1, self.view.step - 3), self.view.step - 1]
        answer = yield from self.tool("recall_history", {"query": "At", "step_range": recent})
        place = furthest_place(_result(answer), self.total)
        if place is not None:
            self._take_up(place)
            self._judge(self.view.result or Result("executed"))
            self.remark = "I found my place in the history."
            return
        heard = max(self.view.frozen_instructions, default=0)
        self.place = Place(index=self._start_of_active(), heard=heard)
        self.remark = "My place is lost; I start at the active milestone."

    def _start_of_active(self) -> int:
        plan = self.view.plan
        if plan is None or plan.active is None:
            return 0
        made = groups(self.program.commands)
        active = plan.active
        for group in made:
            if _is_milestone(active, group.text):
                return group.first
        number = min(active.number, len(made)) - 1
        return made[number].first

    def _judge(self, result: Result | None) -> None:
        """Goes on, repeats or gives up, by the verdict on the last action."""
        command, place = self.command, self.place
        if command is None:
            self.place = place.back_to_program()
            return
        verdict = result.verdict if result else "uncertain"
        if place.stage in ("paused", "alert"):
            # Neither was the command's own doing; while the alert stays, its tries count.
            keeps = place.stage == "alert" and self.view.alert is not None
            self.place = replace(place, stage="", tries=place.tries if keeps else 1)
            return
        if place.stage:
            return
        if verdict == "executed":
            self.place = place.after()
        elif verdict in ("error", "blocked"):
            if place.tries >= MAX_TRIES:
                why = result.message if result and result.message else verdict
                raise GivesUp(f"{render(command)} did not work: {why}")
            self.place = place.again()
        elif self._worth_repeating(command, verdict):
            self.place = place.again()
        else:
            self.place = place.after()

    def _worth_repeating(self, command: Command, verdict: str) -> bool:
        """A tap without effect is repeated once, unless that could do a thing twice.

        So is what may not have happened at all, where twice is the same as once.
        """
        if self.place.tries >= MAX_TRIES:
            return False
        if command.verb in TWICE_IS_ONCE:
            return verdict == "uncertain" and not command.submit
        if command.verb not in PRESSES:
            return False
        words = set(plain(command.text).split())
        if words & IRREVERSIBLE_WORDS or (verdict == "uncertain" and words & ADDING_WORDS):
            return False
        return any(plain(command.text) in plain(text) for text in self.view.shown_texts if text)

    def advance(self) -> Moves:
        """The command is done without an action of its own."""
        self.place = self.place.after()
        self.remark = ""
        yield from self.settle_place()

    def settle_place(self) -> Moves:
        """Leaves an inserted instruction at its end, takes up a new one, keeps the plan true."""
        if self.place.inserted and self.command is None:
            self.place = self.place.back_to_program()
        if not self.place.inserted:
            self._hear()
        if not self.place.inserted:
            yield from self._keep_plan()

    def _hear(self) -> None:
        """Takes up what a person said since, oldest first; what it cannot read it says."""
        for number in sorted(n for n in self.view.instructions if n > self.place.heard):
            text = self.view.instructions[number]
            program = parse(text)
            if program.readable:
                self.place = self.place.hearing(number)
                self._inserted = program.commands
                return
            self.place = replace(self.place, heard=number)
            self.remark = f"I cannot read I{number} (“{' '.join(text.split())[:80]}”), so I go on."

    # --- the plan --------------------------------------------------------------------------

    def _keep_plan(self) -> Moves:
        """Ticks what the place has passed and marks the milestone that it is in."""
        plan = self.view.plan
        if plan is None or plan.active is None:
            return
        made = groups(self.program.commands)
        number = group_at(made, min(self.place.index, self.total - 1))
        target = self._number(plan.lines, made[number].text)
        if target is None and plan.total == len(made):
            target = number + 1
        if target is None or target == self._active:
            return
        done = list(range(self._active, target))
        self._active = target
        args: JsonObject = {"done": done} if done else {}
        yield from self.tool("update_plan", {**args, "active": target})

    def _number(self, lines: tuple[Line, ...], text: str) -> int | None:
        return next((line.number for line in lines if _is_milestone(line, text)), None)

    def close_plan(self, *, all_of_it: bool = False) -> Moves:
        """Before the end every milestone is ticked."""
        plan = self.view.plan
        if plan is None or (plan.done >= plan.total and not all_of_it):
            return
        first = 1 if all_of_it or plan.active is None else plan.active.number
        yield from self.tool("update_plan", {"done": list(range(first, plan.total + 1))})

    # --- looking further -------------------------------------------------------------------

    def explore(self, label: str) -> Generator[Move, JsonObject, tuple[Shown, ...]]:
        """Elements beyond the list that the prompt shows."""
        key = plain(label)
        if key not in self.explored:
            answer = yield from self.tool("explore_ui", {"query": label})
            self.explored[key] = read_elements(_result(answer))
        return self.explored[key]

    def recall(self, query: str) -> Generator[Move, JsonObject, str]:
        answer = yield from self.tool("recall_history", {"query": query})
        return _result(answer)

    def remember(self, name: str, value: str) -> Moves:
        pair = {"key": name, "value": value}
        answer = yield from self.tool("remember", {"values": [pair]})
        if "error" in answer:
            raise GivesUp(f"The value of {name} could not be remembered: {_error(answer)}")
        self.values[name] = value
        self.remark = f"{name} is “{' '.join(value.split())[:60]}”."


def _is_milestone(line: Line, text: str) -> bool:
    return line.text == text or line.text.startswith(f"{text} (")


def _result(answer: JsonObject) -> str:
    """A tool's answer as text; an error is no answer."""
    return str(answer.get("result") or "")


def _error(answer: JsonObject) -> str:
    return str(answer.get("error") or answer.get("result") or "no reason given")
