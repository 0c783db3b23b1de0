"""Checks a capsule against the steps it stands for, rule by rule.

A capsule replaces the steps in the operator's prompt, so what was learned must survive in it:
notes, verified facts with their source, open checks, readings that contradict each other.

Longer than 300 lines: every rule a capsule must keep stands here, to be reviewed in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from pydantic import ValidationError

from app.domain.messages import JsonObject
from app.domain.summaries import Capsule, Refusal
from app.memory.sourcing import comparable, plain, stands_in, values, without_quotations
from app.memory.tokens import count_text
from app.memory.wording import SEPARATOR, check_neutral, check_values

SHORTEST_INTERVAL = 5
LENGTH_SHARE = 1 / 3
"""Of the source's tokens: what bands ① and ② should stay within."""
WORDS_FOUND = 0.6
"""Share of a fact's words that stand in its source, where it holds no value."""
ITEMS, ITEM_LENGTH, PROSE_LENGTH = 40, 600, 8_000

_TEXTS: JsonObject = {
    "type": "array",
    "maxItems": ITEMS,
    "items": {"type": "string", "maxLength": ITEM_LENGTH},
}
_PROSE: JsonObject = {"type": "string", "maxLength": PROSE_LENGTH}
_INTERVAL: JsonObject = {
    "type": "object",
    "properties": {
        "start_step": {"type": "integer"},
        "end_step": {"type": "integer"},
        "text": {"type": "string"},
    },
    "required": ["start_step", "end_step", "text"],
}
PROSE = ("doing", "did", "effect")
STATES = ("entry_state", "exit_state")
LISTS = ("verified_facts", "unresolved", "failed_paths", "important_entities")
CAPSULE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        **dict.fromkeys((*PROSE, *STATES), _PROSE),
        **dict.fromkeys(LISTS, _TEXTS),
        "intervals": {"type": "array", "items": _INTERVAL},
    },
    "required": [*PROSE, *STATES, *LISTS, "intervals"],
}

