"""The offline summariser: one neutral paragraph, taken from the records of a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from app.domain.messages import ModelRequest
from app.llm.offline.neutral import quoted, sentences
from app.llm.offline.sections import sections

LABELS = (
    "STEP",
    "SEEN",
    "ACTION",
    "CONTROLLER",
    "VALIDATOR",
    "DIFFERENCE",
    "ANALYZER",
    "KEPT",
    "THINKING",
    "RECENT",
    "PICTURES",
)
LONGEST = 1_400
SHOWN = 8
"""Texts that appeared, quoted at most; those with digits first."""
VERDICTS = frozenset({"executed", "no_visible_change", "uncertain", "error", "blocked"})
_LINE = re.compile(r"^\s*([a-z][a-z ]*): (.*)$", re.MULTILINE)


def answer_summarizer(request: ModelRequest) -> str:
    """The paragraph: where I was, what I thought and did, what was recorded and seen."""
    told = sections(request, LABELS)
    text = ""
    for sentence in _sentences(told):
        if len(text) + len(sentence) < LONGEST:
            text = f"{text} {sentence}".strip()
    return text


def _sentences(told: dict[str, str]) -> Iterator[str]:
    seen = dict(reversed(_LINE.findall(told["SEEN"])))
    place = quoted(seen.get("page", ""))
    yield f"I had the page {place} in front of me." if place else "I looked at the screen."
    if alert := quoted(seen.get("alert", "")):
        yield f"A dialog read {alert}."
    yield from sentences(told["THINKING"], 3)
    yield from _action(told["ACTION"])
    yield from _kept(told["KEPT"])
    verdict = told["VALIDATOR"].split("\n")[0].strip()
    if verdict in VERDICTS:
        yield f"The validator recorded {verdict}."
    if reason := quoted("\n".join(told["VALIDATOR"].split("\n")[1:])):
        yield f"Its reason read {reason}."
    yield from _difference(told["DIFFERENCE"])
    yield from _analyzer(told["ANALYZER"])


def _action(text: str) -> Iterator[str]:
    """`tap [Sign in]` as a sentence; a bare point is left to the mechanical line."""
    line = text.split("\n")[0].strip()
    label = next(iter(re.findall(r"\[([^\]\n]+)\]|“([^”\n]+)”", line)), ("", ""))
    named = quoted(label[0] or label[1]) if not re.match(r"\(\d", label[0]) else ""
    verb = re.match(r"[a-z]+(?: press| tap)?", line)
    word = verb[0] if verb is not None else ""
    deeds = {
        "tap": "I tapped",
        "long press": "I pressed and held",
        "double tap": "I tapped twice on",
        "replace": "I typed",
        "append": "I added",
        "clear": "I cleared",
        "scroll": "I scrolled to",
        "launch": "I launched",
        "open": "I opened",
        "terminate": "I closed",
    }
    if word == "press" and "enter" in line:
        yield "I pressed the Enter key."
    elif word in deeds and named:
        yield f"{deeds[word]} {named}."
    elif word in ("launch", "open", "terminate") and (name := quoted(line.split(" ", 1)[-1])):
        yield f"{deeds[word]} {name}."
    elif word in ("swipe", "drag", "wait", "back", "home"):
        yield {
            "swipe": "I swiped over the screen.",
            "drag": "I dragged an element.",
            "wait": "I waited.",
            "back": "I went back.",
            "home": "I went to the launcher.",
        }[word]


def _kept(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if (found := re.match(r"value (.+?) = (.*)$", line.strip())) is not None:
            key, value = quoted(found[1]), quoted(found[2])
            if key and value:
                yield f"I kept {value} as {key}."
        elif line.strip().startswith("note ") and (key := quoted(line.strip()[5:])):
            yield f"I wrote the note {key}."


def _difference(text: str) -> Iterator[str]:
    lines = _LINE.findall(text)
    if "no visible change" in text.split("\n"):
        yield "The comparison of the two screens recorded no visible change."
    now = next((quoted(rest) for name, rest in lines if name == "page now"), "")
    if now:
        yield f"Afterwards the page {now} was shown."
    texts = [rest for name, rest in lines if name == "appeared"]
    if appeared := list(_quotations(_digits_first(texts))):
        yield f"New on the screen: {', '.join(appeared)}."


def _analyzer(text: str) -> Iterator[str]:
    """Its trigger and its action, and nothing on what came of it."""
    for line in text.split("\n"):
        found = re.match(r"recovery \((.+?)\): (.+?)(?: → \w+)?$", line.strip())
        if found is not None:
            trigger, action = quoted(found[1]), quoted(found[2])
            told = f" after {trigger}" if trigger else ""
            yield f"The Failure Analyzer stepped in{told}; its action was {action or 'recorded'}."


def _digits_first(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=lambda t: not re.search(r"\d", t))


def _quotations(texts: Iterable[str]) -> Iterator[str]:
    count = 0
    for text in dict.fromkeys(texts):
        if count < SHOWN and (mark := quoted(text)):
            count += 1
            yield mark
