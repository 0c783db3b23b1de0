"""What zone F is made of: lines, ledgers, chunks, eras; each with its range and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from app.domain.summaries import ChunkState, HistoryChunk
from app.domain.tasks import StepRecord
from app.domain.values import Value
from app.memory.ledger import offset_text, step_line
from app.memory.tokens import count_text, cut_text

SUMMARY_TOKENS = 40
"""What a step's line takes from its summary."""
POINTS_TOKENS = 150
"""What a cut chunk says of its open points."""
CHUNK_TOKENS = 450
"""Bound of one chunk's text; the rest of it is one recall away."""


class PieceKind(StrEnum):
    """Kinds of piece."""

    LINE = "line"
    """One step: its mechanical line, and its summary if that was ready."""
    LEDGER = "ledger"
    """A closed chunk whose capsule is not ready: mechanical lines alone, marked."""
    CHUNK = "chunk"
    KEPT = "kept"
    """Kept lines that were new at a compaction."""
    ERA = "era"
    """Merged chunks: an index line each, and their structured sets united."""
    PERIOD = "period"
    """A range of which only the way back stands here."""


BODY = frozenset({PieceKind.LINE, PieceKind.LEDGER, PieceKind.CHUNK})


class Sets(Value):
    """The structured entries of capsules; only ever united, never rewritten."""

    verified: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Piece(Value):
    """A part of zone F as it stands there."""

    kind: PieceKind
    start: int
    end: int
    text: str
    since: float = 0.0
    """Offset of its first step."""
    until: float = 0.0
    summary: Literal["", "said", "dropped"] = ""
    """Of a line: whether it tells its step's summary, or had to leave it out."""
    whole: bool = True
    """False for a chunk that does not name all its open points."""
    index: tuple[str, ...] = ()
    """An era's line for each chunk in it."""
    sets: Sets = Sets()

    @property
    def tokens(self) -> int:
        return count_text(self.text) + 1


class Fact(NamedTuple):
    """What is kept at hand of a step for as long as its task runs."""

    number: int
    offset: float
    line: str
    subgoal: str
    app: str
    page: str
    looked_back: bool = False
    """It asked the history: what it remembered may come from an earlier step."""

    @classmethod
    def of(cls, step: StepRecord) -> Fact:
        seen = step.observation
        return cls(
            step.step_number,
            step.offset,
            step_line(step),
            step.subgoal_hash,
            seen.app(),
            seen.page(),
            "recall_history" in step.tools,
        )


def line_piece(fact: Fact, summary: str = "") -> Piece:
    """A step's exact action and result, with its summary below."""
    said = " ".join(cut_text(summary, SUMMARY_TOKENS).split())
    if said and count_text(summary) > SUMMARY_TOKENS:
        said += "…"
    return Piece(
        kind=PieceKind.LINE,
        start=fact.number,
        end=fact.number,
        text=f"{fact.line}\n  {said}" if said else fact.line,
        since=fact.offset,
        until=fact.offset,
        summary="said" if said else "",
    )


def ledger_piece(chunk: HistoryChunk, facts: Sequence[Fact]) -> Piece:
    """The mechanical lines of a chunk without a capsule."""
    start, end = facts[0].number, facts[-1].number
    state = "pending" if chunk.state is ChunkState.PENDING else "failed"
    lines = [f"Steps {start}-{end}: ledger alone, capsule {state}", *(f.line for f in facts)]
    return Piece(
        kind=PieceKind.LEDGER,
        start=start,
        end=end,
        text="\n".join(lines),
        since=facts[0].offset,
        until=facts[-1].offset,
    )


def chunk_piece(chunk: HistoryChunk, since: float, until: float) -> Piece:
    """A chunk's two written bands under its range; a long one is cut, its open points are not."""
    named = f"Steps {range_text(chunk.start_step, chunk.end_step)}"
    body = chunk.digest.removeprefix(f"{named}:").lstrip()
    if count_text(body) > CHUNK_TOKENS:
        again = f"… (recall_history(step_range=[{chunk.start_step},{chunk.end_step}]) has the rest)"
        body = cut_text(body, CHUNK_TOKENS - count_text(again)) + again
    points = chunk.capsule.unresolved if chunk.capsule is not None else ()
    points = tuple(" ".join(point.split()) for point in points)
    if missing := "; ".join(point for point in points if point not in body):
        body += f"\n  unresolved: {cut_text(missing, POINTS_TOKENS)}"
    return Piece(
        kind=PieceKind.CHUNK,
        start=chunk.start_step,
        end=chunk.end_step,
        text=f"{named} ({span_text(since, until)}): {body}",
        since=since,
        until=until,
        whole=all(point in body for point in points),
    )


def kept_piece(lines: Sequence[str], step: int) -> Piece:
    """Kept lines that are new since the last compaction."""
    return Piece(kind=PieceKind.KEPT, start=step, end=step, text="\n".join(lines))


def range_text(start: int, end: int) -> str:
    return f"{start}-{end}"


def span_text(since: float, until: float) -> str:
    return f"{offset_text(since)} – {offset_text(until)}"