_PAIR = r"-?\d+(?:\.\d+)?\s*[,;x×]\s*-?\d+(?:\.\d+)?"
_THOUSANDS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_COORDINATES = re.compile(
    rf"(?!\(\s*{_THOUSANDS}\s*\))[\[({{]\s*(?:x\s*[=:]\s*)?{_PAIR}(?:\s*[,;]\s*-?\d+(?:\.\d+)?)*\s*[\])}}]"
    r"|@\s?\d+\s*,\s*\d+"
    r"|\b[xy]\d?\s*[=:]\s*-?\d+"
    r"|\b(?:bounds|coordinates?)\b[^.;\n]{0,20}\d"
    rf"|\b(?:position|point|pixels?)\s*(?:[:=]|at|is|was)?\s*[\[(]?{_PAIR}"
    rf"|\b(?:at|from|to|near|around)\s+(?!{_THOUSANDS}(?!\s*[,;\d])){_PAIR}(?![\d.:])(?!\s*(?:items?|rows?|%|[€$£¥]))"
    r"|\b\d+(?:\.\d+)?\s?px\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"\bsteps?\s*#?(\d+)", re.IGNORECASE)
_PLANNED = re.compile(
    r"\b(?:planned|planning|(?:in|by|of|to|per)\s+(?:the|my)\s+plan|plan\s+(?:says|asks|names)|"
    r"expect(?:s|ed|ation|ing)?|should|supposed|intend(?:s|ed)?|will\s+(?:be|show|have)|ticked|checked\s+off|marked\s+(?:as\s+)?done|to\s+be\s+done|"
    r"assum(?:e|es|ed|ing)|presumably|probably|user\s+(?:asked|said|wants|instruct\w*)|"
    r"as\s+instructed|milestone)\b",
    re.IGNORECASE,
)

SOURCE_NAMES: dict[str, str] = {
    "screen": r"on[\s-]screen|screen|screenshot|picture|ui|element list|page|title|toast|alert|ocr",
    "tool": r"explorer|explore_ui|recall(?:_history)?|tool|adb|shell|history",
    "notes": r"notes?",
    "result": r"validator|controller|receipt|verdict|recorded result|result|failure analy[sz]er",
}
"""How a verified fact may name its source, by the kind of source."""
_SOURCES = {
    kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for kind, words in SOURCE_NAMES.items()
}
_NAMES = re.compile("|".join(f"\\b(?:{w})\\b" for w in SOURCE_NAMES.values()), re.IGNORECASE)
_SMALL_WORDS = frozenset(
    "the and was were with for that this from into are has had have not its which then".split()
)


class StepSource(NamedTuple):
    """What the records say of one step of a chunk, by kind of source."""

    step_number: int
    evidence: dict[str, str]
    """`screen`, `tool`, `notes`, `result`: what was observed, answered or recorded."""
    said: str
    """Action, thinking, summary, instructions: sources of words, never of verified facts."""
    note_keys: tuple[str, ...] = ()
    pictured: tuple[str, ...] = ()
    """Values that its summary took from a picture: they stand in no text of the step."""

    @property
    def text(self) -> str:
        return "\n".join((*self.evidence.values(), self.said, *self.pictured))


class Contradiction(NamedTuple):
    """Two readings of one thing, neither of which the writer may drop."""

    about: str
    readings: tuple[str, str]

    @property
    def line(self) -> str:
        """As the writer is told of it."""
        return f"{self.about}: {' / '.join(self.readings)}"


class ChunkSources(NamedTuple):
    """Everything a capsule is checked against."""

    steps: tuple[StepSource, ...]
    open_checks: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    tokens: int = 0
    """Of the source text that the writer was given."""

    @property
    def start(self) -> int:
        return self.steps[0].step_number

    @property
    def end(self) -> int:
        return self.steps[-1].step_number


class CheckedCapsule(NamedTuple):
    """A capsule that could be read, and every rule it breaks."""

    capsule: Capsule | None
    refusals: tuple[Refusal, ...]
    image_only: tuple[str, ...] = ()
    over_length: bool = False

    @property
    def passed(self) -> bool:
        return self.capsule is not None and not self.refusals


def check_capsule(text: str, sources: ChunkSources) -> CheckedCapsule:
    """Reads the JSON of a capsule and checks it; nothing is mended."""
    try:
        capsule = Capsule.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        rule = "json" if fault["type"] == "json_invalid" else "schema"
        where = ".".join(str(part) for part in fault["loc"])
        return CheckedCapsule(None, (Refusal(rule=rule, detail=f"{where} {fault['msg']}".strip()),))
    refusals = [
        *_missing(capsule),
        *check_intervals(capsule, sources.start, sources.end),
        *_coordinates(capsule, sources),
        *_notes(capsule, sources),
        *_balance(capsule),
        *_frame(capsule),
        *_lost(capsule, sources),
    ]
    image_only: list[str] = []
    texts = [s.text for s in sources.steps]
    texts += [*sources.open_checks, *(c.line for c in sources.contradictions)]
    refusals += check_neutral(_whole(capsule), texts)
    refusals += check_values(_whole(capsule), texts, with_images=False).refusals
    for fact in capsule.verified_facts:
        checked = _fact(fact, sources)
        refusals += checked[0]
        image_only += checked[1]
    over = count_text(_whole(capsule)) > sources.tokens * LENGTH_SHARE
    return CheckedCapsule(capsule, tuple(refusals), tuple(dict.fromkeys(image_only)), over)


def _whole(capsule: Capsule) -> str:
    """Every text of a capsule as it is checked, a line each."""
    lists = [item for name in LISTS for item in getattr(capsule, name)]
    prose = [getattr(capsule, name) for name in (*PROSE, *STATES)]
    return plain("\n".join((*prose, *lists, *(i.text for i in capsule.intervals))))


def _missing(capsule: Capsule) -> Iterator[Refusal]:
    for name in PROSE:
        if not getattr(capsule, name).strip():
            yield Refusal(rule="schema", detail=f"{name} is empty")
    for interval in capsule.intervals:
        if len(interval.text.strip()) < SHORTEST_INTERVAL:
            where = f"steps {interval.start_step}-{interval.end_step}"
            yield Refusal(rule="schema", detail=f"the interval of {where} says nothing")
    texts = [item for name in LISTS for item in getattr(capsule, name)]
    long = [t for t in texts if len(t) > ITEM_LENGTH]
    long += [getattr(capsule, n) for n in PROSE if len(getattr(capsule, n)) > PROSE_LENGTH]
    if long or any(len(getattr(capsule, name)) > ITEMS for name in LISTS):
        yield Refusal(rule="schema", detail="longer than the schema allows")


def check_intervals(capsule: Capsule, start: int, end: int) -> Iterator[Refusal]:
    """Ascending, without gap or overlap, and together exactly the range."""
    intervals = capsule.intervals
    if not intervals:
        yield Refusal(rule="interval_range", detail="there is no interval")
        return
    for i in intervals:
        if i.start_step > i.end_step:
            yield Refusal(rule="interval_order", detail=f"{i.start_step} is after {i.end_step}")
    for a, b in pairwise(intervals):
        if b.start_step < a.start_step:
            detail = f"{b.start_step} comes after {a.start_step}"
            yield Refusal(rule="interval_order", detail=detail)
        elif b.start_step <= a.end_step:
            detail = f"{b.start_step} lies in {a.start_step}-{a.end_step}"
            yield Refusal(rule="interval_overlap", detail=detail)
        elif b.start_step > a.end_step + 1:
            detail = f"between {a.end_step} and {b.start_step}"
            yield Refusal(rule="interval_gap", detail=detail)
    first, last = intervals[0].start_step, intervals[-1].end_step
    if first != start or last != end:
        detail = f"{first}-{last} instead of {start}-{end}"
        yield Refusal(rule="interval_range", detail=detail)


def _coordinates(capsule: Capsule, sources: ChunkSources) -> Iterator[Refusal]:
    """Anywhere, but for the words of what must be carried on."""
    whole = _whole(capsule)
    for carried in (*sources.open_checks, *(r for c in sources.contradictions for r in c.readings)):
        whole = whole.replace(plain(carried), " ")
    found = _COORDINATES.search(whole)
    if found is not None:
        yield Refusal(rule="coordinates", detail=f"“{found[0]}”")


def _notes(capsule: Capsule, sources: ChunkSources) -> Iterator[Refusal]:
    effect = comparable(capsule.effect)
    for key in dict.fromkeys(key for step in sources.steps for key in step.note_keys):
        if re.search(rf"(?<!\w){re.escape(comparable(key))}(?!\w)", effect) is None:
            yield Refusal(rule="note_key", detail=f"effect does not name the note “{key}”")


def _balance(capsule: Capsule) -> Iterator[Refusal]:
    synopsis = sum(len(getattr(capsule, name)) for name in PROSE)
    narrative = sum(len(i.text) for i in capsule.intervals)
    if synopsis >= narrative:
        detail = f"{synopsis} characters of synopsis, {narrative} of intervals"
        yield Refusal(rule="synopsis_length", detail=detail)


def _frame(capsule: Capsule) -> Iterator[Refusal]:
    whole = _whole(capsule)
    if SEPARATOR in whole:
        yield Refusal(rule="echo", detail="the input's frame stands in it")
    if "**" in whole or "```" in whole or re.search(r"^\s*#{1,6}\s", whole, re.MULTILINE):
        yield Refusal(rule="markdown", detail="plain text only")


def _lost(capsule: Capsule, sources: ChunkSources) -> Iterator[Refusal]:
    """Open checks and contradictions of the source must stand in `unresolved`."""
    for check in sources.open_checks:
        if not any(_tells(item, check) for item in capsule.unresolved):
            yield Refusal(rule="check_lost", detail=f"unresolved lacks the check “{check[:100]}”")
    for about, readings in sources.contradictions:
        if not any(all(_tells(item, r) for r in readings) for item in capsule.unresolved):
            detail = f"unresolved lacks both readings of {about[:60]}"
            yield Refusal(rule="contradiction_lost", detail=detail)


def _tells(item: str, wanted: str) -> bool:
    """Whether an entry carries a text: the same values, and most of its words."""
    if comparable(wanted) in comparable(item):
        return True
    return all(stands_in(v, (item,)) for v in values(wanted)) and _words_in(wanted, item)


def _words_in(text: str, source: str) -> bool:
    words = _content_words(text)
    there = set(re.findall(r"\w+", comparable(source)))
    return not words or sum(w in there for w in words) >= WORDS_FOUND * len(words)


def _content_words(text: str) -> list[str]:
    found = re.findall(r"[^\W\d_]{3,}", comparable(text))
    return [w for w in found if w not in _SMALL_WORDS]


def _fact(fact: str, sources: ChunkSources) -> tuple[list[Refusal], list[str]]:
    """One verified fact: names its source and step, and stands there (or only in a picture)."""
    short = fact[:100]
    steps = {s.step_number: s for s in sources.steps}
    named = [steps[n] for n in map(int, _STEP.findall(fact)) if n in steps]
    kinds = [kind for kind, pattern in _SOURCES.items() if pattern.search(fact)]
    if not named or not kinds:
        lacks = "a step of the range" if not named else "its source"
        return [Refusal(rule="fact_unattributed", detail=f"“{short}” does not name {lacks}")], []
    body = _STEP.sub(" ", fact)
    evidence = [s.evidence.get(kind, "") for s in named for kind in kinds]
    if (planned := _planned(body, evidence)) is not None:
        detail = f"“{planned[0]}” in “{short}”: what was planned or expected is not verified"
        return [Refusal(rule="planned_as_verified", detail=detail)], []
    found = values(fact)
    missing = [v for v in found if not stands_in(v, evidence)]
    rest = _NAMES.sub(" ", body)
    if not missing and (found or any(_words_in(rest, text) for text in evidence)):
        return [], []
    pictured = [p for s in named for p in s.pictured]
    if missing and "screen" in kinds and all(stands_in(v, pictured) for v in missing):
        return [], [v.text for v in missing]
    detail = f"“{short}” does not stand in the {' or '.join(kinds)} of that step"
    return [Refusal(rule="fact_without_source", detail=detail)], []


def _planned(body: str, evidence: Iterable[str]) -> re.Match[str] | None:
    """A word of plans or expectations, unless the source itself has it (“Expected delivery”)."""
    said = without_quotations(body)
    there = [comparable(text) for text in evidence]
    for match in _PLANNED.finditer(said):
        phrase = comparable(" ".join(said[match.start() :].split()[:2]).strip(" .,;:()"))
        if not any(phrase in text for text in there):
            return match
    return None
