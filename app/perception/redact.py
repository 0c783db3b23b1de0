"""Takes the contents of password fields out of a raw UI source before it is stored."""

from __future__ import annotations

import re

from app.domain.screens import UiSource

TAG = re.compile(
    r"""<[^\s<>/"'=]+(?:\s+[^\s<>/"'=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))?)*\s*/?>"""
)
SECURE = re.compile(
    r"""\bpassword\s*=\s*["']true["']|SecureTextField|\btype\s*=\s*["']?password\b""", re.IGNORECASE
)
CONTENT = re.compile(r"""(\s(?:text|value)\s*=\s*)(?:"[^"]*"|'[^']*'|[^\s"'<>=]+)""")


def without_passwords(source: UiSource) -> UiSource:
    """The same source with empty texts and values in its password fields."""
    if SECURE.search(source.text) is None:
        return source
    return source.model_copy(update={"text": TAG.sub(_emptied, source.text)})


def _emptied(found: re.Match[str]) -> str:
    tag = found[0]
    return CONTENT.sub(r'\1""', tag) if SECURE.search(tag) else tag
