"""Reads the task language: text to a flat program, with a problem for every line it cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from app.llm.offline.commands import ENDS, Command, Verb, with_round
from app.llm.offline.grammar import MARK_END, MARK_START, REPEAT, read_statement

MAX_COMMANDS = 20_000
"""Of a program after its repetitions were written out: as many as a task may have steps."""
MAX_DEPTH = 8
MAX_PROBLEMS = 20
MAX_TEXT = 200_000

QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "”": "”"}
"""Opening marks and what closes them."""
ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

USAGES = (
    'open "App"',
    'close "App"',
    "go to URL",
    'tap "Label" [2nd]',
    "tap at X, Y",
    'long press "Label"',
    'double tap "Label"',
    'drag "Label" to "Label"',
    'type "text" into "Field" [and submit]',
    'append "text" to "Field"',
    'clear "Field"',
    'select "Option" in "Field"',
    'turn on "Switch"',
    'turn off "Switch"',
    'scroll to "text"',
    "swipe up|down|left|right",
    "press key enter",
    "back",
    "home",
    "hide keyboard",
    "rotate landscape|portrait",
    'accept alert [with "text"]',
    "dismiss alert",
    "wait 2 s",
    'wait for "text" [up to 20 s]',
    'check "text"',
    'read "Label" as name',
    'read the number in "text" as name',
    'note "key": "text"',
    'remember name = "value"',
    'recall "words" as name',
    'plan "request"',
    'ask "question" as name',
    "repeat 3 times: … end",
    'answer "text with {name}"',
    'give up "reason"',
)
"""Every sentence of the language, as shown to people."""

_KNOWN_WORDS = frozenset(re.findall(r"[a-z]+", " ".join(USAGES).lower())) | frozenset(
    "launch start click press into the a an and then please on at to in of as".split()
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement that could not be read."""

    line: int
    statement: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Program:
    """A goal as commands, repetitions written out."""

    commands: tuple[Command, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def readable(self) -> bool:
        return bool(self.commands) and not self.problems


@dataclass(slots=True)
class _Statement:
    line: int
    words: str = ""
    """The statement with a mark for every quoted text."""
    source: str = ""
    quotes: list[str] = field(default_factory=list)
    ends_with: str = ""
    """`{`, `}` or nothing: the brace that ended it."""
    unclosed: bool = False


@dataclass(slots=True)
class _Block:
    count: int
    line: int
    braced: bool
    items: list[Command] = field(default_factory=list)


@lru_cache(maxsize=64)
def parse(text: str) -> Program:
    """Never raises: what cannot be read is a problem that names its line."""
    if len(text) > MAX_TEXT:
        told = f"the text is longer than {MAX_TEXT:,} characters"
        return Program((), (Problem(1, text[:40], told),))
    return _Reader().read(text)


@lru_cache(maxsize=64)
def goal_program(goal: str) -> Program:
    """A goal's program; one that does not say how it ends, ends with an answer of its own."""
    program = parse(goal)
    if not program.readable or program.commands[-1].verb in ENDS:
        return program
    return Program((*program.commands, Command(Verb.ANSWER)))


class _Reader:
    """Builds one program; blocks that are open stand on a stack."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = [_Block(1, 1, braced=False)]
        self.problems: list[Problem] = []

    def read(self, text: str) -> Program:
        for statement in _statements(text):
            if len(self.problems) >= MAX_PROBLEMS:
                break
            self._take(statement)
        while len(self.blocks) > 1:
            block = self.blocks[-1]
            closing = "}" if block.braced else "end"
            self._problem(block.line, "repeat", f"this “repeat” is never closed by “{closing}”")
            self._close()
        commands = tuple(self.blocks[0].items)
        if not commands and not self.problems:
            self._problem(1, "", "there is no instruction")
        return Program(commands, tuple(self.problems[:MAX_PROBLEMS]))

    def _take(self, s: _Statement) -> None:
        words = " ".join(s.words.split())
        if s.unclosed:
            self._problem(s.line, s.source, "a quotation mark is never closed")
            return
        if found := REPEAT.match(words):
            rest = words[found.end() :].strip()
            braced = s.ends_with == "{" and not rest
            self._open(int(found[1]), s.line, braced)
            if braced:
                return
            words = rest
        elif s.ends_with == "{":
            self._problem(s.line, s.source, "“{” may only follow “repeat n times”")
            return
        if words.casefold() in ("end", "end repeat"):
            self._end(s.line, braced=False)
        elif words:
            self._command(s, words)
        if s.ends_with == "}":
            self._end(s.line, braced=True)

    def _command(self, s: _Statement, words: str) -> None:
        command = read_statement(words, s.quotes)
        if command is None:
            self._problem(s.line, s.source, _unread(s.source))
        else:
            self._add(s.line, [command])

    def _open(self, count: int, line: int, braced: bool) -> None:
        if len(self.blocks) > MAX_DEPTH:
            self._problem(line, "repeat", f"more than {MAX_DEPTH} repetitions inside each other")
        self.blocks.append(_Block(count, line, braced))

    def _end(self, line: int, braced: bool) -> None:
        if len(self.blocks) == 1 or self.blocks[-1].braced is not braced:
            word = "}" if braced else "end"
            self._problem(line, word, f"“{word}” without its “repeat n times”")
            return
        self._close()

    def _close(self) -> None:
        block = self.blocks.pop()
        if len(block.items) * block.count > MAX_COMMANDS:
            self._problem(block.line, "repeat", f"more than {MAX_COMMANDS:,} instructions in all")
            return
        for number in range(1, block.count + 1):
            self._add(block.line, [with_round(command, number) for command in block.items])

    def _add(self, line: int, commands: list[Command]) -> None:
        items = self.blocks[-1].items
        if len(items) + len(commands) <= MAX_COMMANDS:
            items.extend(commands)
        else:
            self._problem(line, "", f"more than {MAX_COMMANDS:,} instructions in all")

    def _problem(self, line: int, statement: str, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, statement.strip(), message))


def _unread(source: str) -> str:
    """Says what was not understood, and the form of the sentence that begins alike."""
    shown = " ".join(source.split())
    first = re.match(r"[^\W\d_]+", shown)
    alike = [use for use in USAGES if first and use.split()[0] == first[0].casefold()]
    unread = unread_words(shown)
    told = f"I cannot read “{shown[:120]}”"
    if unread:
        told += f" (unknown: {', '.join(unread[:8])})"
    if alike:
        told += f"; I understand {' or '.join(alike[:3])}"
    return told


def unread_words(statement: str) -> list[str]:
    """Words outside quotation marks that no sentence of the language has."""
    bare = re.sub(r"\"[^\"]*\"|“[^”]*”|«[^»]*»", " ", statement)
    words = re.findall(r"[^\W\d_]+", bare)
    return list(dict.fromkeys(w for w in words if w.casefold() not in _KNOWN_WORDS))


def _statements(text: str) -> Iterator[_Statement]:
    """Cuts the text at line ends, semicolons and braces that stand outside quotation marks."""
    text = text.replace(MARK_START, " ").replace(MARK_END, " ")
    line, at, now = 1, 0, _Statement(1)
    while at < len(text):
        char = text[at]
        if char in QUOTES:
            at = _quote(text, at, now)
        elif char == "#" and (not now.source or now.source[-1].isspace()):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif char in "\n;{}":
            now.ends_with = char if char in "{}" else ""
            yield now
            line += char == "\n"
            now = _Statement(line)
            at += 1
        else:
            now.words += char
            now.source += char
            at += 1
    yield now


def _quote(text: str, at: int, now: _Statement) -> int:
    """Takes a quoted text into the statement; returns where to go on."""
    opening, closing = text[at], QUOTES[text[at]]
    out: list[str] = []
    start, at = at, at + 1
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char == "\\" and opening == '"' and text[at + 1 : at + 2] in ESCAPED:
            out.append(ESCAPED[text[at + 1]])
            at += 2
        elif char in closing:
            now.words += f"{MARK_START}{len(now.quotes)}{MARK_END}"
            now.quotes.append("".join(out))
            now.source += text[start : at + 1]
            return at + 1
        else:
            out.append(char)
            at += 1
    now.unclosed = True
    now.source += text[start:at]
    return at
