"""The commands of the task language, and how each is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Verb(StrEnum):
    """What a command does. The value is its canonical first words."""

    OPEN = "open"
    CLOSE = "close"
    VISIT = "go to"
    TAP = "tap"
    TAP_AT = "tap at"
    LONG_PRESS = "long press"
    DOUBLE_TAP = "double tap"
    DRAG = "drag"
    TYPE = "type"
    APPEND = "append"
    CLEAR = "clear"
    SELECT = "select"
    TURN_ON = "turn on"
    TURN_OFF = "turn off"
    SCROLL_TO = "scroll to"
    SWIPE = "swipe"
    PRESS_KEY = "press key"
    BACK = "back"
    HOME = "home"
    HIDE_KEYBOARD = "hide keyboard"
    ROTATE = "rotate"
    ACCEPT_ALERT = "accept alert"
    DISMISS_ALERT = "dismiss alert"
    WAIT = "wait"
    WAIT_FOR = "wait for"
    CHECK = "check"
    READ = "read"
    READ_NUMBER = "read the number in"
    NOTE = "note"
    REMEMBER = "remember"
    RECALL = "recall"
    PLAN = "plan"
    ASK = "ask"
    ANSWER = "answer"
    GIVE_UP = "give up"


IN_TURN = frozenset(
    {
        Verb.CHECK,
        Verb.READ,
        Verb.READ_NUMBER,
        Verb.NOTE,
        Verb.REMEMBER,
        Verb.RECALL,
        Verb.PLAN,
        Verb.ASK,
    }
)
"""Commands that need no action of the device."""

ENDS = frozenset({Verb.ANSWER, Verb.GIVE_UP})

ALERT_VERBS = frozenset({Verb.ACCEPT_ALERT, Verb.DISMISS_ALERT})


@dataclass(frozen=True, slots=True)
class Command:
    """One instruction of a program. Which fields count depends on the verb."""

    verb: Verb
    text: str = ""
    """The first quoted text: a label, what to type, a question, an answer."""
    target: str = ""
    """The second quoted text: the field, the note's text."""
    name: str = ""
    """The variable that a value is read into."""
    nth: int = 0
    """Which of several equal labels, 1-based; -1 is the last, 0 the first best."""
    seconds: float = 0.0
    direction: str = ""
    """Of a swipe, or an orientation, or the name of a key."""
    x: float = 0.0
    y: float = 0.0
    submit: bool = False


PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^\W\d][\w-]*)\}")
"""`{name}` stands for a value; doubled braces are braces."""


def names_in(command: Command) -> tuple[str, ...]:
    """Values that a command needs, in order of first use."""
    found = PLACEHOLDER.finditer(f"{command.text}\n{command.target}")
    return tuple(dict.fromkeys(m[1] for m in found if m[1]))


def has_braces(command: Command) -> bool:
    return bool(PLACEHOLDER.search(command.text) or PLACEHOLDER.search(command.target))


def filled(command: Command, values: Mapping[str, str]) -> Command:
    """The command with its values put in; unknown names stay as they are."""

    def put(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0][0]
        return values.get(found[1].casefold(), found[0])

    if not has_braces(command):
        return command
    return replace(
        command,
        text=PLACEHOLDER.sub(put, command.text),
        target=PLACEHOLDER.sub(put, command.target),
    )


def with_round(command: Command, number: int) -> Command:
    """Puts the number of the current round in for `{round}`; other braces stay."""

    def put(text: str) -> str:
        return PLACEHOLDER.sub(lambda m: str(number) if m[1] == "round" else m[0], text)

    if "{round}" not in command.text and "{round}" not in command.target:
        return command
    return replace(command, text=put(command.text), target=put(command.target))


ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def quoted(text: str) -> str:
    """The text as the language writes it, always on one line."""
    return '"' + "".join(ESCAPES.get(c, c) for c in " ".join(text.split("\r"))) + '"'


def _ordinal(nth: int) -> str:
    if nth == 0:
        return ""
    if nth == -1:
        return " last"
    tail = {1: "st", 2: "nd", 3: "rd"}.get(nth % 10 if nth % 100 not in (11, 12, 13) else 0, "th")
    return f" {nth}{tail}"


def render(command: Command) -> str:
    """The command as one line that the parser reads back to an equal command."""
    c, text = command, quoted(command.text)
    match c.verb:
        case Verb.BACK | Verb.HOME | Verb.HIDE_KEYBOARD | Verb.DISMISS_ALERT:
            return c.verb.value
        case Verb.TAP | Verb.DOUBLE_TAP:
            return f"{c.verb} {text}{_ordinal(c.nth)}"
        case Verb.LONG_PRESS:
            held = f" for {c.seconds:g} s" if c.seconds else ""
            return f"{c.verb} {text}{_ordinal(c.nth)}{held}"
        case Verb.TAP_AT:
            return f"{c.verb} {c.x:g}, {c.y:g}"
        case Verb.TYPE | Verb.APPEND:
            link = "into" if c.verb is Verb.TYPE else "to"
            where = f" {link} {quoted(c.target)}" if c.target else ""
            return f"{c.verb} {text}{where}{' and submit' if c.submit else ''}"
        case Verb.CLEAR:
            return f"clear {text}" if c.text else "clear the field"
        case Verb.SELECT:
            return f"select {text} in {quoted(c.target)}"
        case Verb.DRAG:
            return f"drag {text} to {quoted(c.target)}"
        case Verb.SWIPE | Verb.ROTATE | Verb.PRESS_KEY:
            return f"{c.verb} {c.direction}"
        case Verb.WAIT:
            return f"wait {c.seconds:g} s"
        case Verb.WAIT_FOR:
            limit = f" up to {c.seconds:g} s" if c.seconds else ""
            return f"wait for {text}{limit}"
        case Verb.ACCEPT_ALERT:
            return f"accept alert with {text}" if c.text else c.verb.value
        case Verb.READ | Verb.READ_NUMBER | Verb.RECALL | Verb.ASK:
            return f"{c.verb} {text} as {c.name}"
        case Verb.NOTE:
            return f"note {text}: {quoted(c.target)}"
        case Verb.REMEMBER:
            return f"remember {c.name} = {text}"
    return f"{c.verb} {text}"
