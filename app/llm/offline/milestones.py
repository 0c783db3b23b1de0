"""Groups a program into milestones: the same for the planner, who writes them, and the operator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.llm.offline.commands import ENDS, IN_TURN, Command, Verb

GROUP_SIZE = 6
MAX_GROUPS = 40
MAX_TEXT = 90
STARTS = frozenset({Verb.OPEN, Verb.VISIT})


@dataclass(frozen=True, slots=True)
class Group:
    """Commands `first` to `last` (0-based, both included) under one milestone."""

    first: int
    last: int
    text: str


@lru_cache(maxsize=16)
def groups(commands: tuple[Command, ...]) -> tuple[Group, ...]:
    """One group per app opened, or about every six commands; at most 40 groups."""
    if not commands:
        return ()
    size = max(GROUP_SIZE, math.ceil(len(commands) / MAX_GROUPS))
    starts = list(_starts(commands, size))
    if len(starts) > MAX_GROUPS:
        every = math.ceil(len(starts) / MAX_GROUPS)
        starts = starts[::every]
    made: list[Group] = []
    used: dict[str, int] = {}
    for first, following in zip(starts, [*starts[1:], len(commands)], strict=True):
        text = _text(commands[first:following])
        used[text] = used.get(text, 0) + 1
        if used[text] > 1:
            text = f"{text} ({used[text]})"
        made.append(Group(first, following - 1, text))
    return tuple(made)


def group_at(made: Sequence[Group], index: int) -> int:
    """The number (0-based) of the group that a command belongs to."""
    return next((n for n, g in enumerate(made) if index <= g.last), len(made) - 1)


def _starts(commands: Sequence[Command], size: int) -> Iterator[int]:
    """Never before a command without an action: what it looks at belongs to the group before."""
    yield 0
    last = 0
    for index, command in enumerate(commands[1:], start=1):
        if command.verb in IN_TURN or command.verb in ENDS or command.verb is Verb.WAIT_FOR:
            continue
        if command.verb in STARTS or index - last >= size:
            yield index
            last = index


def _text(commands: Sequence[Command]) -> str:
    phrases = list(dict.fromkeys(_phrase(c) for c in commands if c.verb is not Verb.WAIT))
    text = ", ".join(phrases) or "Wait"
    if len(text) > MAX_TEXT:
        kept = text[:MAX_TEXT].rpartition(", ")[0] or text[:MAX_TEXT]
        text = f"{kept}, …"
    return text[0].upper() + text[1:]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 28 else f"{text[:27]}…"


def _phrase(c: Command) -> str:
    text, target = f"“{_short(c.text)}”", f"“{_short(c.target)}”"
    match c.verb:
        case Verb.OPEN | Verb.CLOSE | Verb.VISIT:
            return f"{c.verb} {_short(c.text)}"
        case Verb.READ | Verb.READ_NUMBER:
            return f"read {text}"
        case Verb.TYPE | Verb.APPEND if c.target:
            return f"fill in {target}"
        case Verb.TYPE | Verb.APPEND:
            return "type a text"
        case Verb.SELECT:
            return f"choose {text}"
        case Verb.CHECK | Verb.WAIT_FOR:
            return f"see {text}"
        case Verb.NOTE | Verb.REMEMBER:
            return f"note {c.name or _short(c.text)}"
        case Verb.RECALL:
            return f"look up {text}"
        case Verb.ASK:
            return "ask the user"
        case Verb.PLAN:
            return "revise the plan"
        case Verb.ANSWER:
            return "give the answer"
        case Verb.GIVE_UP:
            return "give up"
        case Verb.SWIPE:
            return f"swipe {c.direction}"
        case Verb.PRESS_KEY:
            return f"press {c.direction}"
        case Verb.ROTATE:
            return f"rotate to {c.direction}"
        case Verb.BACK:
            return "go back"
        case Verb.HOME:
            return "go home"
        case Verb.TAP_AT:
            return f"tap at {c.x:g}, {c.y:g}"
        case Verb.HIDE_KEYBOARD | Verb.ACCEPT_ALERT | Verb.DISMISS_ALERT | Verb.CLEAR:
            return str(c.verb)
    return f"{c.verb} {text}"
