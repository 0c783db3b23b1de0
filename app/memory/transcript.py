"""The operator's prompt as a transcript in four zones, append-only between compactions.

S (system and tools) is the same bytes for the whole task. F (goal, kept block, history)
changes only in a compaction. A (the last turns, as real messages) only grows. T (plan,
screen) is new every turn. See docs/architecture.md and docs/adr/0003-transcript-zones.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from app.domain.config import MemoryConfig
from app.domain.memory import Departure, PromptFigures, ZoneTokens
from app.domain.messages import Message, user
from app.domain.summaries import HistoryChunk
from app.domain.tasks import StepRecord
from app.errors import BudgetImpossible
from app.memory.active import EXCERPT, TURN_TOKENS, Active
from app.memory.canonical import canonical, shared_tokens
from app.memory.chunks import Chunker
from app.memory.compaction import LEAST_FROZEN, SINCE_TOKENS, Rewriting, frozen_text, heard
from app.memory.density import present
from app.memory.draft import Draft, Fitting
from app.memory.kept import KeptFacts, bounded, newest_said
from app.memory.pieces import Fact, PieceKind
from app.memory.shelf import Shelf
from app.memory.tail import LEAN, TailFacts
from app.memory.tokens import Counter, count_text, cut_text
from app.memory.zones import Compaction, Fallback, Frozen, Prompt, Stable

GOAL_TOKENS = 3_000
"""A longer goal is cut in the prompt; the whole of it is one recall away."""
LEAST_GOAL_TOKENS = 800
"""What stays of a goal where the hard limit would be broken."""
LATE_SUMMARIES = 1
"""Summaries that T shows of steps whose lines stand in F without them."""
LATE_TOKENS = 40


@dataclass
class Transcript:
    """Holds the zones of one task and builds its prompts."""

    goal: str
    stable: Stable
    config: MemoryConfig
    counter: Counter
    kept: KeptFacts = field(default_factory=KeptFacts)
    session_id: str = ""
    """The task's id."""

    def __post_init__(self) -> None:
        self.shelf = Shelf()
        self.chunker = Chunker(self.session_id)
        self._active = Active(self.counter)
        self._stable_tokens = count_text(self.stable.system) + self.counter.tools(self.stable.tools)
        self._goal = self._goal_text()
        self.frozen = Frozen(frozen_text(self._goal, (), ()))
        self._previous = ""
        self._told: list[Fallback] = []
        """Second best things that the next prompt tells of."""

    # --- growing ------------------------------------------------------------------------

    @property
    def summaries(self) -> dict[int, str]:
        """Step number to its ready summary; filled from the background."""
        return self.shelf.summaries

    @property
    def chunks(self) -> list[HistoryChunk]:
        """Closed chunks in order; one is replaced in place when its capsule is written."""
        return self.shelf.chunks

    @property
    def first_in_view(self) -> int:
        """The oldest step whose turn stands in A."""
        turns = self._active.turns
        return turns[0].number if turns else self._active.through + 1

    @property
    def recompiled(self) -> bool:
        """Every prompt is written anew: there is no tail of real messages."""
        switches = self.config
        return not (switches.pro_memory_enabled and switches.preserve_operator_message_tail)

    def close_chunks(self, step: StepRecord, *, again: bool = False) -> tuple[HistoryChunk, ...]:
        """The chunks that a finished step closes; call before `add`, once for each step.

        `again`: the step was finished by a former process.
        """
        if not (self.config.pro_memory_enabled and self.config.history_chunks):
            return ()
        instructed = self.kept.instructed(step.step_number)
        closed = self.chunker.feed(step, self.summaries, instructed=instructed, again=again)
        self.chunks.extend(closed)
        return closed

    def add(self, step: StepRecord) -> None:
        """Takes a finished step into A; its line waits for the next compaction."""
        self.kept.note_step(step)
        self.shelf.facts[step.step_number] = Fact.of(step)
        if step.step_number <= self.frozen.through:
            return
        self._active.add(
            step, excerpt=step.step_number in self.frozen.excerpted, plain=self.recompiled
        )
        if self.recompiled:
            self._active.leave(self.config.max_hot_turns)

    def restore(self, frozen: str, chunks: tuple[HistoryChunk, ...] = ()) -> None:
        """Puts back zone F as stored at the last compaction; call before `add`.

        A record of another form is left aside: its steps are told anew from what was recorded.
        """
        self.chunks.extend(chunks)
        self.chunker.resume(self.chunks)
        if not frozen or self.recompiled:
            return
        try:
            self.frozen = Frozen.from_json(frozen)
        except ValidationError:
            self._told.append(Fallback("frozen_unreadable", "the history was written anew"))
            return
        self.counter.resume(self.frozen.ratio)

    # --- building -----------------------------------------------------------------------

    def build(self, facts: TailFacts, *, element_tokens: int, trouble: bool) -> Prompt:
        """The prompt of a turn's first call; never above the hard limit.

        `trouble` keeps two turns word for word instead of one.
        """
        hot = min(self.config.max_hot_turns, 2 if trouble else 1)
        old, rewriting = self.frozen, None
        draft = Draft(self._with_news(facts, old), element_tokens)
        before = self._zones(draft)
        if self.recompiled:
            self._recompile(draft, hot)
        elif self._due(facts, before):
            rewriting = self._compact(draft, hot)
        draft = replace(draft, facts=self._with_news(facts, self.frozen))
        fitting = Fitting(draft, self._active, self._total, self._lean, self._least_frozen)
        shortened = fitting.to_target(self.config.target_tokens)
        shortened += fitting.to_limit(self.config.hard_tokens)
        draft, zones = fitting.draft, self._zones(fitting.draft)
        if self.counter.corrected(zones.total) > self.config.hard_tokens:
            raise BudgetImpossible
        departures = tuple(rewriting.departures) if rewriting is not None else ()
        compaction: Compaction | None = None
        excerpted = self._active.excerpted
        if not self.recompiled and (old.text, old.excerpted) != (self.frozen.text, excerpted):
            self.frozen = replace(self.frozen, excerpted=excerpted, ratio=self.counter.ratio)
            compaction = Compaction(before, zones, self.frozen, departures)
        messages = (*self.history, draft.message())
        text = canonical(self.stable, messages)
        shared = shared_tokens(self._previous, text, self.counter.image_tokens)
        self._previous = text
        figures = PromptFigures(
            zones=zones,
            estimated=self.counter.corrected(zones.total),
            ratio=self.counter.ratio,
            shared_prefix=shared,
            images=1 if draft.facts.image is not None else 0,
            turns_in_active=len(self._active.turns),
            frozen_lines=self.frozen.text.count("\nStep "),
            compacted=compaction is not None,
            departures=(*departures, *shortened),
        )
        return Prompt(messages, figures, compaction, self._fallbacks(rewriting, shortened))

    @property
    def history(self) -> tuple[Message, ...]:
        """Zones F and A as they stand."""
        return (user(self.frozen.text), *self._active.messages)

    def _due(self, facts: TailFacts, zones: ZoneTokens) -> bool:
        """Whether a compaction must run; one that ran in this turn was all that could be done."""
        done = self.frozen.step == facts.step_number
        return not done and self.counter.corrected(zones.total) > self.config.target_tokens

    def _zones(self, draft: Draft) -> ZoneTokens:
        frozen, active = self.frozen.tokens, self._active.tokens
        return draft.zones(self._stable_tokens, frozen, active, self.counter)

    def _total(self, draft: Draft) -> int:
        return self.counter.corrected(self._zones(draft).total)

    def _goal_text(self, tokens: int = GOAL_TOKENS) -> str:
        goal = cut_text(self.goal, tokens)
        if len(goal) < len(self.goal):
            goal += "\n… (cut; the rest comes back by recall_history with words of the goal)"
        return f"# GOAL\n{goal}"

    # --- what is newer than F -----------------------------------------------------------

    def _with_news(self, facts: TailFacts, frozen: Frozen) -> TailFacts:
        """T with what F does not say: kept items, the last exit state, late summaries."""
        since = self.kept.since(frozen.step - 1, heard(frozen, self.kept))
        room = max(SINCE_TOKENS, self.config.kept_tokens - frozen.kept_tokens, newest_said(since))
        lines = bounded(since, room)
        if left := self.shelf.exit_line(frozen.pieces):
            lines = (*lines, left)
        unsettled = facts.unsettled
        if frozen.owed:
            unsettled = (*unsettled, f"{frozen.owed} unresolved points")
        return replace(facts, kept_since=lines, late=self._late(frozen), unsettled=unsettled)

    def _lean(self, draft: Draft) -> Draft:
        """The tail in short: less of the plan, and of what is new since F the most important."""
        since = self.kept.since(self.frozen.step - 1, heard(self.frozen, self.kept))
        lines = bounded(since, max(SINCE_TOKENS, newest_said(since)))
        facts = replace(draft.facts, kept_since=lines, late=())
        return replace(draft, facts=facts, bounds=LEAN)

    def _late(self, frozen: Frozen) -> tuple[str, ...]:
        lines = [p for p in frozen.pieces if p.kind is PieceKind.LINE and not p.summary]
        known = [(p.start, self.summaries[p.start]) for p in lines if p.start in self.summaries]
        return tuple(
            f"Step {number}: {' '.join(cut_text(text, LATE_TOKENS).split())}"
            for number, text in known[-LATE_SUMMARIES:]
        )

    # --- compaction ---------------------------------------------------------------------

    def _compact(self, draft: Draft, hot: int) -> Rewriting:
        """Brings the prompt down to its target, as far as something can leave it."""
        leaving = self._active.leave(hot)
        departures = [
            Departure(what=f"turn of step {t.number}", why="became a line", tokens=t.tokens)
            for t in leaving
        ]
        if self._crowded(draft, self.config.compacted_tokens):
            departures += self._active.excerpt(TURN_TOKENS)
        rewriting = self._rewriting(draft, self.config.compacted_tokens, departures)
        self.frozen = rewriting.run(self.frozen, [t.number for t in leaving])
        return rewriting

    def _recompile(self, draft: Draft, hot: int) -> None:
        # Nothing of an earlier prompt counts, so that a restarted process writes the same one.
        self._active.unfold()
        self.frozen = Frozen(frozen_text(self._goal, (), ()))
        if self._crowded(draft, self.config.target_tokens):
            self._active.excerpt(TURN_TOKENS // 2)
        through = self._active.through - min(hot, len(self._active.turns))
        rewriting = self._rewriting(draft, self.config.target_tokens, [])
        self.frozen = rewriting.recompiled(through)

    def _rewriting(self, draft: Draft, target: int, departures: list[Departure]) -> Rewriting:
        return Rewriting(
            goal=self._goal,
            shelf=self.shelf,
            kept=self.kept,
            kept_tokens=self.config.kept_tokens,
            present=present(draft.facts, self.kept.instructions, self.frozen.text),
            budget=self._room(draft, target),
            departures=departures,
        )

    def _crowded(self, draft: Draft, target: int) -> bool:
        """Whether the turns in A leave F too little."""
        return self._room(draft, target) < count_text(self._goal) + LEAST_FROZEN

    def _room(self, draft: Draft, target: int) -> int:
        """Tokens that F may take within a target."""
        # What T says of the kept block moves to F in a compaction.
        after = replace(self.frozen, step=draft.facts.step_number, heard=self.kept.heard)
        rest = self._zones(replace(draft, facts=self._with_news(draft.facts, after)))
        return int(target / max(1.0, self.counter.ratio)) - 4 - (rest.total - rest.frozen)

    def _least_frozen(self) -> int:
        """Writes F with less of the goal; what leaves comes back by a recall."""
        short, before = self._goal_text(LEAST_GOAL_TOKENS), self.frozen
        if before.text.startswith(self._goal) and len(short) < len(self._goal):
            self.frozen = replace(before, text=short + before.text[len(self._goal) :])
        return before.tokens - self.frozen.tokens

    def _fallbacks(
        self, rewriting: Rewriting | None, shortened: tuple[Departure, ...]
    ) -> tuple[Fallback, ...]:
        found, self._told = self._told, []
        if rewriting is not None:
            shortened += tuple(d for d in rewriting.departures if d.why == EXCERPT)
            found += [Fallback("ledger_only", what) for what in rewriting.ledgers]
        found += [
            Fallback("prompt_excerpt", f"{d.what}: {d.why} ({d.tokens:,} tokens)")
            for d in shortened
        ]
        if self.recompiled:
            found.append(Fallback("recompiled_prompt", "the prompt was written anew"))
        return tuple(found)
