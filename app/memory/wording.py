"""Checks the wording of summaries and capsules: neutral, first person, plain, sourced.

A verdict in compressed history makes later turns believe it, so a text tells what was done,
seen and recorded, and leaves the judging to the validator. Each refusal carries the name of
the rule that was broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.domain.summaries import Refusal
from app.memory.sourcing import (
    Found,
    ValueKind,
    plain,
    quotations,
    stands_in,
    values,
    without_quotations,
)

SHORTEST, LONGEST = 15, 1_500
"""Characters of a summary."""

_WAYS = r"back|directly|straight|again|on|over|down|up|away|forward|then|next|home|further|\w+ly"
JUDGING = {
    "successfully": r"success(?:ful(?:ly)?|es)?|succeed(?:s|ed|ing)?",
    "completed": r"(?:in|un)?complet(?:e|es|ed|ing|ions?|ely|eness)",
    "achieved": r"achiev(?:e|es|ed|ing|able|ement|ements)",
    "entered": r"(?:re-?)?enter(?:s|ed|ing)?",
    "navigated to": rf"navigat(?:e|es|ed|ing|ion)\s+(?:(?:{_WAYS})\s+){{0,3}}(?:to|into|onto)"
    r"|navigat(?:e|es|ed|ing)\s+(?:from|through|via|past|out)\b[^.;!?\n]{1,80}?\s(?:to|into|onto)",
    "arrived at": rf"arriv(?:e|es|ed|ing|als?)\s+(?:(?:{_WAYS})\s+)?(?:at|on|in|to)",
    "failed": r"fail(?:s|ed|ing|ure|ures)?",
    "unsuccessful": r"unsuccessful(?:ly)?",
    "could not": r"could(?:\s+\w+)?\s+not|couldn['’`]?\s?t|can(?:\s+\w+)?\s+not|cannot|can['’`]t",
    "impossible": r"impossib(?:le|ly|ility)",
}
"""The words that judge, by the form they are listed under, with their other forms."""

_JUDGING = {
    name: re.compile(rf"(?<!\w)(?:{forms})(?!\w)", re.IGNORECASE) for name, forms in JUDGING.items()
}
_EXEMPT = re.compile(
    r"\bfailure[\s-]analy[sz]er(?:['’]s|s)?\b"
    r"|(?<![\w-])enter(?:\s*/\s*return)?(?:[\s-]+|\s*\()(?:key|button|keycode)\b"
    r"|\b(?:press(?:ed|es|ing)?|hit(?:ting)?|sen(?:d|t|ding)|key(?:code)?|press_key)"
    r"[\s:]+(?:the\s+)?(?:key\s+)?\[?enter\]?(?!\w)"
    r"|\b(?:tap(?:ped|ping)?|us(?:ed|ing)|with|via|by)\s+(?:the\s+)?(?-i:Enter|ENTER)(?!\w)"
    r"|(?<!\w)auto-complet(?:e|ion)s?(?!\w)",
    re.IGNORECASE,
)
"""Names of things: the analyzer, the key, a keyboard's suggestions."""
_DEEDS = (
    r"(?:tap|click|open|typ|scroll|swip|press|select|search|enter|navigat|launch|chos|choos|read|"
    r"look|wait|decid|tri|try|notic|observ|went|saw|is|was|has|had|will|intend|want|need)\w*"
)
_KINDS = r"(?:ai|mobile|phone|automation|gui|ui|android|device|computer|language)"
_THINGS = r"(?:icon|button|app|page|screen|tab|row|chat|option|settings?|of|named|called)"
_TOUCHES = (
    r"(?:tapped|clicked|typed|scrolled|swiped|pressed|navigated|long-pressed|double-tapped|tap|"
    r"dragged|taps|clicks|scrolls|swipes|types)\b"
)
_IT = re.compile(rf"\bit\s+(?:then\s+|also\s+|next\s+)?{_TOUCHES}", re.IGNORECASE)
"""The agent, unless the Failure Analyzer was spoken of."""
_ANALYZER = re.compile(r"\bfailure[\s-]analy[sz]er", re.IGNORECASE)
_THIRD_PERSON = re.compile(
    rf"\b(?:the|this|our)\s+(?:{_KINDS}\s+)?(?:agent|operator|assistant|bot)\b(?!\s+{_THINGS}\b)"
    rf"|\ban?\s+(?:{_KINDS}\s+)?(?:agent|operator|assistant|bot)\s+{_DEEDS}"
    rf"|(?:^|[.!?;:]\s+)(?:agent|operator|assistant)\s+{_DEEDS}"
    r"|\bthe\s+(?:ai|model|system)\s+(?:then\s+|also\s+)?"
    r"(?:tapped|clicked|typed|scrolled|swiped|pressed|selected|chose|decided)\b"
    rf"|\b(?:he|she|they|we|you|the\s+user|user)\s+(?:then\s+|also\s+|next\s+)?{_TOUCHES}"
    r"|\b(?:he|she|they|we|you|the\s+user)\s+(?:then\s+|also\s+|next\s+)?(?:opened|launched)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"^\s*(?:[-*+•‣◦▪–—]|\(?(?:\d{1,2}|[a-zA-Z])[.)])\s+\S"
    r"|(?:^|\s)\(?1\)\s.+\s\(?2\)\s|(?:^|[:;]\s)1\.\s.+\s2\.\s",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^\s*#{1,6}\s*\w|^\s*[^\n.!?:]{1,60}:\s*$"
    r"|\A\s*(?:summary|step\s+\d+|observation|action|intent|result|strategy|note)s?\s*[:\-–—]\s"
    r"|\A\s*(?:here\s+is|here['’]s|sure\b|certainly\b|below\s+is)",
    re.MULTILINE | re.IGNORECASE,
)
_MARKDOWN = re.compile(
    r"\*\*(?=\w)[^*\n]+\*\*|__\w|(?<!\w)\*\w[^*\n]*\*(?!\w)|`|~~|\[[^\]\n]+\]\([^)\n]+\)|!\[|^\s*>\s|^\s*\|.*\|"
    r"|\A\s*[{\[]\s*\"|<(?:/?(?:b|i|p|br|ul|li|ol|div|span|h\d|strong|em|summary))\b",
    re.MULTILINE | re.IGNORECASE,
)
_RULER = re.compile(r"^\s*(?:[=~*_─━-]\s?){3,}\s*$|={3,}|-{3,}|<<<|>>>|─{3,}", re.MULTILINE)

