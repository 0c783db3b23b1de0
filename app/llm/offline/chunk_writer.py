"""The offline chunk writer: a capsule taken from the records of its steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.domain.messages import JsonObject, ModelRequest
from app.llm.offline.neutral import neutral, placeless, quoted, sentences
from app.llm.offline.sections import sections

FACTS, ENTITIES, TEXTS = 16, 8, 6
DOING = 120
"""Characters of the thought that stands for what was being done."""
_STEP = re.compile(r"^── Step (\d+) ──$", re.MULTILINE)
_LINE = re.compile(r"^\s*([A-Za-z(][A-Za-z0-9_ ()]*?): (.*)$")
_NOTE = re.compile(r"^\s*note (.+?): ?(.*)$")
_SUMMARY_OPENING = re.compile(r"^(?:I had the page |I looked at the screen|The validator recorded)")


@dataclass
class Told:
    """What the input says of one step."""

    number: int
    page: str = ""
    page_after: str = ""
    line: str = ""
    verdict: str = ""
    appeared: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    tools: list[tuple[str, str]] = field(default_factory=list)
    apps: list[str] = field(default_factory=list)
    summary: str = ""


def answer_chunk_writer(request: ModelRequest) -> JsonObject:
    """The capsule, ① kept shorter than ②."""
    told = sections(request, ("CHUNK", "OPEN CHECKS", "CONTRADICTIONS", "TURNS"))
    steps = list(_steps(told["TURNS"]))
    if not steps:
        return {}
    intervals = [_interval(group) for group in _grouped(steps)]
    effect = _effect(steps)
    first, last = steps[0], steps[-1]
    capsule: JsonObject = {
        "doing": _doing(steps),
        "did": _did(steps),
        "effect": effect,
        "entry_state": _state(first.page),
        "exit_state": _state(last.page_after or last.page),
        "verified_facts": list(_facts(steps))[:FACTS],
        "unresolved": [*_items(told["OPEN CHECKS"], "required check still open: ")]
        + [*_items(told["CONTRADICTIONS"], "")]
        + [f"step {s.number} was recorded as uncertain" for s in steps if s.verdict == "uncertain"],
        "failed_paths": list(_errors(steps)),
        "important_entities": list(dict.fromkeys(a for s in steps for a in s.apps if a))[:ENTITIES],
        "intervals": intervals,
    }
    _balance(capsule)
    return capsule


# --- reading the input ----------------------------------------------------------------------


def _steps(text: str) -> Iterator[Told]:
    parts = _STEP.split(text)
    for number, body in zip(parts[1::2], parts[2::2], strict=True):
        yield _read(int(number), body)


def _read(number: int, body: str) -> Told:
    told = Told(number)
    recorded = True
    for raw in body.split("\n"):
        recorded = recorded and raw.strip() != "As I saw it:"
        if (note := _NOTE.match(raw)) is not None and recorded:
            told.notes.append((note[1], note[2]))
        elif (found := _LINE.match(raw)) is not None:
            _take(told, found[1], found[2], recorded)
    return told


def _take(told: Told, name: str, rest: str, recorded: bool) -> None:
    if not recorded:
        if name.startswith("tool result "):
            told.tools.append((name.removeprefix("tool result "), rest))
        return
    match name:
        case "line" if not told.line:
            told.line = rest
            found = re.search(r"→ (\w+)[^→]*$", rest)
            told.verdict = found[1] if found is not None else ""
        case "seen page":
            told.page = rest
        case "seen app" | "seen activity":
            told.apps.append(quoted(rest))
        case "page now":
            told.page_after = rest
        case "appeared":
            told.appeared.append(rest)
        case "kept":
            told.kept.append(rest)
        case "summary":
            told.summary = rest


def _items(text: str, prefix: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.startswith("- "):
            text = line[2:].strip()
            yield f"{prefix}{text if neutral(text) and placeless(text) else f'“{text}”'}"


# --- writing --------------------------------------------------------------------------------


def _grouped(steps: Sequence[Told]) -> Iterator[list[Told]]:
    """Runs of steps on one page."""
    for _, group in groupby(steps, key=lambda step: step.page):
        yield list(group)


def _interval(group: Sequence[Told]) -> JsonObject:
    page = _marked(group[0].page)
    parts = [f"I worked on the page {page}." if page else "I worked on a page without a name."]
    parts += list(dict.fromkeys(s for step in group for s in _said(step)))
    texts = [t for step in group for t in step.appeared]
    if shown := list(_quotations(texts))[:TEXTS]:
        parts.append(f"New on the screen: {', '.join(shown)}.")
    for step in group:
        parts += [f"I wrote the note {key}{_gist(text)}." for key, text in step.notes]
        parts += [f"The tool {n} answered {q}." for n, t in step.tools if (q := _marked(t))]
    verdicts = list(dict.fromkeys(step.verdict for step in group if step.verdict))
    if verdicts:
        parts.append(f"Recorded: {', '.join(verdicts)}.")
    return {
        "start_step": group[0].number,
        "end_step": group[-1].number,
        "text": " ".join(parts),
    }


def _said(step: Told) -> list[str]:
    """Sentences of a step's summary that add to its page and verdict."""
    found = sentences(step.summary, 3)
    return [s for s in found if not _SUMMARY_OPENING.match(s) and placeless(s)]


