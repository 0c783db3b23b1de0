"""The offline failure analyzer: a diagnosis by rules."""

from __future__ import annotations

import re

from app.domain.messages import JsonObject, ModelRequest
from app.llm.offline.elements import Shown, find, plain, read_elements
from app.llm.offline.sections import sections

CLOSERS = frozenset(
    plain(word)
    for word in (
        "Not now",
        "Close",
        "Cancel",
        "Skip",
        "Dismiss",
        "Later",
        "Maybe later",
        "No thanks",
        "Got it",
        "×",
        "✕",
        "Nicht jetzt",
        "Schließen",
        "Abbrechen",
        "Später",
    )
)
"""Texts of buttons that only put away what stands in front."""

_LABEL = re.compile(r"\[([^\]\n]+)\]|“([^”\n]+)”|\"([^\"\n]+)\"")


def answer_analyzer(request: ModelRequest) -> JsonObject:
    """What stands in the way and the one thing to try."""
    told = sections(request, ("TRIGGER", "ACTION", "SCREEN"))
    trigger, screen = told["TRIGGER"].casefold(), told["SCREEN"]
    elements = read_elements(screen)
    label = _label(told["ACTION"])
    if re.search(r"^alert: ", screen, re.MULTILINE):
        return _found("An alert stands in front.", "dismiss")
    if closer := _closer(elements, label):
        return _found(f"“{closer.text}” closes what stands in front.", "dismiss", closer)
    target = find(elements, label) if label else None
    if target is not None and target.on_screen:
        if "no_visible_change" in trigger or "no visible change" in trigger:
            return _found("The target is there, but the action had no effect.", "none")
        return _found("The target is there under another index.", "other_locator", target)
    if label and elements and "scroll to" not in told["ACTION"]:
        told_text = f"“{label}” is not in view."
        return _found(told_text, "scroll_into_view", text=label)
    if any(word in trigger for word in ("crash", "not running", "session", "another app")):
        return _found("The app is not in front.", "relaunch")
    return _found("Nothing that I know of would help.", "none")


def _label(action: str) -> str:
    found = _LABEL.search(action)
    return next((text for text in found.groups() if text), "") if found else ""


def _closer(elements: tuple[Shown, ...], label: str) -> Shown | None:
    fitting = (e for e in elements if e.interactive and plain(e.text) in CLOSERS)
    return next((e for e in fitting if plain(e.text) != plain(label)), None)


def _found(
    diagnosis: str, recovery: str, element: Shown | None = None, text: str = ""
) -> JsonObject:
    index = element.index if element else None
    return {"diagnosis": diagnosis, "recovery": recovery, "element": index, "text": text}
