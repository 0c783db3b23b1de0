"""The operator's prompt as a transcript in four zones, append-only between compactions.

S (system and tools) is the same bytes for the whole task. F (goal, kept block, ledger lines)
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
from app.memory.canonical import canonical, shared_tokens
from app.memory.kept import KeptFacts, kept_lines
from app.memory.ledger import step_line, turn_messages, turn_text
from app.memory.tail import TailFacts, tail_text
from app.memory.tokens import Counter, count_text, cut_text
from app.memory.zones import Compaction, Frozen, Prompt, Stable, Turn

GOAL_TOKENS = 3_000
"""A longer goal is cut in the prompt; the whole of it is one recall away."""
TURN_TOKENS = 2_500
"""A larger finished turn becomes an excerpt when the budget needs it."""
FEW_ELEMENT_TOKENS = 500
POINTER_TOKENS = 40


@dataclass
class Transcript:
    """Holds the zones of one task and builds its prompts."""

    goal: str
    stable: Stable
    config: MemoryConfig
    counter: Counter
    kept: KeptFacts = field(default_factory=KeptFacts)
    summaries: dict[int, str] = field(default_factory=dict)
    """Ready summaries by step number; they come late and change no message."""
    chunks: list[HistoryChunk] = field(default_factory=list)
    """Closed chunks in order; replaced in place when a capsule is ready."""

    def __post_init__(self) -> None:
        self._turns: list[Turn] = []
        self._lines: list[tuple[int, str]] = []
        self._stable_tokens = count_text(self.stable.system) + self.counter.tools(self.stable.tools)
        self._goal = self._goal_text()
        self.frozen = Frozen(self._frozen_text([], []))
        self._previous = ""

    # --- growing ------------------------------------------------------------------------

    def add(self, step: StepRecord) -> None:
        """Takes a finished step into A; its line waits for the next compaction."""
        self.kept.note_step(step)
        line = step_line(step)
        self._lines.append((step.step_number, line))
        if step.step_number <= self.frozen.through:
            return
        messages, excerpt = turn_messages(step), turn_text(step, TURN_TOKENS // 4)
        self._turns.append(
            Turn(
                number=step.step_number,
                messages=messages,
                tokens=self._count(messages),
                line=line,
                excerpt=excerpt,
                excerpt_tokens=self._count(excerpt),
            )
        )

    def restore(self, frozen: str) -> None:
        """Puts back zone F as stored at the last compaction; call before `add`."""
        if frozen:
            self.frozen = Frozen.from_json(frozen)

    # --- building -----------------------------------------------------------------------

    def build(self, facts: TailFacts, *, element_tokens: int, trouble: bool) -> Prompt:
        """The prompt of a turn's first call; never above the hard limit.

        `trouble` keeps two turns word for word instead of one.
        """
        facts = self._with_kept(facts)
        zones = self._zones(facts, element_tokens)
        compaction: Compaction | None = None
        if self.counter.corrected(zones.total) > self.config.target_tokens:
            compaction = self._compact(facts, element_tokens, zones, trouble)
            facts = self._with_kept(facts)
            zones = self._zones(facts, element_tokens)
        shortened: list[Departure] = []
        facts, element_tokens = self._shrink(facts, element_tokens, shortened)
        messages = self._messages(facts, element_tokens)
        zones = self._zones(facts, element_tokens)
        estimated = self.counter.corrected(zones.total)
        if estimated > self.config.hard_tokens:
            raise BudgetImpossible
        text = canonical(self.stable, messages)
        shared = shared_tokens(self._previous, text, self.counter.image_tokens)
        self._previous = text
        departures = (*(compaction.departures if compaction else ()), *shortened)
        figures = PromptFigures(
            zones=zones,
            estimated=estimated,
            shared_prefix=shared,
            images=1 if facts.image is not None else 0,
            turns_in_active=len(self._turns),
            frozen_lines=self.frozen.text.count("\nStep "),
            compacted=compaction is not None,
            departures=departures,
        )
        return Prompt(messages, figures, compaction, tuple(shortened))

    # --- zones --------------------------------------------------------------------------

    def _messages(self, facts: TailFacts, element_tokens: int) -> tuple[Message, ...]:
        text, elements = tail_text(facts, element_tokens)
        tail_parts = (Text(text=f"{text}\n{elements}"), *((facts.image,) if facts.image else ()))
        active = tuple(m for turn in self._turns for m in turn.messages)
        return (user(self.frozen.text), *active, Message(role="user", parts=tail_parts))

    def _zones(self, facts: TailFacts, element_tokens: int) -> ZoneTokens:
        text, elements = tail_text(facts, element_tokens)
        image = self.counter.image_tokens if facts.image is not None else 0
        listed = count_text(elements)
        return ZoneTokens(
            stable=self._stable_tokens,
            frozen=count_text(self.frozen.text),
            active=sum(t.tokens for t in self._turns),
            tail=count_text(text) + listed + image,
            image=image,
            elements=listed,
        )

    def _with_kept(self, facts: TailFacts) -> TailFacts:
        items = self.kept.items(self.frozen.step - 1, instructions_after=self.frozen.step)
        lines = kept_lines(items, self.config.kept_tokens)
        return replace(facts, kept_since=tuple(lines))

    def _goal_text(self) -> str:
        goal = cut_text(self.goal, GOAL_TOKENS)
        if len(goal) < len(self.goal):
            goal += "\n… (cut; the rest comes back by recall_history with words of the goal)"
        return f"# GOAL\n{goal}"

    def _frozen_text(self, kept: list[str], history: list[str]) -> str:
        parts = [self._goal]
        if kept:
            parts += ["\n# KEPT", *kept]
        if history:
            parts += ["\n# HISTORY", *history]
        return "\n".join(parts)

    # --- compaction ---------------------------------------------------------------------

    def _compact(
        self, facts: TailFacts, element_tokens: int, before: ZoneTokens, trouble: bool
    ) -> Compaction:
        stay = min(self.config.max_hot_turns, 2 if trouble else 1)
        leaving, self._turns = self._turns[:-stay], self._turns[-stay:]
        departures = [
            Departure(what=f"turn of step {t.number}", why="became a line", tokens=t.tokens)
            for t in leaving
        ]
        self._excerpt_turns(TURN_TOKENS, departures)
        through = leaving[-1].number if leaving else self.frozen.through
        kept = kept_lines(self.kept.items(-1, instructions_after=-1), self.config.kept_tokens)
        base = Frozen(self._frozen_text(kept, []), through, facts.step_number)
        self.frozen = base
        room = self.config.compacted_tokens - self.counter.corrected(
            self._zones(self._with_kept(facts), element_tokens).total
        )
        room = round(room / max(1.0, self.counter.ratio)) - POINTER_TOKENS
        history, dropped = self._history_lines(through, room)
        if dropped is not None:
            departures.append(dropped)
        self.frozen = replace(base, text=self._frozen_text(kept, history))
        after = self._zones(self._with_kept(facts), element_tokens)
        return Compaction(before, after, self.frozen, tuple(departures))

    def _history_lines(self, through: int, room: int) -> tuple[list[str], Departure | None]:
        """The newest ledger lines that fit, and a pointer line to the older ones."""
        lines = [(n, line) for n, line in self._lines if n <= through]
        first = len(lines)
        while first > 0 and (cost := count_text(lines[first - 1][1]) + 1) <= room:
            room -= cost
            first -= 1
        shown = [line for _, line in lines[first:]]
        if first == 0:
            return shown, None
        oldest, newest = lines[0][0], lines[first - 1][0]
        pointer = f"Steps {oldest}-{newest}: older; recall_history with words or step_range."
        tokens = sum(count_text(line) for _, line in lines[:first])
        gone = Departure(what=f"lines {oldest}-{newest}", why="older than the room", tokens=tokens)
        return [pointer, *shown], gone

    def _excerpt_turns(self, above: int, departures: list[Departure]) -> None:
        for i, turn in enumerate(self._turns):
            if turn.tokens > max(above, turn.excerpt_tokens):
                departures.append(
                    Departure(
                        what=f"turn of step {turn.number}",
                        why="larger than a turn may be; an excerpt stays",
                        tokens=turn.tokens - turn.excerpt_tokens,
                    )
                )
                self._turns[i] = replace(turn, messages=turn.excerpt, tokens=turn.excerpt_tokens)

    # --- the hard limit -----------------------------------------------------------------

    def _shrink(
        self, facts: TailFacts, element_tokens: int, shortened: list[Departure]
    ) -> tuple[TailFacts, int]:
        """Shortens the longest things until the prompt is under the hard limit."""
        if self._over(facts, element_tokens):
            self._excerpt_turns(TURN_TOKENS, shortened)
        if self._over(facts, element_tokens) and element_tokens > FEW_ELEMENT_TOKENS:
            saved = element_tokens - FEW_ELEMENT_TOKENS
            shortened.append(
                Departure(what="element list", why="hard limit; explore_ui has all", tokens=saved)
            )
            element_tokens = FEW_ELEMENT_TOKENS
        if self._over(facts, element_tokens):
            self._excerpt_turns(0, shortened)
        if self._over(facts, element_tokens) and facts.image is not None:
            shortened.append(
                Departure(what="picture", why="hard limit", tokens=self.counter.image_tokens)
            )
            facts = replace(facts, image=None)
        return facts, element_tokens

    def _over(self, facts: TailFacts, element_tokens: int) -> bool:
        total = self._zones(facts, element_tokens).total
        return self.counter.corrected(total) > self.config.hard_tokens

    def _count(self, messages: tuple[Message, ...]) -> int:
        return sum(self.counter.message(m) for m in messages)
