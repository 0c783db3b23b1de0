"""The sentences of the task language, as one table of patterns.

A statement is matched after its quoted texts were replaced by marks, so that nothing
inside quotation marks can be taken for a word of the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from app.llm.offline.commands import Command, Verb

MARK_START, MARK_END = "\ue000", "\ue001"
Q = rf"{MARK_START}(\d+){MARK_END}"
"""A quoted text's place in a statement."""

NUMBER = r"(\d{1,6}(?:\.\d{1,3})?)"
SECONDS = rf"{NUMBER} ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)?"
NAME = r"([^\W\d][\w-]{0,63})"
ORDINAL = r"(\d{1,4}(?:st|nd|rd|th)|first|second|third|fourth|fifth|last)"
KIND = (
    r"(?: (?:button|link|icon|tab|row|item|entry|option|switch|checkbox|box|field|menu|"
    r"image|card|label|text))?"
)
THE = r"(?:the |an? )?"
ORDINAL_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
UNIT_SECONDS = {"ms": 0.001, "mi": 60.0, "m": 60.0}
MAX_WAIT = 600.0

Read = Callable[[re.Match[str], list[str]], Command]


def _seconds(number: str | None, unit: str | None) -> float:
    if number is None:
        return 0.0
    word = (unit or "s").casefold()
    factor = UNIT_SECONDS.get("ms" if word == "ms" or word.startswith("milli") else word[:2], 1.0)
    return min(MAX_WAIT, round(float(number) * factor, 3))


def _nth(*words: str | None) -> int:
    word = next((w.casefold() for w in words if w), "")
    if not word:
        return 0
    return ORDINAL_WORDS.get(word) or int(re.sub(r"\D", "", word))


def _text(verb: Verb) -> Read:
    return lambda m, q: Command(verb, text=q[int(m[1])])


def _bare(verb: Verb) -> Read:
    return lambda m, q: Command(verb)


def _word(verb: Verb) -> Read:
    """The text stands without quotation marks."""
    return lambda m, q: Command(verb, text=m[1].strip())


def _pressed(verb: Verb) -> Read:
    def read(m: re.Match[str], q: list[str]) -> Command:
        held = _seconds(m[4], m[5]) if m.re.groups > 3 else 0.0
        return Command(verb, text=q[int(m[2])], nth=_nth(m[1], m[3]), seconds=held)

    return read


def _two(verb: Verb) -> Read:
    return lambda m, q: Command(verb, text=q[int(m[1])], target=q[int(m[2])])


def _typed(verb: Verb) -> Read:
    def read(m: re.Match[str], q: list[str]) -> Command:
        target = q[int(m[2])] if m[2] else ""
        return Command(verb, text=q[int(m[1])], target=target, submit=bool(m[3]))

    return read


def _directed(verb: Verb, opposite: bool = False) -> Read:
    turned = {"up": "down", "down": "up", "left": "right", "right": "left"}

    def read(m: re.Match[str], q: list[str]) -> Command:
        word = m[1].casefold()
        return Command(verb, direction=turned.get(word, word) if opposite else word)

    return read


def _named(verb: Verb) -> Read:
    return lambda m, q: Command(verb, text=q[int(m[1])], name=m[2].casefold())


def _remembered(m: re.Match[str], q: list[str]) -> Command:
    text = q[int(m[2])] if m[2] else m[3]
    return Command(Verb.REMEMBER, text=text, name=m[1].casefold())


def _waited(m: re.Match[str], q: list[str]) -> Command:
    return Command(Verb.WAIT, seconds=_seconds(m[1], m[2]) or 1.0)


def _awaited(m: re.Match[str], q: list[str]) -> Command:
    return Command(Verb.WAIT_FOR, text=q[int(m[1])], seconds=_seconds(m[2], m[3]))


def _alert(m: re.Match[str], q: list[str]) -> Command:
    return Command(Verb.ACCEPT_ALERT, text=q[int(m[1])] if m[1] else "")


