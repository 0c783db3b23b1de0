"""Folds what is old: chunks merge into an era, and an era shrinks to a period.

Structured sets are united and bounded. Prose is never summarised again: it stays in the
store, and the text says how it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.domain.summaries import Capsule, HistoryChunk
from app.memory.pieces import BODY, Piece, PieceKind, Sets, range_text, span_text
from app.memory.tokens import count_text, cut_text

ERA_CHUNKS = 8
"""Chunks that merge into one era before it becomes part of the period."""
SET_ENTRIES = 24
"""Entries of one set that are carried on; the newest."""
INDEX_TOKENS = 24
ENTRY_TOKENS = 30

_TITLES = (
    ("verified", "verified"),
    ("unresolved", "unresolved"),
    ("failed", "recorded errors"),
    ("entities", "entities"),
)


def fold(
    older: Sequence[Piece],
    evicted: Sequence[Piece],
    chunk_at: Callable[[int], HistoryChunk | None],
    tokens: int,
) -> list[Piece]:
    """The period and the era in place of earlier ones and of what leaves the prompt now."""
    leaving = [p for p in evicted if p.kind in BODY]
    if not leaving:
        return list(older)
    eras = [p for p in older if p.kind is PieceKind.ERA]
    spent = [p for p in older if p.kind is PieceKind.PERIOD]
    index = _index(leaving, chunk_at)
    if sum(len(p.index) for p in eras) + len(index) > ERA_CHUNKS:
        spent, eras = [*spent, *eras], []
    sources = [*eras, *leaving]
    sets = [p.sets for p in eras] + [_sets(c.capsule) for c in _chunks(leaving, chunk_at)]
    era = _era(sources, (*(i for p in eras for i in p.index), *index), unite(sets), tokens)
    return [*([period(spent)] if spent else []), era]


def period(pieces: Sequence[Piece]) -> Piece:
    """One paragraph for a range: which steps, which time, and the way back."""
    start, end = min(p.start for p in pieces), max(p.end for p in pieces)
    since, until = min(p.since for p in pieces), max(p.until for p in pieces)
    text = (
        f"Steps {range_text(start, end)} ({span_text(since, until)}): older; "
        f"recall_history with words or step_range=[{start},{end}] brings them back."
    )
    return Piece(kind=PieceKind.PERIOD, start=start, end=end, text=text, since=since, until=until)


def unite(all_sets: Iterable[Sets]) -> Sets:
    """The union of sets, each entry once and where it came first; the newest are carried on."""
    united: dict[str, dict[str, None]] = {name: {} for name, _ in _TITLES}
    for sets in all_sets:
        for name, entries in united.items():
            entries.update(dict.fromkeys(getattr(sets, name)))
    return Sets(**{name: tuple(entries)[-SET_ENTRIES:] for name, entries in united.items()})


def _sets(capsule: Capsule | None) -> Sets:
    if capsule is None:
        return Sets()
    return Sets(
        verified=capsule.verified_facts,
        unresolved=capsule.unresolved,
        failed=capsule.failed_paths,
        entities=capsule.important_entities,
    )


def _era(sources: Sequence[Piece], index: tuple[str, ...], sets: Sets, tokens: int) -> Piece:
    plain = period(sources)
    lines = [plain.text]
    left = tokens - count_text(plain.text)
    for line in reversed(index):
        if (cost := count_text(line) + 1) > left // 2:
            break
        lines.insert(1, line)
        left -= cost
    for name, title in _TITLES:
        line = _set_line(title, getattr(sets, name), left)
        if line:
            lines.append(line)
            left -= count_text(line) + 1
    return plain.model_copy(
        update={
            "kind": PieceKind.ERA,
            "text": "\n".join(lines),
            "index": index,
            "sets": sets,
        }
    )


def _set_line(title: str, entries: Sequence[str], tokens: int) -> str:
    """The newest entries that fit, and how many more there are."""
    shown: list[str] = []
    left = tokens - count_text(title) - 12
    for entry in reversed(entries):
        short = " ".join(cut_text(entry, ENTRY_TOKENS).split())
        if (cost := count_text(short) + 1) > left:
            break
        shown.insert(0, short)
        left -= cost
    if not shown:
        return ""
    more = len(entries) - len(shown)
    return f"  {title}: {'; '.join(shown)}" + (f"; and {more} more by recall" if more else "")


def _index(
    pieces: Sequence[Piece], chunk_at: Callable[[int], HistoryChunk | None]
) -> tuple[str, ...]:
    lines = []
    for chunk in _chunks(pieces, chunk_at):
        doing = chunk.capsule.doing if chunk.capsule is not None else ""
        if doing:
            words = " ".join(cut_text(doing, INDEX_TOKENS).split())
            more = "…" if len(words) < len(" ".join(doing.split())) else ""
            lines.append(f"  Steps {range_text(chunk.start_step, chunk.end_step)}: {words}{more}")
    return tuple(lines)


def _chunks(
    pieces: Sequence[Piece], chunk_at: Callable[[int], HistoryChunk | None]
) -> list[HistoryChunk]:
    """The chunks that these pieces belong to, each once."""
    found: dict[int, HistoryChunk] = {}
    for piece in pieces:
        if (chunk := chunk_at(piece.start)) is not None:
            found[chunk.start_step] = chunk
    return list(found.values())
