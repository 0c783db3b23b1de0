"""What a task's memory has done beside its steps: background work, fallbacks, recalls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from app.console.figures import Meter, money_meter, token_meter
from app.console.phrases import CHUNK_SIGNS, SUMMARY_SIGNS, Sign
from app.domain.config import MemoryConfig
from app.domain.events import BackgroundChanged, FallbackUsed, StoredEvent, TextRefused, ToolServed
from app.domain.messages import Role
from app.domain.summaries import ChunkState, SummaryStatus
from app.domain.tasks import Task
from app.storage.queries import EventGroup, Queries, RoleSpend

UP_TO_DATE = Sign("up to date", "check", "ok")
WRITING = Sign("writing", "play", "run")
LATER = Sign("goes on at the next start", "clock", "warn")
OFF = Sign("off", "ring", "idle")
STATE_SIGNS = {
    "lite": Sign("with the lite model", "half", "warn"),
    "paused": Sign("paused", "pause", "warn"),
    "stopped": Sign("stopped", "stop", "bad"),
}
"""States of background work that somebody should know of; running is told by what waits."""
NO_OCR = "no_ocr"
REFUSED_ANSWERS = 500
"""Newest refused answers whose rules are counted."""
SHOWN_RULES = 6


class Counted(NamedTuple):
    """How many are in a state."""

    sign: Sign
    number: int


class Work(NamedTuple):
    """One kind of background work."""

    name: str
    sign: Sign
    reason: str
    counts: tuple[Counted, ...] = ()
    meters: tuple[Meter, ...] = ()
    """What it has used of its ceilings."""
    refused: tuple[tuple[str, int], ...] = ()
    """Rules that answers broke, and how often, the most frequent first."""


class MemoryView(NamedTuple):
    """All background work of a task."""

    works: tuple[Work, ...]
    waits: int
    """Times the agent waited for it."""


class FallbackKind(NamedTuple):
    """Something second best, how often it was used, and the last time."""

    word: str
    times: int
    detail: str
    step_number: int


class FallbacksView(NamedTuple):
    """What was not done in the best way."""

    kinds: tuple[FallbackKind, ...]
    recalls: int
    triggers: tuple[tuple[str, int], ...]
    """What called for the recalls, where that was recorded."""
    untriggered: int
    untriggered_step: int
    """The last step that recalled without a trigger."""

    @property
    def total(self) -> int:
        return sum(kind.times for kind in self.kinds)


async def read_memory(queries: Queries, task: Task, config: MemoryConfig) -> MemoryView:
    """State, counts and spend of a task's background work."""
    config = config.model_copy(update=task.spec.switches)
    figures = queries.figures
    changes = await figures.event_groups(task.task_id, "background_changed", "kind")
    moved = {group.value: group.newest for group in changes}
    spend = {row.role: row for row in await figures.spend(task.task_id)}
    summaries = await queries.memory.counts(task.task_id)
    chunks = await queries.memory.chunk_counts(task.task_id)
    refused = await _refused(queries, task.task_id)
    works = [
        Work(
            "Step summaries",
            *_state(
                moved.get("summaries"),
                on=config.summarises,
                waiting=summaries.get(SummaryStatus.PENDING, 0),
                ended=task.state.ended,
            ),
            _counted(SUMMARY_SIGNS, summaries),
            _ceilings(spend.get(Role.SUMMARIZER.value), config),
            refused.get("summaries", ()),
        ),
        Work(
            "Chunks",
            *_state(
                moved.get("chunks"),
                on=config.pro_memory_enabled and config.history_chunks,
                waiting=chunks.get(ChunkState.PENDING, 0),
                ended=task.state.ended,
            ),
            _counted(CHUNK_SIGNS, chunks),
            _ceilings(spend.get(Role.CHUNK_WRITER.value), config),
            refused.get("chunks", ()),
        ),
    ]
    pictures = await _pictures(queries, task.task_id)
    return MemoryView(
        works=(*works, *([pictures] if pictures else ())),
        waits=await figures.waits(task.task_id),
    )


