"""Rewrites zone F: what leaves A is appended, chunks replace their lines, old parts fold.

Each stage runs only when the ones before it did not bring the prompt down to its target, and
each writes down what it took out and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.domain.memory import Departure
from app.domain.summaries import ChunkState, HistoryChunk
from app.memory.density import Present, value_density
from app.memory.eras import fold, period
from app.memory.kept import FAILURES, KeptFacts, bounded
from app.memory.pieces import BODY, Piece, PieceKind, kept_piece, ledger_piece, line_piece
from app.memory.shelf import Shelf
from app.memory.tokens import count_text
from app.memory.zones import Frozen

MAX_CHUNKS = 8
"""Chunks that stand in F; one more and the oldest fold."""
KEPT_SHARE = 0.5
"""Of the room for F, what the kept block may take."""
KEPT_LEAST = 400
LEAST_FROZEN = KEPT_LEAST + 100
"""What F needs besides the goal: the kept block and the way back to what is folded."""
KEPT_FULL = 0.8
"""How full a rewritten kept block may be, so that new lines find room behind it."""
SINCE_TOKENS = 400
"""Part of the kept block's bound that is left to what is new since a compaction."""
FOLD_TO = (0.6, 0.3, 0.0)
"""How much of the room a fold leaves filled: it is rare because it is large."""
ERA_TOKENS = 450
LEAST_ERA_TOKENS = 60
EVERYTHING = 1 << 30
LEDGER_ALONE = "no capsule yet: the ledger alone stands in"
BARE = "without their summaries"
FOLDED = "folded: the newest and the most valuable stay"
UNKNOWN_STEPS = 60
"""Newest steps that are written anew where a record has no pieces."""


