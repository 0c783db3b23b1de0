"""Orders the texts that matched: exact ones first, then by relevance and kind, then newest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.memory import TextKind
from app.storage.excerpts import Needle
from app.storage.rows import AnyRow
from app.storage.search_text import UNSPACED, Tokens, fold

WEIGHTS = {
    TextKind.REMEMBERED: 1.6,
    TextKind.INSTRUCTION: 1.6,
    TextKind.NOTE: 1.5,
    TextKind.ANSWER: 1.4,
    TextKind.ACTION: 1.3,
    TextKind.RECOVERY: 1.2,
    TextKind.SUMMARY: 1.2,
    TextKind.VERDICT: 1.1,
    TextKind.SCREEN: 1.0,
    TextKind.OCR: 1.0,
    TextKind.CHUNK: 0.9,
    TextKind.TOOL: 0.9,
    TextKind.THINKING: 0.8,
    TextKind.APP: 0.8,
    TextKind.PLAN: 0.6,
}
"""How much a match says: what was kept on purpose most, what was only planned least."""
_DIGITS = 6  # below which two relevances are the same
_IN_WORD = f"[^\\W{UNSPACED}]"


@dataclass(frozen=True)
class Sought:
    """A query, ready to be compared with texts."""

    phrase: re.Pattern[str]
    codes: tuple[re.Pattern[str], ...]
    needles: tuple[Needle, ...]
    """What an excerpt should show."""

    @classmethod
    def of(cls, query: str, tokens: Tokens) -> Sought:
        whole = fold(query)
        return cls(
            phrase=_standing_alone(whole),
            codes=tuple(map(_standing_alone, tokens.codes)),
            needles=(
                Needle(whole, 20),
                *(Needle(code, 5) for code in tokens.codes),
                *(Needle(word, 2) for word in dict.fromkeys(tokens.words)),
                *(Needle(form, 1) for form in tokens.forms),
            ),
        )


class Ranked(NamedTuple):
    """One text that matched; compares from worst to best."""

    phrase: bool
    """Holds the whole query as it stands."""
    codes: float
    """The share of the query's exact codes that it holds."""
    relevance: float
    step_number: int
    kind: TextKind
    text: str

    @property
    def score(self) -> float:
        """One figure for people: from 2 on the exact phrase, from 1 on all exact codes."""
        return round(2 * self.phrase + self.codes + self.relevance / (1 + self.relevance), 4)


def rank(row: AnyRow, sought: Sought) -> Ranked:
    text, kind = fold(row.text), TextKind(row.kind)
    held = sum(code.search(text) is not None for code in sought.codes)
    return Ranked(
        phrase=sought.phrase.search(text) is not None,
        codes=held / len(sought.codes) if sought.codes else 0.0,
        relevance=round(max(0.0, row.relevance) * WEIGHTS[kind], _DIGITS),
        step_number=row.step_number,
        kind=kind,
        text=row.text,
    )


def best_per_step(found: Iterable[Ranked]) -> list[Ranked]:
    """Best first, several hits in one step being one."""
    best: dict[int, Ranked] = {}
    for hit in sorted(found, reverse=True):
        best.setdefault(hit.step_number, hit)
    return list(best.values())


def _standing_alone(text: str) -> re.Pattern[str]:
    """The text where it is not part of a longer word; scripts without spaces have no such words."""
    before = f"(?<!{_IN_WORD})" if _in_word(text[:1]) else ""
    after = f"(?!{_IN_WORD})" if _in_word(text[-1:]) else ""
    return re.compile(before + re.escape(text) + after)


def _in_word(character: str) -> bool:
    return re.fullmatch(_IN_WORD, character) is not None
