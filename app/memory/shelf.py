"""Everything recorded about a task's steps that zone F may be written from, by step number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from app.domain.summaries import ChunkState, HistoryChunk
from app.memory.kept import UNRESOLVED, Item, Kind, OpenPoints
from app.memory.pieces import Fact, Piece, PieceKind, chunk_piece
from app.memory.tail import quoted
from app.memory.tokens import cut_text

EXIT_TOKENS = 60
"""What T says of the newest chunk's exit state."""


@dataclass
class Shelf:
    """Facts, summaries and chunks; each is looked up without going through the others."""

    facts: dict[int, Fact] = field(default_factory=dict)
    summaries: dict[int, str] = field(default_factory=dict)
    """Step number to its ready summary."""
    chunks: list[HistoryChunk] = field(default_factory=list)
    """Closed chunks in order; one is replaced in place when its capsule is written."""

    def chunk_at(self, step_number: int) -> HistoryChunk | None:
        """The closed chunk that holds a step."""
        at = bisect_right(self.chunks, step_number, key=lambda c: c.start_step) - 1
        if at < 0 or self.chunks[at].end_step < step_number:
            return None
        return self.chunks[at]

    def chunks_after(self, step_number: int) -> Iterator[HistoryChunk]:
        """Chunks that end after a step, newest first."""
        for chunk in reversed(self.chunks):
            if chunk.end_step <= step_number:
                return
            yield chunk

    def facts_of(self, chunk: HistoryChunk) -> tuple[Fact, ...]:
        steps = range(chunk.start_step, chunk.end_step + 1)
        return tuple(self.facts[n] for n in steps if n in self.facts)

    def piece_of(self, chunk: HistoryChunk) -> Piece:
        facts = self.facts_of(chunk)
        since, until = (facts[0].offset, facts[-1].offset) if facts else (0.0, 0.0)
        return chunk_piece(chunk, since, until)

    def unresolved(self, standing: Collection[int] = ()) -> OpenPoints:
        """Open points of written chunks, without the chunks (by first step) that stand in F."""
        newest: list[Item] = []
        total = first = 0
        for chunk in reversed(self.chunks):
            if chunk.capsule is None or chunk.start_step in standing:
                continue
            for point in chunk.capsule.unresolved:
                total, first = total + 1, chunk.start_step
                if len(newest) <= UNRESOLVED:
                    where = f"steps {chunk.start_step}-{chunk.end_step}"
                    line = f"- unresolved ({where}): {quoted(point)}"
                    newest.append(Item(chunk.end_step, line, Kind.OPEN))
        return OpenPoints(tuple(newest), total, first)

    def exit_line(self, standing: Sequence[Piece]) -> str:
        """Where the newest written chunk ended; empty where its text among these says so."""
        for chunk in self.chunks[:-4:-1]:
            if chunk.state is not ChunkState.READY or chunk.capsule is None:
                continue
            if state := " ".join(chunk.capsule.exit_state.split()):
                told = (p for p in standing if p.kind is PieceKind.CHUNK and state in p.text)
                if any(p.start == chunk.start_step for p in told):
                    return ""
                short = cut_text(state, EXIT_TOKENS)
                return f"- exit state (step {chunk.end_step}): {quoted(short)}"
        return ""
