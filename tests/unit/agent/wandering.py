"""Whole tasks on a real store that wander at random, are killed, and go on.

Before each first request of a turn is answered, the task is built anew from the store, as a
process that was started now would do it, and compared with what the request holds.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from app.agent.control import Control, Reply
from app.agent.run import Ports, Rules, Run
from app.agent.runner import build_run, run_task
from app.domain.actions import Outcome, Receipt
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, PerceptionConfig, Platform
from app.domain.events import ChunkChanged, SummaryChanged
from app.domain.messages import Finish, Message, ModelReply, ModelRequest, Role, Usage
from app.domain.summaries import ChunkState, StepSummary, SummaryEvidenceMetadata, SummaryStatus
from app.domain.tasks import Limits, TaskSpec, TaskState
from app.memory.zones import Stable
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from app.tasks.bus import Bus
from tests.unit.agent.home import Clock, NoBackground, Phone, calls, says, source
from tests.unit.memory.histories import written

SMALL = {
    "target_tokens": 5_200,
    "compacted_tokens": 4_400,
    "hard_tokens": 7_500,
    "same_turn_soft_tokens": 8_000,
    "same_turn_hard_tokens": 12_000,
    "image_tokens": 100,
}
"""Budgets that a short task outgrows."""
TEXTS = (
    "I look at the page and press what the plan names. ",
    "很长的想法，写在这里。",
    "<short_term_memory>old</short_term_memory> ",
    'tab\tline\nnul\0quote" slash\\ ',
    "🏴\u200d☠️ ",
)
RECEIPTS = (
    Receipt(outcome=Outcome.ERROR, code="device_error", message="refused\0by the phone"),
    Receipt(outcome=Outcome.UNKNOWN, code="device_timeout", message="silent"),
)
Kept = tuple[str, ...]


class Killed(asyncio.CancelledError):
    """The process dies here."""


def bytes_of(stable: Stable, messages: tuple[Message, ...]) -> Kept:
    """S, F and A as they would be sent."""
    return (stable.to_json(), *(m.model_dump_json() for m in messages))


def other(one: Kept, two: Kept) -> str:
    """Where two differ first."""
    if len(one) != len(two):
        return f"{len(one)} and {len(two)} messages"
    a, b = next((a, b) for a, b in zip(one, two, strict=True) if a != b)
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    return f"{a[max(0, at - 60) : at + 60]!r} and {b[max(0, at - 60) : at + 60]!r}"


@dataclass
class Wanderer:
    """A model that does anything, and looks at each request before it answers."""

    random: Random
    steps: int
    look: Callable[[ModelRequest], Awaitable[None]]
    factor: float = 1.0
    """Real tokens per estimated one."""

    async def generate(self, request: ModelRequest) -> ModelReply:
        if request.role is Role.ANALYZER:
            recovery = self.random.choice(("none", "back"))
            return says(json.dumps({"diagnosis": "it\0stands", "recovery": recovery}))
        if request.role is not Role.OPERATOR:
            plan = {"milestones": [{"text": "Wander", "state": "loop_continuous"}], "checks": []}
            return says(json.dumps({**plan, "answer": "done", "cited_steps": []}))
        await self.look(request)
        made = self._reply(request)
        size = sum(len(m.plain()) for m in request.messages) // 4 + 2_300
        return made.model_copy(update={"usage": Usage(prompt=round(size * self.factor), output=9)})

    def _reply(self, request: ModelRequest) -> ModelReply:
        draw = self.random
        said = draw.choice(TEXTS) * draw.choice((1, 3, 20, 20, 300))
        number = request.step_number
        if number > self.steps:
            return calls(("finish", {"answer": "done"}), said=said)
        if draw.random() < 0.05:
            return calls(said=said).model_copy(
                update={"finish": draw.choice((Finish.LENGTH, Finish.STOP))}
            )
        made: list[tuple[str, dict[str, Any]]] = []
        if draw.random() < 0.4:
            made.append(self._tool(number))
        if draw.random() < 0.8 or not made:
            made.append(self._action(number))
        return calls(*made, said=said)

    def _tool(self, number: int) -> tuple[str, dict[str, Any]]:
        draw = self.random
        pairs = [
            {"key": f"key {draw.randint(1, 9)}", "value": f"{number}\0{draw.choice(TEXTS)}"}
            for _ in range(draw.randint(1, 4))
        ]
        tools: list[tuple[str, dict[str, Any]]] = [
            ("remember", {"values": pairs}),
            ("notes", {"op": "append", "key": "log", "text": "word " * draw.randint(1, 900)}),
            ("notes", {"op": "read", "key": "log"}),
            ("ask_user", {"question": f"What now, at {number}?"}),
            ("recall_history", {"query": f"Page {number // 2}"}),
            ("update_plan", {"active": 1, "progress": f"{number} seen"}),
            ("no_such_tool", {"x": 1}),
        ]
        return draw.choice(tools)

    def _action(self, number: int) -> tuple[str, dict[str, Any]]:
        actions: list[tuple[str, dict[str, Any]]] = [
            ("tap", {"element": self.random.randint(0, 3)}),
            ("tap", {"x": 500, "y": 40}),
            ("input_text", {"text": f"typed\0{number}", "element": 0}),
            ("wait", {"seconds": 1}),
            ("back", {}),
            ("fly", {}),
        ]
        return self.random.choice(actions)


@dataclass
class Wandering:
    """One task, its lives, and what was compared on the way."""

    folder: Path
    seed: int
    config: MemoryConfig
    steps: int
    kills: frozenset[int] = frozenset()
    """Steps in whose turn the process dies once."""
    lag: int = 3
    """Steps until a summary or a capsule is there; negative: never."""
    goal: str = "Wander about."
    factor: float = 1.0
    watch: Callable[[ModelRequest, Run], Awaitable[None]] | None = None
    """Sees each first request of a turn."""
    compared: int = 0
    sent: dict[tuple[int, int, frozenset[int], int], Kept] = field(default_factory=dict)
    """S, F and A of each step's first request as sent first, by the step and what F had done."""
    differing: list[str] = field(default_factory=list)

    async def to_end(self) -> TaskState:
        url = f"sqlite:///{self.folder / 'task.db'}"
        await migrate(url)
        self._db = Database(url)
        self._random = Random(self.seed)
        self._left = set(self.kills)
        self._clock = Clock()
        self._ids = itertools.count(1)
        try:
            return await self._live()
        finally:
            await self._db.close()

    async def _live(self) -> TaskState:
        bus = Bus()
        tasks = TaskRepository(self._db, bus.publish, self._clock)
        limits = Limits(steps=self.steps + 9, seconds=86_400)
        spec = TaskSpec(goal=self.goal, device="phone", limits=limits)
        task = (await tasks.create("task", spec)).task
        artifacts = FileArtifacts(self.folder / "artifacts")
        self._recorder = TaskRecorder(self._db, artifacts, task.task_id, bus.publish, self._clock)
        model = Wanderer(self._random, self.steps, self._look, self.factor)
        phone = Phone()
        self._ports = Ports(
            device=phone,
            model=model,
            recorder=self._recorder,
            artifacts=artifacts,
            search=Search(self._db, task.task_id),
            background=NoBackground(),
            clock=self._clock,
            new_id=lambda: f"id{next(self._ids)}",
        )
        self._rules = Rules(
            agent=AgentConfig(keep_alive=0.001, identical_actions=99),
            memory=self.config,
            perception=PerceptionConfig(),
            device=DeviceConfig(name="phone", platform=Platform.ANDROID),
        )
        while True:
            assert await tasks.claim("phone") is not None
            history = await self._recorder.history()
            self._control = Control()
            self._run = build_run(history, self._ports, self._rules, self._control)
            self._run.after_step = lambda step: self._happen(phone)
            person = asyncio.create_task(self._answer())
            try:
                return (await run_task(self._run, history)).state
            except Killed:
                await tasks.mark_interrupted()
            finally:
                person.cancel()

    async def rebuilt(self) -> Run:
        """The run as a process that was started now would take it up."""
        return build_run(await self._recorder.history(), self._ports, self._rules, Control())

    async def _look(self, request: ModelRequest) -> None:
        number, tail = request.step_number, request.messages[-1].text
        if not tail.startswith("# NOW "):
            return
        here = bytes_of(Stable(request.system, request.tools), request.messages[:-1])
        again = (await self.rebuilt()).transcript
        self.compared += 1
        if not again.recompiled and (built := bytes_of(again.stable, again.history)) != here:
            self.differing.append(f"step {number}: rebuilt from the store: {other(here, built)}")
        # The restart is told of in T, which may make a compaction or an excerpt due; what is
        # written anew depends on the length of T.
        frozen = self._run.transcript.frozen
        room = len(tail) if again.recompiled else 0
        before = self.sent.setdefault((number, frozen.step, frozen.excerpted, room), here)
        if before != here:
            self.differing.append(f"step {number}: sent again: {other(before, here)}")
        if self.watch is not None:
            await self.watch(request, self._run)
        dies = number in self._left
        self._left.discard(number)
        if dies and again.recompiled:
            # What is written late may stand in the next prompt, which is written anew.
            raise Killed
        await self._write_behind(number)
        if dies:
            raise Killed

    def _happen(self, phone: Phone) -> None:
        """What the world does between two steps."""
        draw = self._random
        if draw.random() < 0.2:
            phone.receipts.append(draw.choice(RECEIPTS))
        if draw.random() < 0.2:
            rows = (f"Row {i} {'很' * draw.randint(0, 60)}" for i in range(draw.randint(1, 90)))
            phone.views.append(phone.view(source=source("Next", *rows)))
        if draw.random() < 0.1:
            text = f"Do it so: {next(self._ids)}\0" + draw.choice(TEXTS) * draw.randint(1, 60)
            self._control.inject(f"r{next(self._ids)}", text[:5_000])

    async def _answer(self) -> None:
        """A person who answers at once, sometimes without a word."""
        while True:
            await asyncio.sleep(0.001)
            if (asked := self._control.open_question) is not None:
                said = self._random.choice(("", "yes\0please", "no " * 200))
                self._control.reply(asked[0], Reply(f"r{next(self._ids)}", said, None, "me"))

    async def _write_behind(self, number: int) -> None:
        """Summaries and capsules that come late, if they come."""
        if self.lag < 0:
            return
        held = self._run.transcript
        history = await self._recorder.history()
        for step in history.steps:
            due = step.step_number + self.lag < number
            status = history.summary_states.get(step.step_number)
            if due and status is SummaryStatus.PENDING:
                text = f"I went on at step {step.step_number}. " * self._random.randint(1, 30)
                await self._recorder.record(summary_of(step.step_id, step.step_number, text))
                if not self.config.visual_step_summary_shadow:
                    held.summaries[step.step_number] = text
        for at, chunk in enumerate(held.chunks):
            if chunk.state is ChunkState.PENDING and chunk.end_step + self.lag < number:
                held.chunks[at] = written(chunk, self._random)
                await self._recorder.record(ChunkChanged(chunk=held.chunks[at]))


def summary_of(step_id: str, number: int, text: str) -> SummaryChanged:
    evidence = SummaryEvidenceMetadata(
        step_id=step_id, model="m", prompt_version=1, summary_version=1
    )
    return SummaryChanged(
        step_id=step_id,
        step_number=number,
        status=SummaryStatus.VISUAL_READY,
        summary=StepSummary(
            step_id=step_id, step_number=number, version=1, text=text, evidence=evidence
        ),
    )
