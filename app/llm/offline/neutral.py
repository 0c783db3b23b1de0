"""Words for the offline writers: quotes what a source says, and passes over what would judge."""

from __future__ import annotations

import re

_JUDGES = re.compile(
    r"succe(?:ss|ed)|complet|achiev|\benter|re-?enter|navigat|arriv|\bfail|unsuccess|impossib"
    r"|could\s?n|could\s+\w*\s*not|can\s?not|can['’]t|couldn",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:agent|operator|assistant|bot|he|she|they|we|you|your|user|model|system)\b"
    r"|^\s*(?:it|the\s+ai)\b",
    re.IGNORECASE,
)
_FRAME = re.compile(r"[*`#<>|{}\[\]_~]|──|={2,}|-{2,}|^\s*(?:[-•+]|\(?\w{1,2}[.)])\s")
_QUOTES = re.compile("[\"“”„«»「」『』‹›‘’'`]")  # noqa: RUF001
_PLACES = re.compile(
    r"[\[({]\s*-?\d+(?:\.\d+)?\s*[,;x×]\s*-?\d|@\s?\d+,\d|\b[xy]\d?\s*[=:]\s*-?\d|\bpx\b"
    r"|\bbounds\b|\bcoordinate|\bpixel|\bposition\b|\bpoint\b|\d\s?px\b|\d\s*,\s*\d",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"])|\n+")
LONGEST_QUOTATION = 120


def quoted(text: str) -> str:
    """A source's text in quotation marks: its longest run without any of its own; else nothing."""
    flat = " ".join(text.split())
    runs = [run.strip(" .,;:") for run in _QUOTES.split(flat)]
    best = max(runs, key=len, default="")
    if not best or not re.search(r"\w", best) or _FRAME.search(best) or "://" in best:
        return ""
    if len(best) > LONGEST_QUOTATION:
        best = best[:LONGEST_QUOTATION].rsplit(" ", 1)[0].strip(" .,;:") + "…"
    bare = best.strip(" .,!…")
    if _JUDGES.fullmatch(bare) or (_JUDGES.search(bare) and len(bare.split()) == 1):
        return ""
    return f"“{best}”"


def neutral(text: str) -> bool:
    """Whether a sentence may stand in a summary as it is."""
    if not text or _QUOTES.search(re.sub(r"(?<=\w)['’](?=\w)", "", text)):
        return False
    return not (_JUDGES.search(text) or _OTHERS.search(text) or _FRAME.search(text))


def placeless(text: str) -> bool:
    """Whether a text names no coordinates, bounds or pixels."""
    return not _PLACES.search(text)


def sentences(text: str, count: int, longest: int = 240) -> list[str]:
    """The first neutral sentences of a text, each ending in a full stop."""
    found = []
    for raw in _SENTENCE.split(text):
        sentence = " ".join(raw.split()).rstrip(" .,;:")
        if 12 <= len(sentence) <= longest and neutral(sentence) and _starts(sentence):
            found.append(sentence if sentence.endswith(("!", "?")) else f"{sentence}.")
        if len(found) == count:
            break
    return found


def _starts(sentence: str) -> bool:
    return sentence[0].isupper() and not re.match(r"\w+( \w+)?:", sentence)
