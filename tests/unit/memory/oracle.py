"""Counts judging words and values without a source; shares nothing with the checks."""

from __future__ import annotations

WORDS = (
    "success successful successfully succeeded succeeds succeed complete completed completes "
    "completing completion achieve achieved achieves achieving enter entered enters entering fail "
    "failed fails failing failure failures unsuccessful unsuccessfully impossible couldn't cannot"
).split()
PHRASES = ("navigated to", "navigate to", "arrived at", "arrives at", "could not")
OPEN, CLOSE = "“„«「", "”“»」"


def unquoted(text: str) -> str:
    """What stands outside of curly quotation marks."""
    out: list[str] = []
    closing = ""
    for character in text:
        if closing:
            if character == closing:
                closing = ""
            continue
        if character in OPEN:
            closing = CLOSE[OPEN.index(character)]
            out.append(" ")
        else:
            out.append(character)
    return "".join(out)


def judging(text: str) -> list[str]:
    """Judging words outside of quotations, but for the Failure Analyzer and the Enter key."""
    said = unquoted(text).lower()
    for exempt in ("failure analyzer", "enter key"):
        said = said.replace(exempt, " ")
    letters = "".join(c if c.isalpha() or c == "'" else " " for c in said.replace("’", "'"))
    words = letters.split()
    joined = " ".join(words)
    return [w for w in words if w in WORDS] + [p for p in PHRASES if p in joined]


def quotations(text: str) -> list[str]:
    found, start = [], -1
    for i, character in enumerate(text):
        if character == "“":
            start = i + 1
        elif character == "”" and start >= 0:
            found.append(text[start:i])
            start = -1
    return found


def unsourced(text: str, source: str) -> list[str]:
    """Quotations and words with digits that the source does not hold."""
    flat = " ".join(source.split()).lower()
    missing = []
    for quotation in quotations(text):
        pieces = [" ".join(p.split()).lower() for p in quotation.split("…")]
        missing += [p for p in pieces if p and p not in flat]
    words = unquoted(text).split()
    for before, word in zip(["", *words], words, strict=False):
        bare = word.strip(".,;:!?()").lower()
        counted = before.lower().strip("(") in ("step", "steps") or bare.startswith("step")
        if any(c.isdigit() for c in bare) and not counted and bare not in flat:
            missing.append(word)
    return missing
