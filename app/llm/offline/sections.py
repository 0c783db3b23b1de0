"""Cuts the one user message of the other roles into its headed sections."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.messages import ModelRequest


def sections(request: ModelRequest, heads: Sequence[str]) -> dict[str, str]:
    """Text by heading; a missing one is empty.

    Read from the end, so that a heading inside an earlier text cannot cut a later section.
    """
    text = "\n" + "\n".join(m.text for m in request.messages if m.role == "user") + "\n"
    text = text.partition("\n# CORRECTION\n")[0] + "\n"
    found: dict[str, str] = dict.fromkeys(heads, "")
    for head in reversed(heads):
        mark = f"\n# {head}\n"
        at = text.rfind(mark)
        if at >= 0:
            found[head] = text[at + len(mark) :].strip("\n")
            text = text[: at + 1]
    return found
