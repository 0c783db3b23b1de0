"""Bounds what one tool result may put into a turn.

A result over the limit is stored whole as an artifact and shown as an envelope: the lines
that matter, the errors, the beginning and the end, and a reference to the rest. Once other
results came after it, an answer may shrink further; what matters in it stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from app.domain.messages import JsonObject
from app.domain.screens import ArtifactRef
from app.memory.tokens import count_text, cut_text

_ERROR = re.compile(r"\b(error|exception|fatal|denied|failed|failure|traceback|crash)\b", re.I)
_LINE = 300
"""Characters of one line in an envelope."""
MAX_LINES = 300
"""A result of more lines is shown as an envelope, however short they are."""
_KEPT = ("status", "full_result_ref", "truncated", "original_chars")
_SHRUNK = "… (shortened; recall_history has it all)"


def fits(text: str, tokens: int) -> bool:
    """Whether a result may be shown as it is."""
    return text.count("\n") < MAX_LINES and _cost(text) <= tokens


def envelope(text: str, tokens: int, ref: ArtifactRef, matching: str = "") -> JsonObject:
    """The bounded form of a long result; lines holding a word of `matching` survive."""
    lines = text.splitlines()
    words = [re.escape(w) for w in re.findall(r"\w+", matching.casefold()) if len(w) > 2]
    wanted = re.compile("|".join(words), re.I) if words else None
    share = max(20, (tokens - 80) // 4)
    return {
        "status": "success",
        "important_lines": _within(_around(lines, wanted), share) if wanted else [],
        "errors": _within(_around(lines, _ERROR), share),
        "head": _within(map(_beginning, lines), share),
        "tail": _within(map(_end, reversed(lines)), share)[::-1],
        "full_result_ref": f"artifact:{ref.sha256}",
        "truncated": True,
        "original_chars": len(text),
    }


def shortened(answer: JsonObject, tokens: int) -> JsonObject:
    """An answer within a bound; an envelope loses its beginning and end before what matters."""
    if _cost(answer) <= tokens:
        return answer
    if "full_result_ref" in answer:
        kept: JsonObject = {name: answer[name] for name in _KEPT if name in answer}
        room = tokens - _cost(kept)
        for name in ("errors", "important_lines"):
            kept[name] = _within(_texts(answer.get(name)), max(1, room // 2))
        return kept
    name = "error" if "error" in answer else "result"
    text = answer[name] if isinstance(answer.get(name), str) else json.dumps(answer)
    return {name: _cut(text, tokens - count_text(_SHRUNK) - 4) + _SHRUNK}


def _around(lines: Iterable[str], wanted: re.Pattern[str]) -> Iterable[str]:
    """The lines that hold a match; of a long one what stands around it."""
    for line in lines:
        if found := wanted.search(line):
            yield _window(line, max(0, found.start() - _LINE // 3))


def _beginning(line: str) -> str:
    return _window(line, 0)


def _end(line: str) -> str:
    return _window(line, max(0, len(line) - _LINE))


def _window(line: str, start: int) -> str:
    if len(line) <= _LINE:
        return line
    part = line[start : start + _LINE]
    return f"{'…' if start else ''}{part}{'…' if start + _LINE < len(line) else ''}"


def _within(lines: Iterable[str], tokens: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        cost = _cost(line) + 1
        if cost > tokens:
            if not kept:
                kept.append(_cut(line, max(1, tokens - 1)))
            break
        kept.append(line)
        tokens -= cost
    return kept


def _cut(text: str, tokens: int) -> str:
    """The beginning of a text whose JSON form keeps a bound."""
    short = cut_text(text, max(0, tokens))
    while short and _cost(short) > tokens:
        short = short[: len(short) * 3 // 4]
    return short


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _cost(value: object) -> int:
    """Tokens of a value as it stands in a request: as JSON, where a control character is six."""
    return count_text(json.dumps(value, ensure_ascii=False))
