"""Tasks drawn from a seed: everything that may happen in one, and what of it must be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from app.domain.actions import Verdict
from app.domain.messages import Call, Response
from app.domain.summaries import Capsule, ChunkState, HistoryChunk, Interval
from app.domain.tasks import Instruction, StepRecord
from app.memory.capsule_text import digest
from app.memory.kept import FAILURES
from app.memory.transcript import Transcript
from app.memory.zones import Prompt
from tests.unit.memory.steps import step, tail, transcript

GROUP = re.compile(r"^- and (\d+) more kept items of steps (\d+)-(\d+): recall_history", re.M)
ELEMENTS = 1_400


@dataclass
class History:
    """A task under way, its transcript, and an account of its own of what was said and done."""

    seed: int
    lag: int
    """Steps until a chunk's capsule is ready; negative: never."""
    held: Transcript = field(default_factory=transcript)
    steps: list[StepRecord] = field(default_factory=list)
    frozen: str = ""
    said: dict[str, int] = field(default_factory=dict)
    """Lines that must be kept, by how they begin, with their step."""
    points: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Open points with their chunk's end and the step since which they are written."""
    failed: list[int] = field(default_factory=list)
    """Steps that went wrong."""
    settled: int = 0
    """The step of the last compaction."""

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def turns(self, count: int) -> Iterator[Prompt]:
        """Goes on for so many turns; gives each turn's prompt before its step is taken in."""
        for number in range(len(self.steps) + 1, len(self.steps) + count + 1):
            self._before(number)
            trouble = bool(self.steps) and self.steps[-1].verdict is not Verdict.EXECUTED
            prompt = self.held.build(tail(number), element_tokens=ELEMENTS, trouble=trouble)
            if prompt.compaction is not None:
                self.frozen = prompt.compaction.frozen.to_json()
                self.settled = number
            yield prompt
            self._after(number)

    def again(self) -> Transcript:
        """The transcript as a restarted process builds it from the store."""
        new = transcript()
        kept = self.held.kept
        new.kept.instructions = list(kept.instructions)
        new.kept.answers = list(kept.answers)
        for key, (value, seen) in sorted(kept.remembered.items(), key=lambda kv: kv[1][1]):
            new.kept.remember({key: value}, seen)
        new.restore(self.frozen, tuple(self.held.chunks))
        new.summaries.update(self.held.summaries)
        for old in self.steps:
            assert not new.close_chunks(old)
            new.add(old)
        return new

    def _before(self, number: int) -> None:
        draw = self._random
        if draw.random() < 0.01:
            text = f"instruction {number} " + "word " * draw.randint(1, 120)
            told = Instruction(
                number=len(self.held.kept.instructions) + 1, text=text, step_number=number
            )
            self.held.kept.instructions.append(told)
            self.said[f'- I{told.number} (step {number}): "{text}'] = number

    def _after(self, number: int) -> None:
        draw = self._random
        if draw.random() < 0.3:
            key, value = f"key {draw.randint(1, 400)}", f"value {number} " * draw.randint(1, 9)
            self.held.kept.remember({key: value}, number)
            for old in [s for s in self.said if s.startswith(f"- {key} = ")]:
                del self.said[old]
            self.said[f'- {key} = "{value}"'] = number
        if draw.random() < 0.01:
            self.held.kept.answers.append((f"question {number}?", f"answer {number}", number))
            self.said[f'- Q (step {number}): "question {number}?"'] = number
        verdict = Verdict.EXECUTED if draw.random() < 0.85 else Verdict.NO_VISIBLE_CHANGE
        done = step(
            number,
            thinking="I look and I tap. " * draw.randint(1, 60),
            tool_result="found " * draw.randint(1, 900) if draw.random() < 0.2 else "",
            verdict=verdict,
            irreversible=draw.random() < 0.03,
        )
        if done.irreversible:
            self.said[f"- outside effect: Step {number} ("] = number
        elif verdict is not Verdict.EXECUTED:
            self.failed.append(number)
        self.steps.append(done)
        self.held.close_chunks(done)
        self.held.add(done)
        if draw.random() < 0.8:
            self.held.summaries[number] = f"I tapped the button {number}. " * draw.randint(1, 6)
        self._write(number)

    def _write(self, number: int) -> None:
        chunks = self.held.chunks
        for at in range(max(0, len(chunks) - 20), len(chunks)):
            due = self.lag >= 0 and chunks[at].end_step + self.lag <= number
            if due and chunks[at].state is ChunkState.PENDING:
                chunks[at] = written(chunks[at], self._random)
                capsule = chunks[at].capsule
                assert capsule is not None
                for point in capsule.unresolved:
                    self.points[point] = (chunks[at].end_step, number)

    # --- the oracle ---------------------------------------------------------------------

    def exit_state_told(self, prompt: Prompt) -> bool:
        """Whether the newest written chunk's last state is said somewhere, and only once."""
        newest = self.held.chunks[:-4:-1]
        last = next((c.capsule for c in newest if c.capsule is not None), None)
        text = "\n".join((prompt.messages[0].text, prompt.messages[-1].text))
        return last is None or text.count(last.exit_state) == 1

    def unaccounted(self, prompt: Prompt) -> list[str]:
        """What must be kept and has neither a line nor a place in a group line."""
        text = "\n".join(m.text for m in (prompt.messages[0], prompt.messages[-1]))
        groups = [tuple(map(int, found)) for found in GROUP.findall(text)]
        through = self.held.frozen.through
        owed = dict(self.said)
        # A turn that stands in A tells of itself.
        recent = [n for n in self.failed[-FAILURES:] if n < self.held.first_in_view]
        owed |= {f"- trouble: Step {n} (": n for n in recent}
        owed |= {
            point: end
            for point, (end, since) in self.points.items()
            if end <= through and since < self.settled
        }
        without = {line: at for line, at in owed.items() if line not in text}
        room = sum(count for count, _, _ in groups)
        if len(without) > room:
            return sorted(without)
        return [
            line
            for line, at in without.items()
            if not any(first - 12 <= at <= last + 12 for _, first, last in groups)
        ]


def written(chunk: HistoryChunk, draw: Random) -> HistoryChunk:
    """The chunk with a capsule of drawn size."""
    first, last = chunk.start_step, chunk.end_step
    capsule = Capsule(
        doing=f"I was walking from screen {first} to screen {last}.",
        did="I tapped each button in turn.",
        exit_state=f"screen {last} was shown",
        verified_facts=tuple(f"Value {n} (on screen, step {n})" for n in range(first, last + 1)),
        unresolved=tuple(f"open point {first}.{i}" for i in range(draw.choice((0, 0, 1, 3)))),
        important_entities=(f"entity {first}",),
        intervals=(
            Interval(start_step=first, end_step=last, text="I read it. " * draw.randint(1, 90)),
        ),
    )
    update = {
        "state": ChunkState.READY,
        "version": 1,
        "capsule": capsule,
        "digest": digest(capsule, first, last),
    }
    return chunk.model_copy(update=update)


def paired(prompt: Prompt) -> bool:
    """Whether each call is followed by its result."""
    calls = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Call)]
    results = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Response)]
    return calls == results