@dataclass
class Rewriting:
    """One compaction under way."""

    goal: str
    """The text that F begins with."""
    shelf: Shelf
    kept: KeptFacts
    kept_tokens: int
    """Bound of the kept block, F and T together."""
    present: Present
    budget: int
    """Tokens that F may take."""
    departures: list[Departure] = field(default_factory=list)
    ledgers: tuple[str, ...] = ()
    """Ranges whose ledger alone stands in F from now on."""

    def run(self, old: Frozen, leaving: Sequence[int]) -> Frozen:
        """Zone F after the compaction; `leaving`: steps that went out of A, in order."""
        new = self._rewritten(old, leaving)
        known = {p.start for p in old.pieces if p.kind is PieceKind.LEDGER}
        self.ledgers = tuple(
            p.text.partition("\n")[0]
            for p in new.pieces
            if p.kind is PieceKind.LEDGER and p.start not in known
        )
        return new

    def _rewritten(self, old: Frozen, leaving: Sequence[int]) -> Frozen:
        through = leaving[-1] if leaving else old.through
        kept, pieces = old.kept, list(old.pieces)
        if not pieces:
            kept, pieces = self._block(KEPT_FULL), self._recent(old.through)
        elif fresh := self.kept.since(old.step - 1, heard(old, self.kept), failures=FAILURES):
            lines = bounded(fresh, self._kept_limit)
            pieces.append(kept_piece(lines, self.present.step_number))
        pieces += [self._line(n) for n in leaving]
        pieces = self._with_chunks(pieces, through)
        new = self._frozen(kept, pieces, through, old.owed)
        if self._must_fold(new):
            return self._fold(new)
        if not self._fits(new):
            over = new.tokens - self.budget
            new = self._frozen(kept, self._with_ledgers(pieces, over), through, old.owed)
        return new if self._fits(new) else self._fold(new)

    def recompiled(self, through: int) -> Frozen:
        """Zone F written from the records alone, as if there had been no compaction before."""
        pieces = self._with_chunks(self._recent(through), through)
        new = self._frozen(self._block(KEPT_FULL), pieces, through, 0)
        return new if self._fits(new) else self._fold(new, (0.95, *FOLD_TO))

    # --- stages -------------------------------------------------------------------------

    def _recent(self, through: int) -> list[Piece]:
        """The newest steps up to one, and a pointer to what is older."""
        first = max(1, through - UNKNOWN_STEPS + 1)
        lines = [self._line(n) for n in range(first, through + 1)]
        if first == 1:
            return lines
        return [period([self._line(1), self._line(first - 1)]), *lines]

    def _with_chunks(self, pieces: list[Piece], through: int) -> list[Piece]:
        """Each chunk whose capsule is ready in place of its lines, once all of it left A."""
        for chunk in self.shelf.chunks_after(_folded_through(pieces)):
            if chunk.state is not ChunkState.READY or chunk.end_step > through:
                continue
            lines = [p for p in pieces if p.kind is not PieceKind.CHUNK and _within(p, chunk)]
            if lines:
                new = self.shelf.piece_of(chunk)
                pieces = _replaced(pieces, lines, new)
                self._gone(lines, "their chunk is ready", new.tokens)
        return pieces

    def _with_ledgers(self, pieces: list[Piece], over: int) -> list[Piece]:
        """Mechanical lines alone, oldest first, until so many tokens are saved.

        Where they make up a closed chunk whose capsule is not ready, they are marked as such.
        """
        for line in [p for p in pieces if p.kind is PieceKind.LINE]:
            if over <= 0:
                break
            chunk = self.shelf.chunk_at(line.start)
            if chunk is None or chunk.state is ChunkState.READY:
                lines, new = [line], self._bare(line)
            else:
                lines = [p for p in pieces if p.kind is PieceKind.LINE and _within(p, chunk)]
                facts = [self.shelf.facts[p.start] for p in lines]
                new = ledger_piece(chunk, facts) if lines else line
            saved = sum(p.tokens for p in lines) - new.tokens
            if lines and (saved > 0 or over == EVERYTHING):
                pieces = _replaced(pieces, lines, new)
                self._gone(
                    lines, LEDGER_ALONE if new.kind is PieceKind.LEDGER else BARE, new.tokens
                )
                over -= saved if over != EVERYTHING else 0
        return pieces

    def _fold(self, new: Frozen, shares: Sequence[float] = FOLD_TO) -> Frozen:
        """All but the newest and the most valuable becomes an era, in one large batch."""
        older = [p for p in new.pieces if p.kind in (PieceKind.ERA, PieceKind.PERIOD)]
        body = [p for p in self._with_ledgers(list(new.pieces), EVERYTHING) if p.kind in BODY]
        folded, evicted = new, body
        for share in shares:
            room = self._room(self._block(KEPT_FULL))
            era_tokens = max(LEAST_ERA_TOKENS, min(ERA_TOKENS, round(room * share / 3)))
            held = self._held(body, round(room * share) - era_tokens)
            evicted = [p for p in body if p not in held]
            front = fold(older, evicted, self.shelf.chunk_at, era_tokens)
            standing = [p for p in held if p.kind is PieceKind.CHUNK and p.whole]
            kept = self._block(KEPT_FULL if share else 0.0, standing)
            owed = self.shelf.unresolved({p.start for p in standing}).total
            folded = self._frozen(kept, [*front, *held], new.through, owed)
            if self._fits(folded):
                break
        self._gone(evicted, FOLDED, 0)
        return folded

    def _held(self, body: Sequence[Piece], room: int) -> list[Piece]:
        """The newest pieces within a bound, then older chunks by their value for each token."""
        at = len(body)
        while at > 0 and body[at - 1].tokens <= room:
            at -= 1
            room -= body[at].tokens
        chosen = list(body[at:])
        older = [p for p in body[:at] if p.kind is PieceKind.CHUNK]
        for piece in sorted(older, key=self._density, reverse=True):
            if piece.tokens <= room:
                room -= piece.tokens
                chosen.append(piece)
        return sorted(chosen, key=lambda p: p.start)

    def _density(self, piece: Piece) -> float:
        chunk = self.shelf.chunk_at(piece.start)
        if chunk is None:
            return 0.0
        return value_density(chunk, self.shelf.facts_of(chunk), piece.tokens, self.present)

    # --- measures -----------------------------------------------------------------------

    @property
    def _kept_limit(self) -> int:
        share = round((self.budget - count_text(self.goal)) * KEPT_SHARE)
        return max(KEPT_LEAST, min(self.kept_tokens - SINCE_TOKENS, share))

    def _block(self, full: float, standing: Iterable[Piece] = ()) -> tuple[str, ...]:
        """The kept block; open points of chunks that stand in F are said there."""
        unresolved = self.shelf.unresolved({p.start for p in standing})
        bound = max(KEPT_LEAST, round(self._kept_limit * full))
        return self.kept.block(bound, unresolved).lines

    def _room(self, kept: Sequence[str]) -> int:
        return self.budget - count_text(frozen_text(self.goal, kept, []))

    def _fits(self, new: Frozen) -> bool:
        return new.tokens <= self.budget

    def _must_fold(self, new: Frozen) -> bool:
        """Whether something in F has outgrown its bound, or an open point has no line in it."""
        chunks = [p for p in new.pieces if p.kind is PieceKind.CHUNK]
        owed = self.shelf.unresolved({p.start for p in chunks if p.whole}).total
        return len(chunks) > MAX_CHUNKS or new.kept_tokens > self._kept_limit or owed > new.owed

    def _line(self, number: int) -> Piece:
        return line_piece(self.shelf.facts[number], self.shelf.summaries.get(number, ""))

    def _bare(self, line: Piece) -> Piece:
        bare = line_piece(self.shelf.facts[line.start])
        return bare.model_copy(update={"summary": "dropped"}) if line.summary == "said" else bare

    def _frozen(
        self, kept: Sequence[str], pieces: Sequence[Piece], through: int, owed: int
    ) -> Frozen:
        return Frozen(
            text=frozen_text(self.goal, kept, pieces),
            through=through,
            step=self.present.step_number,
            kept=tuple(kept),
            pieces=tuple(pieces),
            owed=owed,
            heard=self.kept.heard,
        )

    def _gone(self, pieces: Sequence[Piece], why: str, instead: int) -> None:
        if pieces:
            what = f"steps {pieces[0].start}-{pieces[-1].end}"
            tokens = sum(p.tokens for p in pieces) - instead
            self.departures.append(Departure(what=what, why=why, tokens=max(0, tokens)))


