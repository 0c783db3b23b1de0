"""The system texts of the background writers, one file each."""

from __future__ import annotations

from importlib.resources import files

SUMMARY_VERSION = 1
"""Raised whenever summary.md or its input changes what a summary says."""
CAPSULE_VERSION = 2


def load(name: str) -> str:
    """The text of `name`.md."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
