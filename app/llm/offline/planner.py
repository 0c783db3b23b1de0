"""The offline planner: milestones from the program's groups, checks from its `check` lines."""

from __future__ import annotations

import re

from app.domain.messages import JsonObject, ModelRequest
from app.llm.offline.commands import Command, Verb, has_braces
from app.llm.offline.language import goal_program
from app.llm.offline.milestones import Group, groups
from app.llm.offline.sections import sections

MAX_MILESTONE = 200
MAX_CHECKS = 50
_LINE = re.compile(r"^- \[( |/|x|Loop|Loop:continuous)\] (\d+)\. (.*)$", re.MULTILINE)
_STATES = {
    " ": "open",
    "/": "active",
    "x": "done",
    "Loop": "loop",
    "Loop:continuous": "loop_continuous",
}


def answer_planner(request: ModelRequest) -> JsonObject:
    """A first plan, or the given one with the request put in after the active milestone."""
    told = sections(request, ("GOAL", "DEVICE", "PLAN", "REQUEST"))
    program = goal_program(told["GOAL"].strip())
    commands = program.commands if program.readable else ()
    made = groups(commands)
    old = _LINE.findall(told["PLAN"])
    if old:
        milestones = _revised(old, told["REQUEST"])
        reason = " ".join(told["REQUEST"].split())[:300] or "The plan was revised."
    else:
        milestones = _first(made, told["GOAL"])
        reason = "Written from the instructions of the goal."
    return {
        "milestones": milestones,
        "checks": _checks(commands, made, milestones),
        "reason": reason,
    }


def _first(made: tuple[Group, ...], goal: str) -> list[JsonObject]:
    texts = [group.text for group in made] or [" ".join(goal.split())[:MAX_MILESTONE] or "The goal"]
    return [
        {"text": text, "state": "active" if not number else "open", "progress": ""}
        for number, text in enumerate(texts)
    ]


def _revised(old: list[tuple[str, str, str]], request: str) -> list[JsonObject]:
    milestones: list[JsonObject] = [
        {"text": text, "state": _STATES[box], "progress": ""} for box, _, text in old
    ]
    wish = " ".join(request.split())[:MAX_MILESTONE]
    if wish and wish not in (m["text"] for m in milestones):
        states = [m["state"] for m in milestones]
        # Behind the active one; behind the last finished one where none is marked.
        at = states.index("active") + 1 if "active" in states else _after_done(states)
        milestones.insert(at, {"text": wish, "state": "open", "progress": ""})
    return milestones


def _after_done(states: list[str]) -> int:
    return max((n + 1 for n, state in enumerate(states) if state == "done"), default=0)


def _checks(
    commands: tuple[Command, ...], made: tuple[Group, ...], milestones: list[JsonObject]
) -> list[JsonObject]:
    """Texts that must have been seen; one with a value in it is known only while running."""
    numbers = {str(m["text"]): n for n, m in enumerate(milestones, start=1)}
    checks: dict[tuple[str, int], JsonObject] = {}
    for group in made:
        for command in commands[group.first : group.last + 1]:
            if command.verb is Verb.CHECK and not has_braces(command):
                number = numbers.get(group.text, 0)
                checks[command.text, number] = {"text": command.text, "milestone": number}
    return list(checks.values())[:MAX_CHECKS]
