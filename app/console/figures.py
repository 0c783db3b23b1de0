"""Geometry of the context bar and its sparkline, and money and tokens by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.console.templating import counted, money, tokens
from app.domain.config import MemoryConfig
from app.domain.memory import Departure
from app.domain.tasks import ModelCallRecord

BAR = 1_000  # width of the bar's view box
SPARK_WIDTH, SPARK_HEIGHT = 320, 36


class Meter(NamedTuple):
    """How much of a limit is used."""

    name: str
    used: str
    limit: str
    percent: float


class ZoneBar(NamedTuple):
    """One part of the bar."""

    key: str
    name: str
    note: str
    tokens: int
    x: float
    width: float


class ContextView(NamedTuple):
    """The prompt of one call, measured."""

    call_id: str
    step_number: int
    estimated: int
    real: int
    """Zero where the provider said nothing."""
    zones: tuple[ZoneBar, ...]
    full: int
    """Tokens at the bar's right end."""
    target: int
    """A compaction runs above so many tokens."""
    target_x: float
    hard: int
    """No first call is ever larger."""
    hard_x: float
    shared: int
    shared_width: float
    shared_percent: int
    departures: tuple[Departure, ...]
    compacted: bool
    spark: str
    """Points of a polyline."""
    spark_target: float
    """Height of the target line."""
    spark_peak: int
    waits: int


def context_view(calls: Sequence[ModelCallRecord], config: MemoryConfig) -> ContextView | None:
    """From the first calls of all turns, oldest first; the last one is drawn."""
    measured = [call for call in calls if call.figures is not None]
    if not measured:
        return None
    call = measured[-1]
    figures = call.figures
    assert figures is not None
    zones = figures.zones
    total = max(figures.estimated, zones.total)
    target, hard = config.target_tokens, config.hard_tokens
    full = max(hard, total)

    def x(size: float) -> float:
        return round(size * BAR / full, 1)

    parts = (
        ("s", "system, rules and tools", "stable", zones.stable),
        ("f", "frozen history", counted(figures.frozen_lines, "line"), zones.frozen),
        ("a", "turns in full", counted(figures.turns_in_active, "turn"), zones.active),
        ("t", "this turn: plan, screen", counted(figures.images, "image"), zones.tail),
    )
    bars, at = [], 0.0
    for key, name, note, size in parts:
        bars.append(ZoneBar(key, name, note, size, at, x(size)))
        at = round(at + x(size), 1)
    peak = max(max(_size(c) for c in measured), target)
    return ContextView(
        call_id=call.call_id,
        step_number=call.step_number,
        estimated=figures.estimated or zones.total,
        real=call.usage.prompt,
        zones=tuple(bars),
        full=full,
        target=target,
        target_x=x(target),
        hard=hard,
        hard_x=x(hard),
        shared=figures.shared_prefix,
        shared_width=x(figures.shared_prefix),
        shared_percent=round(100 * figures.shared_prefix / total) if total else 0,
        departures=figures.departures,
        compacted=figures.compacted,
        spark=_points([_size(c) for c in measured], peak),
        spark_target=round(SPARK_HEIGHT * (1 - target / peak), 1),
        spark_peak=max(_size(c) for c in measured),
        waits=figures.waits,
    )


def count_meter(name: str, used: int, limit: int) -> Meter:
    """Of things that are counted one by one."""
    return Meter(name, str(used), str(limit), _percent(used, limit))


def token_meter(name: str, used: int, limit: int) -> Meter:
    """Of tokens."""
    return Meter(name, tokens(used), tokens(limit), _percent(used, limit))


def money_meter(name: str, used: float, limit: float) -> Meter:
    """Of money."""
    return Meter(name, money(used), money(limit), _percent(used, limit))


def _percent(used: float, limit: float) -> float:
    """A limit of nothing is reached."""
    share = used / limit if limit else 1.0
    return round(min(1.0, max(0.0, share)) * 100, 1)


def _size(call: ModelCallRecord) -> int:
    figures = call.figures
    return call.usage.prompt or (figures.estimated or figures.zones.total if figures else 0)


def _points(values: Sequence[int], peak: int) -> str:
    if len(values) < 2:
        return ""
    step = SPARK_WIDTH / (len(values) - 1)
    return " ".join(
        f"{i * step:.1f},{SPARK_HEIGHT * (1 - value / peak):.1f}" for i, value in enumerate(values)
    )
