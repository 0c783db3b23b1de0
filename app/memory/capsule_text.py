"""Renders a capsule: as it stands in the prompt, and as it is searched."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.memory import SearchEntry, TextKind
from app.domain.summaries import Capsule, HistoryChunk


def digest(capsule: Capsule, first: int, last: int) -> str:
    """Bands ① and ② as they stand in the prompt."""
    named = (
        ("from", (capsule.entry_state,)),
        ("to", (capsule.exit_state,)),
        ("verified", capsule.verified_facts),
        ("unresolved", capsule.unresolved),
        ("tried", capsule.failed_paths),
        ("entities", capsule.important_entities),
    )
    lines = [_flat(f"Steps {first}-{last}: {capsule.doing} {capsule.did} {capsule.effect}")]
    lines += [f"  {name}: {_flat('; '.join(items))}" for name, items in named if any(items)]
    for part in capsule.intervals:
        one = part.start_step == part.end_step
        where = f"Step {part.start_step}" if one else f"Steps {part.start_step}-{part.end_step}"
        lines.append(f"  {where}: {_flat(part.text)}")
    return "\n".join(lines)


def _flat(text: str) -> str:
    return " ".join(text.split())


def search_entries(chunk: HistoryChunk, capsule: Capsule) -> Iterable[SearchEntry]:
    """A capsule's texts, each found under a step it tells of."""
    for interval in capsule.intervals:
        yield SearchEntry(step_number=interval.start_step, kind=TextKind.CHUNK, text=interval.text)
    told = (capsule.doing, capsule.did, capsule.effect, capsule.exit_state)
    lists = (*capsule.verified_facts, *capsule.unresolved, *capsule.failed_paths)
    text = "\n".join(filter(None, (*told, *lists, *capsule.important_entities)))
    yield SearchEntry(step_number=chunk.end_step, kind=TextKind.CHUNK, text=text)
