"""The nodes' system texts, one file each."""

from __future__ import annotations

from importlib.resources import files


def load(name: str) -> str:
    """The text of `name`.md."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
