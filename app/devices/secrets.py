"""Puts secrets in at the device and takes them out of what the device shows again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape

from app.domain.screens import DeviceView, Dialect, UiSource
from app.errors import ConfigurationError

Secrets = Callable[[str], str | None]
"""Gives the value behind `secret:NAME`, or None."""

_REFERENCE = re.compile(r"secret:([A-Za-z0-9_.-]{1,100})")
_ATTRIBUTE = re.compile(r'="([^"]*)"')
SHORTEST = 3
"""Shorter values would be found everywhere; they are not looked for."""


class Redactor:
    """Knows the secrets typed in one task and hides them wherever they come back."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._typed: dict[str, str] = {}

    def resolve(self, text: str) -> tuple[str, bool]:
        """The text to type and whether it is secret; raises ConfigurationError."""
        reference = _REFERENCE.fullmatch(text.strip())
        if reference is None:
            return text, False
        value = self._secrets(reference[1])
        if value is None:
            raise ConfigurationError(f"There is no secret named {reference[1]}.")
        if len(value) >= SHORTEST:
            self._typed[value] = f"[secret:{reference[1]}]"
        return value, True

    def hide(self, text: str) -> str:
        """Any text that is about to leave the device."""
        for value, word in sorted(self._typed.items(), key=lambda item: -len(item[0])):
            text = text.replace(value, word)
        return text

    def hide_in(self, view: DeviceView) -> DeviceView:
        """Everything readable in a view; the picture is left as it is."""
        if not self._typed:
            return view
        update: dict[str, object] = {
            "url": self.hide(view.url),
            "title": self.hide(view.title),
            "source_problem": self.hide(view.source_problem),
            "toasts": tuple(self.hide(toast) for toast in view.toasts),
            "notes": tuple(self.hide(note) for note in view.notes),
        }
        if view.source is not None:
            update["source"] = self._hide_in_source(view.source)
        if view.alert is not None:
            update["alert"] = view.alert.model_copy(update={"text": self.hide(view.alert.text)})
        return view.model_copy(update=update)

    def _hide_in_source(self, source: UiSource) -> UiSource:
        """Only in values, so that the source stays well-formed whatever the secret is."""
        if source.dialect is Dialect.DOM:
            text = json.dumps(self._hide_in_json(json.loads(source.text)), ensure_ascii=False)
        else:
            text = _ATTRIBUTE.sub(self._hide_in_attribute, source.text)
        return source.model_copy(update={"text": text})

    def _hide_in_json(self, value: object) -> object:
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self._hide_in_json(item) for item in value]
        if isinstance(value, dict):
            # Tags and roles are ours; a secret spelt like one of them must not break the page.
            fixed = ("tag", "role")
            return {k: v if k in fixed else self._hide_in_json(v) for k, v in value.items()}
        return value

    def _hide_in_attribute(self, match: re.Match[str]) -> str:
        inner = match[1]
        for value, word in sorted(self._typed.items(), key=lambda item: -len(item[0])):
            for form in (value, escape(value), escape(value, quote=False)):
                inner = inner.replace(form, word)
        return f'="{inner}"'
