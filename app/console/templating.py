"""Templates: one environment, escaping always on, a typo in a name fails."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.console.phrases import (
    BOUNDARY_WORDS,
    CHUNK_SIGNS,
    MILESTONE_SIGNS,
    SUMMARY_SIGNS,
    Sign,
)
from app.domain.plans import Milestone
from app.domain.tasks import Task


class Templates:
    """Renders pages and components to text."""

    def __init__(self, templates: Path, static: Path) -> None:
        self._versions: dict[str, str] = {}
        self._static = static
        self._environment = Environment(
            loader=FileSystemLoader(templates),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["static"] = self.static_url
        self._environment.filters.update(
            clock=clock,
            stamp=stamp,
            tokens=tokens,
            grouped=lambda number: f"{number:,}",
            cost=cost,
            role_cost=role_cost,
            short=short,
            first_line=first_line,
            json=pretty_json,
            milestone_sign=milestone_sign,
            summary_sign=SUMMARY_SIGNS.__getitem__,
            chunk_sign=CHUNK_SIGNS.__getitem__,
            boundary_word=BOUNDARY_WORDS.__getitem__,
            rule=lambda name: name.replace("_", " "),
            counted=counted,
            lasting=lasting,
            css_id=css_id,
        )

    def text(self, name: str, **values: Any) -> str:
        """A template as text."""
        return self._environment.get_template(name).render(**values)

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as an answer."""
        return HTMLResponse(self.text(name, **{"here": "", **values}), status)

    def macro(self, name: str, macro: str) -> Any:
        """A macro of a component, to be called with its values."""
        module = self._environment.get_template(name).module
        return partial(getattr(module, macro))

    def static_url(self, name: str) -> str:
        """An address that changes with the file's content, so that it can be cached for good."""
        if name not in self._versions:
            data = (self._static / name).read_bytes()
            self._versions[name] = hashlib.sha256(data).hexdigest()[:12]
        return f"/static/{name}?v={self._versions[name]}"


def clock(at: datetime) -> str:
    """`14:05` in UTC; the page's script makes it local."""
    return at.astimezone(UTC).strftime("%H:%M:%S UTC")


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def tokens(number: int) -> str:
    """`950`, `12.3K`, `4.1M`."""
    if number < 1_000:
        return str(number)
    if number < 100_000:
        return f"{number / 1_000:.1f}K"
    return f"{number / 1_000:.0f}K" if number < 1_000_000 else f"{number / 1_000_000:.2f}M"


def cost(task: Task) -> str:
    """Money spent; a model without a price is said to have none."""
    if task.unpriced_calls and not task.cost_usd:
        return "price unknown"
    more = " + unknown" if task.unpriced_calls else ""
    return money(task.cost_usd) + more


def money(amount: float) -> str:
    return f"${amount:.4f}" if 0 < amount < 0.01 else f"${amount:.2f}"


def role_cost(row: Any) -> str:
    return "unknown" if row.cost_usd is None else money(row.cost_usd)


def short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def first_line(text: str) -> str:
    """The first line with anything in it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def pretty_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def counted(number: int, noun: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def lasting(seconds: float) -> str:
    """`4.2 s`, `12 min`, `3 h`, `140 days`."""
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s"


def css_id(name: str) -> str:
    """A device's name inside a CSS selector: its only special characters are dots."""
    return name.replace(".", "\\.")


def milestone_sign(milestone: Milestone) -> Sign:
    return MILESTONE_SIGNS[milestone.state]