def _point(m: re.Match[str], q: list[str]) -> Command:
    return Command(Verb.TAP_AT, x=float(m[1]), y=float(m[2]))


def _cleared(m: re.Match[str], q: list[str]) -> Command:
    return Command(Verb.CLEAR, text=q[int(m[1])] if m[1] else "")


_SUBMIT = r"( and (?:submit|press enter|press (?:the )?enter key|enter|send))?"
_SOME_WORDS = r"((?!(?:and|then|app|the)\b)[\w.&+-]+(?: (?!(?:and|then)\b)[\w.&+-]+){0,2})"

_TABLE: tuple[tuple[str, Read], ...] = (
    (rf"(?:open|launch|start) {THE}(?:app )?{Q}(?: app)?", _text(Verb.OPEN)),
    (rf"(?:close|quit|stop|terminate) {THE}(?:app )?{Q}(?: app)?", _text(Verb.CLOSE)),
    (r"(?:go to|visit|browse to|open url|open) ((?:https?|about):\S+)", _word(Verb.VISIT)),
    (rf"(?:go to|visit|browse to|open) {THE}(?:url|page|address) {Q}", _text(Verb.VISIT)),
    (rf"(?:go to|visit|browse to) {Q}", _text(Verb.VISIT)),
    (rf"(?:tap|click|touch|press) (?:at|on)? ?\(?{NUMBER} ?, ?{NUMBER}\)?", _point),
    (
        rf"(?:tap|click|touch|press)(?: on)? {THE}(?:{ORDINAL} )?{Q}{KIND}(?: {ORDINAL})?",
        _pressed(Verb.TAP),
    ),
    (
        rf"(?:long[ -]press|press and hold|hold)(?: on)? {THE}(?:{ORDINAL} )?{Q}{KIND}"
        rf"(?: {ORDINAL})?(?: for {SECONDS})?",
        _pressed(Verb.LONG_PRESS),
    ),
    (
        rf"double[ -](?:tap|click)(?: on)? {THE}(?:{ORDINAL} )?{Q}{KIND}(?: {ORDINAL})?",
        _pressed(Verb.DOUBLE_TAP),
    ),
    (rf"drag {THE}{Q}{KIND} (?:to|onto|on) {THE}{Q}{KIND}", _two(Verb.DRAG)),
    (
        rf"(?:type|enter|write|input) {Q}(?: (?:in|into|in to) {THE}{Q}{KIND})?{_SUBMIT}",
        _typed(Verb.TYPE),
    ),
    (rf"append {Q}(?: (?:to|in|into) {THE}{Q}{KIND})?{_SUBMIT}", _typed(Verb.APPEND)),
    (rf"(?:clear|empty) {THE}(?:focused )?(?:field|text|(?:field )?{Q}{KIND})", _cleared),
    (rf"(?:select|choose|pick) {Q} (?:in|from) {THE}{Q}{KIND}", _two(Verb.SELECT)),
    (rf"(?:(?:turn|switch) on|enable) {THE}{Q}{KIND}", _text(Verb.TURN_ON)),
    (rf"(?:turn|switch) {THE}{Q}{KIND} on", _text(Verb.TURN_ON)),
    (rf"(?:(?:turn|switch) off|disable) {THE}{Q}{KIND}", _text(Verb.TURN_OFF)),
    (rf"(?:turn|switch) {THE}{Q}{KIND} off", _text(Verb.TURN_OFF)),
    (rf"scroll(?: (?:up|down))? (?:to|until) {THE}{Q}{KIND}", _text(Verb.SCROLL_TO)),
    (r"swipe (up|down|left|right)", _directed(Verb.SWIPE)),
    (r"scroll (up|down|left|right)", _directed(Verb.SWIPE, opposite=True)),
    (r"(?:go |press |navigate )?back", _bare(Verb.BACK)),
    (r"(?:go |press |go to )?(?:the )?home(?: screen)?", _bare(Verb.HOME)),
    (r"(?:hide|close) (?:the )?keyboard", _bare(Verb.HIDE_KEYBOARD)),
    (r"(?:press|hit) (?:the )?(?:key )?([a-z][a-z0-9_]{0,30})(?: key)?", _directed(Verb.PRESS_KEY)),
    (r"(?:rotate|turn)(?: (?:to|the screen to))? (landscape|portrait)", _directed(Verb.ROTATE)),
    (rf"accept (?:the )?(?:alert|dialog|prompt)(?: with {Q})?", _alert),
    (r"(?:dismiss|cancel|close) (?:the )?(?:alert|dialog|prompt)", _bare(Verb.DISMISS_ALERT)),
    (rf"wait(?: for)?(?: {SECONDS})?", _waited),
    (rf"wait (?:for|until) {THE}{Q}(?: (?:up to|for|at most) {SECONDS})?", _awaited),
    (
        rf"(?:check|verify|expect)(?: that| for)? {THE}{Q}(?: (?:is|appears|shows)"
        r"(?: (?:shown|visible|there|on the screen))?)?",
        _text(Verb.CHECK),
    ),
    (
        rf"read {THE}number (?:in|of|from|beside|after|under) {THE}{Q}{KIND} as {NAME}",
        _named(Verb.READ_NUMBER),
    ),
    (
        rf"read (?:{THE}(?:value|text) (?:of|in|from|beside|after|under) )?{THE}{Q}{KIND}"
        rf" as {NAME}",
        _named(Verb.READ),
    ),
    (rf"note {Q} ?[:=] ?{Q}", _two(Verb.NOTE)),
    (rf"(?:remember|set) {NAME} ?(?:=|:|as|to) ?(?:{Q}|([\w.,:+-]{{1,200}}))", _remembered),
    (rf"recall {Q} as {NAME}", _named(Verb.RECALL)),
    (rf"(?:re)?plan {Q}", _text(Verb.PLAN)),
    (rf"ask {Q} as {NAME}", _named(Verb.ASK)),
    (rf"(?:answer|finish|say|report)(?: with)? {Q}", _text(Verb.ANSWER)),
    (rf"give up(?: with)? {Q}", _text(Verb.GIVE_UP)),
    (rf"(?:open|launch|start) {_SOME_WORDS}", _word(Verb.OPEN)),
)

PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _TABLE)

REPEAT = re.compile(r"repeat (\d{1,6}) times ?([:{]?)", re.IGNORECASE)

_POLITE = re.compile(r"^(?:(?:please|then|and then|and|now|next|finally)[, ]+)+", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*•] |\d{1,4}[.)] )\s*")


def read_statement(statement: str, quotes: list[str]) -> Command | None:
    """The command that a statement with marks for its quotes says, or None."""
    words = " ".join(statement.split())
    words = _POLITE.sub("", _BULLET.sub("", words)).rstrip(" .!")
    for pattern, read in PATTERNS:
        if found := pattern.fullmatch(words):
            command = read(found, quotes)
            return _usable(command)
    return None


def _usable(command: Command) -> Command | None:
    """None for a point off the screen and for an empty label."""
    if command.verb is Verb.TAP_AT and not (command.x <= 1000 and command.y <= 1000):
        return None
    if command.verb in _NEED_TEXT and not command.text.strip():
        return None
    if command.verb is Verb.CLEAR and not command.text.strip():
        return replace(command, text="")
    return command


_NEED_TEXT = frozenset(
    set(Verb)
    - {
        Verb.TAP_AT,
        Verb.TYPE,
        Verb.APPEND,
        Verb.CLEAR,
        Verb.SWIPE,
        Verb.PRESS_KEY,
        Verb.BACK,
        Verb.HOME,
        Verb.HIDE_KEYBOARD,
        Verb.ROTATE,
        Verb.ACCEPT_ALERT,
        Verb.DISMISS_ALERT,
        Verb.WAIT,
        Verb.REMEMBER,
        Verb.ANSWER,
    }
)
"""Verbs that mean nothing without their quoted text."""
