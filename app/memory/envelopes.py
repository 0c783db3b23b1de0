"""Bounds what one tool result may put into a turn.

A result over the limit is stored whole as an artifact and shown as an envelope: the lines
that matter, the errors, the beginning and the end, and a reference to the rest.
"""

from __future__ import annotations

import re

from app.domain.messages import JsonObject
from app.domain.screens import ArtifactRef
from app.memory.tokens import count_text, cut_text

_ERROR = re.compile(r"\b(error|exception|fatal|denied|failed|failure|traceback|crash)\b", re.I)
_LINE = 300
"""Characters of one line in an envelope."""


def fits(text: str, tokens: int) -> bool:
    """Whether a result may be shown as it is."""
    return count_text(text) <= tokens


def envelope(text: str, tokens: int, ref: ArtifactRef, matching: str = "") -> JsonObject:
    """The bounded form of a long result; lines holding a word of `matching` survive."""
    lines = text.splitlines()
    words = [w for w in re.findall(r"\w+", matching.casefold()) if len(w) > 2]
    important = [x for x in lines if any(w in x.casefold() for w in words)] if words else []
    errors = [x for x in lines if _ERROR.search(x)]
    share = max(20, (tokens - 80) // 4)
    return {
        "status": "success",
        "important_lines": _within(important, share),
        "errors": _within(errors, share),
        "head": _within(lines, share),
        "tail": _within(lines[::-1], share)[::-1],
        "full_result_ref": f"artifact:{ref.sha256}",
        "truncated": True,
        "original_chars": len(text),
    }


def _within(lines: list[str], tokens: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        line = line if len(line) <= _LINE else line[:_LINE] + "…"
        cost = count_text(line) + 1
        if cost > tokens:
            if not kept:
                kept.append(cut_text(line, max(1, tokens - 1)))
            break
        kept.append(line)
        tokens -= cost
    return kept
