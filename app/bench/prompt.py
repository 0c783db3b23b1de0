"""`artemis bench prompt`: the time to build an operator's prompt, early in a task and late."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from statistics import median
from typing import NamedTuple

from app.bench.drawing import WINDOW
from app.bench.stand import Sections
from app.bench.walk import LABELS, PACKAGE, START, Walk
from app.domain.actions import Outcome, Point, Receipt, Tap, Target, Verdict, describe
from app.domain.config import MemoryConfig
from app.domain.messages import Call, Image, Message, ModelRequest, Response, Role, Text
from app.domain.plans import Milestone, MilestoneState, Plan
from app.domain.screens import (
    ArtifactRef,
    Bounds,
    Element,
    Observation,
    ScreenDiff,
    TreeStatus,
    UiTree,
)
from app.domain.summaries import Capsule, ChunkState, HistoryChunk, Interval
from app.domain.tasks import StepRecord, StepState
from app.domain.values import Value
from app.errors import InvalidInput
from app.memory.hints import ScreenHistory
from app.memory.ledger import PENDING
from app.memory.tail import Elements, TailFacts
from app.memory.tokens import Counter
from app.memory.transcript import Transcript
from app.memory.zones import Stable
from app.perception import render

BUILDS = 200
"""Live builds at each of the two places."""
EARLY = 100
MOST = 1.3
"""How much longer a late build may take."""
MAX_STEPS = 50_000
READY_AFTER = 3
"""Steps until a chunk's capsule and a step's summary are there."""
PLAN = Plan(
    revision=1,
    milestones=(Milestone(number=1, text="Reach the last record", state=MilestoneState.ACTIVE),),
)
PHOTO = ArtifactRef(sha256="0" * 64, media_type="image/jpeg", size=1)


class Report(Value):
    """The benchmark's answer."""

    steps: int
    builds: int
    early_ms: float
    """Median of the builds from step 100 on."""
    late_ms: float
    """Median of the last builds."""
    ratio: float
    early_tokens: int
    late_tokens: int
    request_bytes: int
    cold_ms: float
    """A transcript rebuilt from its records, and its first prompt."""

    @property
    def kept(self) -> bool:
        return self.ratio <= MOST


async def main(settings: Sections, steps: int, *, as_json: bool) -> int:
    """Measures and prints; exit code 0 when a late build is about as quick as an early one."""
    report = measure(settings, steps)
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.kept else 1


def measure(settings: Sections, steps: int) -> Report:
    """Takes a task through so many steps; builds around step 100 and the last ones are timed."""
    if not EARLY + BUILDS <= steps <= MAX_STEPS:
        raise InvalidInput(
            f"{steps} steps cannot be measured", hint=f"give {EARLY + BUILDS} to {MAX_STEPS:,}"
        )
    walk = Walk(screens=steps, wordy=True)
    early, late = _Task(settings, walk), _Task(settings, walk)
    for task, last in ((early, EARLY), (late, steps - BUILDS)):
        for _ in range(last):
            task.turn()
    # In turns, so that a busy machine slows both down alike.
    pairs = [(early.turn(), late.turn()) for _ in range(BUILDS)]
    early_ms, late_ms = (round(median(t[i].ms for t in pairs), 3) for i in (0, 1))
    return Report(
        steps=steps,
        builds=BUILDS,
        early_ms=early_ms,
        late_ms=late_ms,
        ratio=round(late_ms / early_ms, 3),
        early_tokens=round(median(first.tokens for first, _ in pairs)),
        late_tokens=round(median(second.tokens for _, second in pairs)),
        request_bytes=pairs[-1][1].size,
        cold_ms=late.cold(),
    )


class _Built(NamedTuple):
    """One build."""

    ms: float
    tokens: int
    size: int