def _doing(steps: Sequence[Told]) -> str:
    """The first thought that says what I was after."""
    thoughts = (s for step in steps for s in _said(step) if s.startswith(("I ", "Let me ", "To ")))
    return next((t for t in thoughts if len(t) <= DOING), "I went on with the task.")


def _did(steps: Sequence[Told]) -> str:
    tools = list(dict.fromkeys(name for step in steps for name, _ in step.tools))
    asked = f" and asked {', '.join(tools)}" if tools else ""
    pages = "one page" if len(list(_grouped(steps))) == 1 else "several pages"
    return f"I went through {pages}{asked}."


def _effect(steps: Sequence[Told]) -> str:
    keys = list(dict.fromkeys(key for step in steps for key, _ in step.notes))
    if keys:
        return f"Notes: {', '.join(keys)}."
    return "Nothing but the screen."


def _facts(steps: Sequence[Told]) -> Iterator[str]:
    """Values first: what holds digits may be needed to the letter."""
    seen: set[str] = set()
    entries = [(mark, step.number) for step in steps for mark in _quotations(step.appeared)]
    for mark, number in sorted(entries, key=lambda e: not re.search(r"\d", e[0])):
        if mark not in seen:
            seen.add(mark)
            yield f"{mark} (on screen, step {number})"
    for step in steps:
        for _, text in step.tools:
            if mark := _marked(text):
                yield f"{mark} (tool, step {step.number})"
        for value in step.kept:
            if mark := _marked(value.partition(" = ")[2]):
                yield f"{mark} (notes, step {step.number})"


def _errors(steps: Sequence[Told]) -> Iterator[str]:
    for step in steps:
        if step.verdict == "error":
            yield f"step {step.number}: the controller recorded error"


def _state(page: str) -> str:
    mark = _marked(page)
    return f"the page {mark}" if mark else "a page without a name"


def _gist(text: str) -> str:
    mark = _marked(text)
    return f": {mark}" if mark else ""


def _marked(text: str) -> str:
    mark = quoted(text)
    return mark if mark and placeless(mark) else ""


def _quotations(texts: Iterable[str]) -> Iterator[str]:
    ordered = sorted(dict.fromkeys(texts), key=lambda t: not re.search(r"\d", t))
    yield from (mark for text in ordered if (mark := _marked(text)))


def _balance(capsule: JsonObject) -> None:
    """The intervals are never shorter than the prose: what they leave out is added to them."""
    prose = sum(len(capsule[name]) for name in ("doing", "did", "effect"))
    last = capsule["intervals"][-1]
    while sum(len(i["text"]) for i in capsule["intervals"]) <= prose:
        last["text"] += f" What was left behind: {capsule['effect']}"
