"""Holds a summary against its step's record: what it leaves out, and where it says otherwise."""

from __future__ import annotations

import re

from app.domain.actions import Verdict
from app.domain.tasks import StepRecord
from app.memory.sourcing import comparable, without_quotations

KEPT_CHARACTERS = 120
"""Of a kept value, what a summary must carry to the letter."""


def omissions(text: str, step: StepRecord) -> tuple[str, ...]:
    """What a summary must not leave out and this one does: kept values, notes, recoveries."""
    said = comparable(text)
    missing = [
        f"the kept value {key}"
        for key, value in step.remembered.items()
        if comparable(value).strip()[:KEPT_CHARACTERS] not in said
    ]
    missing += [f"the note {key}" for key in step.notes if comparable(key) not in said]
    if step.recoveries and "analy" not in said:
        missing.append("the Failure Analyzer's intervention")
    return tuple(missing)


_SEEN = r"(?:page|screen|dialog|view|app|display)"
_NO_CHANGE = re.compile(
    r"\b(?:nothing (?:had |has )?changed|no (?:visible )?changes?\b(?! of)|"
    rf"{_SEEN} (?:itself )?(?:was |had |has |did |were )?(?:unchanged|not changed?|"
    r"(?:stayed|remained) (?:the same|as it was|unchanged)))\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    rf"(?<!\bno )\b(?:(?:another|a new|the next|a different) {_SEEN}\b.{{0,40}}"
    r"\b(?:was|were|had been|came|appeared|opened|displayed|shown)|"
    rf"(?<!no )(?<!neither )(?:{_SEEN}|list|form) (?:then )?(?:opened|appeared|changed|closed))\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:expect|should|would|if|whether|until|hop|want|wait|plan|before|earlier|when)\w*\b"
    r"[^.;!?]{0,80}$",
    re.IGNORECASE,
)
"""Before a match: a change that was wished for, or another one, is not told as seen."""


def contradiction(text: str, step: StepRecord) -> str:
    """Where a summary says otherwise than the validator; empty where it does not."""
    verdict = step.verdict
    if verdict is None:
        return ""
    text = without_quotations(text)
    changed = step.diff is not None and step.diff.changed
    if verdict is Verdict.EXECUTED and changed and (said := _told(_NO_CHANGE, text)):
        return f"says “{said[0]}”, the validator saw: {step.diff.line() if step.diff else ''}"
    unmoved = verdict in (Verdict.NO_VISIBLE_CHANGE, Verdict.BLOCKED) and not changed
    if unmoved and (said := _told(_CHANGE, text)):
        return f"says “{said[0]}”, the validator recorded {verdict.value}"
    return ""


def _told(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first place where a text tells it as seen."""
    return next(
        (m for m in pattern.finditer(text) if not _SUPPOSED.search(text[: m.start()])), None
    )