SEPARATOR = "──"
"""What divides the parts of a writer's input; never part of an answer."""


class Checked(NamedTuple):
    """What the checks say of a text."""

    refusals: tuple[Refusal, ...]
    image_only: tuple[str, ...] = ()
    """Values that stand in none of the texts, where pictures were given."""

    @property
    def passed(self) -> bool:
        return not self.refusals


def check_summary(
    text: str, sources: Sequence[str], *, with_images: bool, echoes: Sequence[str] = ()
) -> Checked:
    """Every rule that a summary breaks. `echoes` are the headings its writer was shown."""
    text = plain(text)
    refusals = [*_length(text), *_shape(text, echoes), *check_neutral(text, sources)]
    sourced = check_values(text, sources, with_images=with_images)
    return Checked((*refusals, *sourced.refusals), sourced.image_only)


def check_neutral(text: str, sources: Sequence[str]) -> tuple[Refusal, ...]:
    """Judging words and the third person, outside of quotations."""
    said = _EXEMPT.sub(" ", without_quotations(text))
    found = [
        Refusal(rule="judging_word", detail=f"“{match[0]}” judges")
        for pattern in _JUDGING.values()
        for match in pattern.finditer(said)
    ]
    found += [
        Refusal(rule="judging_word", detail=f"“{quoted}” is quoted, but stands in no source")
        for quoted in quotations(text)
        if _only_judges(quoted) and not stands_in(Found(ValueKind.QUOTATION, quoted), sources)
    ]
    third = _THIRD_PERSON.search(said)
    if third is None and not _ANALYZER.search(text):
        third = _IT.search(said)
    if third is not None:
        detail = f"“{third[0]}”: write as “I”"
        found.append(Refusal(rule="third_person", detail=detail))
    return tuple(found)


def check_values(text: str, sources: Sequence[str], *, with_images: bool) -> Checked:
    """Values that stand in none of the sources: refused, or marked where pictures were given."""
    missing = [v for v in values(text) if not stands_in(v, sources)]
    if with_images:
        return Checked((), tuple(v.text for v in missing))
    return Checked(
        tuple(
            Refusal(rule="value_without_source", detail=f"{v.kind.value} “{v.text[:100]}”")
            for v in missing
        )
    )


def _only_judges(quoted: str) -> bool:
    """Scare quotes: nothing but the judging word itself."""
    return any(p.fullmatch(quoted.strip(" .,!")) is not None for p in _JUDGING.values())


def _length(text: str) -> Iterator[Refusal]:
    size = len(text.strip())
    if size < SHORTEST:
        yield Refusal(rule="too_short", detail=f"{size} characters")
    if size > LONGEST:
        yield Refusal(rule="too_long", detail=f"{size} characters; at most {LONGEST}")


def _shape(text: str, echoes: Sequence[str]) -> Iterator[Refusal]:
    """One plain paragraph: no list, no heading, no markdown, nothing of the input's frame."""
    said = without_quotations(text)
    if re.search(r"\S\s*\n\s*\n\s*\S", text):
        yield Refusal(rule="paragraphs", detail="more than one paragraph")
    for rule, pattern in (("list", _LIST), ("markdown", _MARKDOWN)):
        if (match := pattern.search(said)) is not None:
            yield Refusal(rule=rule, detail=f"“{match[0].strip()[:60]}”")
    echo = next((e for e in (SEPARATOR, *echoes) if e in said), "")
    if ruler := _RULER.search(said):
        echo = echo or ruler[0].strip()
    if echo:
        yield Refusal(rule="echo", detail=f"“{echo[:60]}” is part of the input's frame")
    elif (heading := _HEADING.search(said)) is not None:
        yield Refusal(rule="heading", detail=f"“{heading[0].strip()[:60]}”")