def _state(newest: StoredEvent | None, *, on: bool, waiting: int, ended: bool) -> tuple[Sign, str]:
    """How a kind of work is doing, and the reason it gave."""
    event = newest.event if newest else None
    told = event if isinstance(event, BackgroundChanged) else None
    if not on:
        return OFF, "switched off for this task"
    if told is not None and told.state in STATE_SIGNS:
        return STATE_SIGNS[told.state], told.reason
    if waiting:
        return (LATER, f"{waiting} left when the task ended") if ended else (WRITING, "")
    return UP_TO_DATE, ""


def _counted(
    signs: Mapping[SummaryStatus, Sign] | Mapping[ChunkState, Sign],
    counts: Mapping[SummaryStatus, int] | Mapping[ChunkState, int],
) -> tuple[Counted, ...]:
    known = {str(state): count for state, count in counts.items()}
    found = (Counted(sign, known.get(str(state), 0)) for state, sign in signs.items())
    return tuple(counted for counted in found if counted.number)


def _ceilings(spent: RoleSpend | None, config: MemoryConfig) -> tuple[Meter, ...]:
    if spent is None:
        return ()
    return (
        token_meter("tokens", spent.usage.total, config.background_tokens),
        money_meter("spent", spent.cost_usd, config.background_cost_usd),
    )


async def _refused(queries: Queries, task_id: str) -> dict[str, tuple[tuple[str, int], ...]]:
    """By kind of work, the rules that the newest refused answers broke."""
    newest = await queries.tasks.events_of(task_id, "text_refused", limit=REFUSED_ANSWERS)
    rules: dict[str, Counter[str]] = {}
    for stored in newest:
        if isinstance(stored.event, TextRefused):
            broken = rules.setdefault(stored.event.kind, Counter())
            broken.update(refusal.rule for refusal in stored.event.refusals)
    return {kind: tuple(broken.most_common(SHOWN_RULES)) for kind, broken in rules.items()}


async def _pictures(queries: Queries, task_id: str) -> Work | None:
    """Texts read from pictures; None where none were to be read."""
    groups = await queries.figures.event_groups(task_id, "text_read", "problem")
    off = await queries.figures.event_groups(task_id, "fallback_used", "kind", kind=NO_OCR)
    if not groups and not off:
        return None
    read = sum(group.count for group in groups if not group.value)
    unread = [group for group in groups if group.value]
    counts = (
        Counted(Sign("read", "check", "ok"), read),
        Counted(Sign("not read", "half", "warn"), sum(group.count for group in unread)),
    )
    sign, reason = UP_TO_DATE, unread[0].value or "" if unread else ""
    if off:
        sign, reason = OFF, _detail(off[0])
    return Work("Texts in pictures", sign, reason, tuple(c for c in counts if c.number))


async def read_fallbacks(queries: Queries, task_id: str) -> FallbacksView:
    """Everything second best by kind, and the recalls by what called for them."""
    figures = queries.figures
    used = await figures.event_groups(task_id, "fallback_used", "kind")
    recalls = await figures.event_groups(task_id, "tool_served", "trigger", name="recall_history")
    untriggered = next((group for group in recalls if group.value == ""), None)
    return FallbacksView(
        kinds=tuple(
            FallbackKind(
                word=(group.value or "").replace("_", " "),
                times=group.count,
                detail=_detail(group),
                step_number=_step(group),
            )
            for group in used
        ),
        recalls=sum(group.count for group in recalls),
        triggers=tuple((group.value, group.count) for group in recalls if group.value),
        untriggered=untriggered.count if untriggered else 0,
        untriggered_step=_step(untriggered) if untriggered else 0,
    )


def _detail(group: EventGroup) -> str:
    event = group.newest.event
    return event.detail if isinstance(event, FallbackUsed) else ""


def _step(group: EventGroup) -> int:
    event = group.newest.event
    return event.step_number if isinstance(event, FallbackUsed | ToolServed) else 0
