"""The operator's prompt as a transcript in four zones, append-only between compactions.

S (system and tools) is the same bytes for the whole task. F (goal, kept block, history)
changes only in a compaction. A (the last turns, as real messages) only grows. T (plan,
screen) is new every turn. See docs/architecture.md and docs/adr/0003-transcript-zones.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.domain.config import MemoryConfig
from app.domain.memory import Departure, PromptFigures, ZoneTokens
from app.domain.messages import Message, Text, user
from app.domain.summaries import HistoryChunk
from app.domain.tasks import StepRecord
from app.errors import BudgetImpossible
from app.memory.active import TURN_TOKENS, Active
from app.memory.canonical import canonical, shared_tokens
from app.memory.chunks import Chunker
from app.memory.compaction import SINCE_TOKENS, Rewriting, frozen_text
from app.memory.density import Present, referred_steps, words
from app.memory.kept import KeptFacts, bounded
from app.memory.pieces import Fact, PieceKind
from app.memory.shelf import Shelf
from app.memory.tail import TailFacts, tail_text
from app.memory.tokens import Counter, count_text, cut_text
from app.memory.zones import Compaction, Fallback, Frozen, Prompt, Stable

GOAL_TOKENS = 3_000
"""A longer goal is cut in the prompt; the whole of it is one recall away."""
FEW_ELEMENT_TOKENS = 500
LATE_SUMMARIES = 1
"""Summaries that T shows of steps whose lines stand in F without them."""
LATE_TOKENS = 40
SAID_LATELY = 2
"""Newest instructions that count for what the task is about."""


@dataclass
class _Draft:
    """A prompt while it is fitted into its budget."""

    facts: TailFacts
    element_tokens: int

    @property
    def tail(self) -> tuple[str, str]:
        """The text before the element list, and the list."""
        return tail_text(self.facts, self.element_tokens)


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
    def recompiled(self) -> bool:
        """Every prompt is written anew: there is no tail of real messages."""
        switches = self.config
        return not (switches.pro_memory_enabled and switches.preserve_operator_message_tail)

    def close_chunks(self, step: StepRecord) -> tuple[HistoryChunk, ...]:
        """The chunks that a finished step closes; call before `add`, once for each step."""
        if not (self.config.pro_memory_enabled and self.config.history_chunks):
            return ()
        instructed = self.kept.instructed(step.step_number)
        closed = self.chunker.feed(step, self.summaries, instructed=instructed)
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
        """Puts back zone F as stored at the last compaction; call before `add`."""
        self.chunks.extend(chunks)
        self.chunker.resume(self.chunks)
        if frozen and not self.recompiled:
            self.frozen = Frozen.from_json(frozen)
            self.counter.resume(self.frozen.ratio)

    # --- building -----------------------------------------------------------------------

    def build(self, facts: TailFacts, *, element_tokens: int, trouble: bool) -> Prompt:
        """The prompt of a turn's first call; never above the hard limit.

        `trouble` keeps two turns word for word instead of one.
        """
        hot = min(self.config.max_hot_turns, 2 if trouble else 1)
        draft = _Draft(self._with_news(facts, self.frozen), element_tokens)
        before = self._zones(draft)
        old, rewriting = self.frozen, None
        if self.recompiled:
            self._recompile(draft, hot)
        elif self.counter.corrected(before.total) > self.config.target_tokens:
            rewriting = self._compact(draft, hot)
        draft.facts = self._with_news(facts, self.frozen)
        after = self._zones(draft)
        shortened = self._shrink(draft)
        messages, zones = self._messages(draft), self._zones(draft)
        estimated = self.counter.corrected(zones.total)
        if estimated > self.config.hard_tokens:
            raise BudgetImpossible
        compaction: Compaction | None = None
        excerpted = self._active.excerpted
        if rewriting is not None and (old.text, old.excerpted) != (self.frozen.text, excerpted):
            self.frozen = replace(self.frozen, excerpted=excerpted, ratio=self.counter.ratio)
            compaction = Compaction(before, after, self.frozen, tuple(rewriting.departures))
        text = canonical(self.stable, messages)
        shared = shared_tokens(self._previous, text, self.counter.image_tokens)
        self._previous = text
        figures = PromptFigures(
            zones=zones,
            estimated=estimated,
            shared_prefix=shared,
            images=1 if draft.facts.image is not None else 0,
            turns_in_active=len(self._active.turns),
            frozen_lines=self.frozen.text.count("\nStep "),
            compacted=compaction is not None,
            departures=(*(compaction.departures if compaction else ()), *shortened),
        )
        return Prompt(messages, figures, compaction, self._fallbacks(rewriting, shortened))

    def _messages(self, draft: _Draft) -> tuple[Message, ...]:
        text, elements = draft.tail
        image = draft.facts.image
        tail_parts = (Text(text=f"{text}\n{elements}"), *((image,) if image else ()))
        tail = Message(role="user", parts=tail_parts)
        return (user(self.frozen.text), *self._active.messages, tail)

    def _zones(self, draft: _Draft) -> ZoneTokens:
        text, elements = draft.tail
        image = self.counter.image_tokens if draft.facts.image is not None else 0
        listed = count_text(elements)
        return ZoneTokens(
            stable=self._stable_tokens,
            frozen=self.frozen.tokens,
            active=self._active.tokens,
            tail=count_text(text) + listed + image,
            image=image,
            elements=listed,
        )

    def _goal_text(self) -> str:
        goal = cut_text(self.goal, GOAL_TOKENS)
        if len(goal) < len(self.goal):
            goal += "\n… (cut; the rest comes back by recall_history with words of the goal)"
        return f"# GOAL\n{goal}"

    # --- what is newer than F -----------------------------------------------------------

    def _with_news(self, facts: TailFacts, frozen: Frozen) -> TailFacts:
        """T with what F does not say: kept items, the last exit state, late summaries."""
        room = max(SINCE_TOKENS, self.config.kept_tokens - frozen.kept_tokens)
        lines = bounded(self.kept.since(frozen.step - 1, frozen.step), room)
        left = self.shelf.exit_state()
        if left is not None and left.line.partition(": ")[2].strip('"') not in frozen.text:
            lines = (*lines, left.line)
        return replace(facts, kept_since=lines, late=self._late(frozen))

    def _late(self, frozen: Frozen) -> tuple[str, ...]:
        lines = [p for p in frozen.pieces if p.kind is PieceKind.LINE and not p.summary]
        known = [(p.start, self.summaries[p.start]) for p in lines if p.start in self.summaries]
        return tuple(
            f"Step {number}: {' '.join(cut_text(text, LATE_TOKENS).split())}"
            for number, text in known[-LATE_SUMMARIES:]
        )

    def _present(self, facts: TailFacts) -> Present:
        said = [i.text for i in self.kept.instructions[-SAID_LATELY:]]
        active = facts.plan.active if facts.plan is not None else None
        seen = facts.observation
        return Present(
            step_number=facts.step_number,
            subgoal=facts.plan.subgoal_hash() if facts.plan is not None else "",
            app=seen.app(),
            page=seen.page(),
            words=words(active.text if active is not None else "", seen.page(), *said),
            referred=referred_steps(said),
            standing=self.frozen.text,
        )

    # --- compaction ---------------------------------------------------------------------

    def _compact(self, draft: _Draft, hot: int) -> Rewriting:
        """Brings the prompt down to its target, as far as something can leave it."""
        departures = self._active.excerpt(TURN_TOKENS)
        leaving = self._active.leave(hot)
        departures += [
            Departure(what=f"turn of step {t.number}", why="became a line", tokens=t.tokens)
            for t in leaving
        ]
        rewriting = self._rewriting(draft, self.config.compacted_tokens, departures)
        self.frozen = rewriting.run(self.frozen, [t.number for t in leaving])
        return rewriting

    def _recompile(self, draft: _Draft, hot: int) -> None:
        through = self._active.through - min(hot, len(self._active.turns))
        rewriting = self._rewriting(draft, self.config.target_tokens, [])
        self.frozen = rewriting.recompiled(through)

    def _rewriting(self, draft: _Draft, target: int, departures: list[Departure]) -> Rewriting:
        # What T says of the kept block moves to F in a compaction.
        after = replace(self.frozen, step=draft.facts.step_number)
        rest = self._zones(_Draft(self._with_news(draft.facts, after), draft.element_tokens))
        room = int(target / max(1.0, self.counter.ratio)) - 4
        return Rewriting(
            goal=self._goal,
            shelf=self.shelf,
            kept=self.kept,
            kept_tokens=self.config.kept_tokens,
            present=self._present(draft.facts),
            budget=room - (rest.total - rest.frozen),
            departures=departures,
        )

    # --- the hard limit -----------------------------------------------------------------

    def _shrink(self, draft: _Draft) -> tuple[Departure, ...]:
        """Shortens the longest things until the prompt is under the hard limit."""
        shortened: list[Departure] = []
        if self._over(draft):
            shortened += self._active.excerpt(TURN_TOKENS)
        if self._over(draft) and draft.element_tokens > FEW_ELEMENT_TOKENS:
            saved = draft.element_tokens - FEW_ELEMENT_TOKENS
            why = "hard limit; explore_ui has all"
            shortened.append(Departure(what="element list", why=why, tokens=saved))
            draft.element_tokens = FEW_ELEMENT_TOKENS
        if self._over(draft):
            shortened += self._active.excerpt(0)
        if self._over(draft) and draft.facts.image is not None:
            shortened.append(
                Departure(what="picture", why="hard limit", tokens=self.counter.image_tokens)
            )
            draft.facts = replace(draft.facts, image=None)
        return tuple(shortened)

    def _over(self, draft: _Draft) -> bool:
        return self.counter.corrected(self._zones(draft).total) > self.config.hard_tokens

    def _fallbacks(
        self, rewriting: Rewriting | None, shortened: tuple[Departure, ...]
    ) -> tuple[Fallback, ...]:
        found = [
            Fallback("prompt_excerpt", f"{d.what}: {d.why} ({d.tokens:,} tokens)")
            for d in shortened
        ]
        if rewriting is not None:
            found += [Fallback("ledger_only", what) for what in rewriting.ledgers]
        if self.recompiled:
            found.append(Fallback("recompiled_prompt", "the prompt was written anew"))
        return tuple(found)