class _Task:
    """A task that lives in memory: its transcript, its screens, and what is written behind it."""

    def __init__(self, settings: Sections, walk: Walk) -> None:
        self._walk = walk
        self._settings = settings
        self._steps: list[StepRecord] = []
        self._frozen = ""
        self._held = self._transcript(settings.memory)
        self._screens = ScreenHistory()

    def _transcript(self, config: MemoryConfig) -> Transcript:
        stable = Stable("Operate the phone. " * 500, ())
        return Transcript(self._walk.goal, stable, config, Counter(config.image_tokens))

    def turn(self) -> _Built:
        """One prompt, timed with its serialisation, and the step behind it."""
        number = len(self._steps) + 1
        seen = self.look(number)
        began = time.perf_counter()
        request, tokens = self.prompt(number, seen)
        size = len(request.model_dump_json())
        took = time.perf_counter() - began
        self.finish(number, seen)
        return _Built(took * 1000, tokens, size)

    def look(self, number: int) -> Observation:
        """The screen of a record."""
        texts = [t for row in self._walk.rows(number) for t in (row.label, row.value)]
        return Observation(
            observation_id=f"o{number}",
            taken_at=START + timedelta(seconds=number),
            tree=UiTree(status=TreeStatus.OK, elements=tuple(_elements(texts))),
            window=WINDOW,
            package=PACKAGE,
            title=self._walk.title(number),
            dhash=f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}",
            signature=f"s{number % 997}",
            element_count=len(texts),
        )

    def prompt(self, number: int, seen: Observation) -> tuple[ModelRequest, int]:
        """One turn's first request, as the operator node makes it, and its estimate."""
        listed: dict[int, render.RenderedElements] = {}

        def rendered(tokens: int) -> render.RenderedElements:
            if tokens not in listed:
                longest = self._settings.perception.max_text
                listed[tokens] = render.render(seen.tree, seen.window, tokens, longest)
            return listed[tokens]

        facts = TailFacts(
            step_number=number,
            offset=float(number),
            observation=seen,
            elements=Elements(
                lambda tokens: rendered(tokens).text,
                lambda tokens: (rendered(tokens).shown, rendered(tokens).total),
            ),
            plan=PLAN,
            hint=self._screens.hint(seen),
            image=Image(ref=PHOTO, width=720, height=1600),
        )
        most = self._settings.perception.element_list_tokens
        prompt = self._held.build(facts, element_tokens=most, trouble=False)
        if prompt.compaction is not None:
            self._frozen = prompt.compaction.frozen.to_json()
        stable = self._held.stable
        request = ModelRequest(role=Role.OPERATOR, system=stable.system, messages=prompt.messages)
        return request, prompt.figures.estimated

    def finish(self, number: int, seen: Observation) -> None:
        """The step after the prompt, and what the background has written by then."""
        step = _step(number, seen)
        self._steps.append(step)
        held = self._held
        if number % 10 == 0:
            held.kept.remember({f"record {number}": self._walk.rows(number)[0].value}, number)
        held.close_chunks(step)
        held.add(step)
        self._screens.add(number, seen)
        if number > READY_AFTER:
            about = f"I looked at record {number - READY_AFTER} and tapped the button Next there."
            held.summaries[number - READY_AFTER] = about
        for at in range(max(0, len(held.chunks) - 2), len(held.chunks)):
            chunk = held.chunks[at]
            if chunk.state is ChunkState.PENDING and chunk.end_step <= number - READY_AFTER:
                held.chunks[at] = _written(chunk)

    def cold(self) -> float:
        """Milliseconds for a rebuild from the records and its first prompt."""
        number = len(self._steps) + 1
        seen = self.look(number)
        began = time.perf_counter()
        again = self._transcript(self._settings.memory)
        again.kept.remembered = dict(self._held.kept.remembered)
        again.restore(self._frozen, tuple(self._held.chunks))
        again.summaries.update(self._held.summaries)
        screens = ScreenHistory()
        for step in self._steps:
            again.add(step)
            screens.add(step.step_number, step.observation)
        self._held, self._screens = again, screens
        self.prompt(number, seen)
        return round((time.perf_counter() - began) * 1000, 1)


def _elements(texts: Iterable[str]) -> Iterator[Element]:
    for index, text in enumerate(texts, 1):
        top = 100.0 + 50 * index
        bounds = Bounds(left=50, top=top, right=1000, bottom=top + 40)
        yield Element(index=index, role="text", text=text, bounds=bounds)


def _step(number: int, seen: Observation) -> StepRecord:
    action = Tap(target=Target(point=Point(x=740, y=912), text="Next"))
    said = Text(text=f"Record {number} is open, as I expected. " * 10)
    messages = (
        Message(role="model", parts=(said, Call(name="tap", args={"element": 37}))),
        Message(role="user", parts=(Response(name="tap", response=PENDING),)),
    )
    return StepRecord(
        step_id=f"id{number}",
        step_number=number,
        state=StepState.DONE,
        started_at=seen.taken_at,
        offset=float(number),
        subgoal_hash=PLAN.subgoal_hash(),
        observation=seen.light(),
        action=action,
        action_text=describe(action),
        messages=messages,
        receipt=Receipt(outcome=Outcome.OK),
        verdict=Verdict.EXECUTED,
        diff=ScreenDiff(changed=True, page_changed=True, added=(f"Record {number + 1}",)),
    )


def _written(chunk: HistoryChunk) -> HistoryChunk:
    first, last = chunk.start_step, chunk.end_step
    text = f"Opened the records {first} to {last} one after the other and read each of them."
    capsule = Capsule(
        doing="I was walking through the records.",
        exit_state=f"record {last} on the screen",
        verified_facts=tuple(
            f"{LABELS[0]} of record {n} (on screen, step {n})" for n in (first, last)
        ),
        intervals=(Interval(start_step=first, end_step=last, text=text),),
    )
    update = {"state": ChunkState.READY, "version": 1, "capsule": capsule, "digest": text * 8}
    return chunk.model_copy(update=update)


def lines(report: Report) -> list[str]:
    """The report as a table."""
    kept = "kept" if report.kept else "NOT KEPT"
    late = report.steps - report.builds
    return [
        f"medians of {report.builds} live builds, estimate and serialisation included",
        "",
        f"from step {EARLY:<10,}{report.early_ms:>9.2f} ms{report.early_tokens:>10,} tokens",
        f"from step {late:<10,}{report.late_ms:>9.2f} ms{report.late_tokens:>10,} tokens",
        f"ratio {report.ratio:>21.2f}    at most {MOST}: {kept}",
        f"cold rebuild at step {report.steps:,}: {report.cold_ms:,.0f} ms",
    ]