def heard(frozen: Frozen, kept: KeptFacts) -> int:
    """Number of the newest instruction that a zone F took in."""
    return frozen.heard if frozen.heard is not None else kept.heard_by(frozen.step)


def frozen_text(goal: str, kept: Sequence[str], pieces: Sequence[Piece]) -> str:
    """Zone F as one text."""
    parts = [goal]
    if kept:
        parts += ["\n# KEPT", *kept]
    if pieces:
        parts += ["\n# HISTORY", *(p.text for p in pieces)]
    return "\n".join(parts)


def _folded_through(pieces: Iterable[Piece]) -> int:
    folded = (PieceKind.ERA, PieceKind.PERIOD)
    return max((p.end for p in pieces if p.kind in folded), default=0)


def _within(piece: Piece, chunk: HistoryChunk) -> bool:
    return piece.kind in BODY and chunk.start_step <= piece.start <= chunk.end_step


def _replaced(pieces: Sequence[Piece], out: Sequence[Piece], new: Piece) -> list[Piece]:
    """One piece where the first of several stood."""
    at = next(i for i, p in enumerate(pieces) if p is out[0])
    gone = {id(p) for p in out}
    rest = [p for p in pieces[at:] if id(p) not in gone]
    return [*pieces[:at], new, *rest]
