"""The background writers of one task: its summaries and its capsules, until its flush."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.domain.config import MemoryConfig
from app.domain.memory import BackgroundState
from app.domain.messages import Role
from app.domain.plans import Check
from app.domain.ports import Background
from app.domain.summaries import ChunkState, HistoryChunk
from app.domain.tasks import Instruction, StepRecord, TaskHistory
from app.memory.background import WriterPorts
from app.memory.capsules import CapsuleWriter, Facts, Sources
from app.memory.summaries import Summaries
from app.memory.transcript import Transcript
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.history import load_steps

SETTLE = 20.0
"""Seconds a capsule waits for the summaries of its steps; then it is written without."""
CONFLICT_STEPS = 12
"""Newest steps of which a summary that contradicts the validator is told."""


class Known(NamedTuple):
    """What a task knows that its chunks must not lose."""

    checks: Sequence[Check] = ()
    instructions: Sequence[Instruction] = ()


class TaskWriters:
    """Takes finished steps and closed chunks; returns at once, writes beside the task."""

    def __init__(
        self,
        ports: WriterPorts,
        config: MemoryConfig,
        background: Background,
        db: Database,
        artifacts: FileArtifacts,
        history: TaskHistory,
        *,
        transcript: Transcript | None = None,
        known: Callable[[], Known] | None = None,
    ) -> None:
        self._config = config
        self._db = db
        self._artifacts = artifacts
        self._task_id = history.task.task_id
        self._newest = history.steps[-1].step_number if history.steps else 0
        self._transcript = transcript
        self._known = known or (lambda: Known(history.checks, history.instructions))
        spent = history.background
        self.summaries = Summaries(
            ports,
            config,
            background,
            self._summary_ready,
            task_id=self._task_id,
            spent=spent.get(Role.SUMMARIZER.value),
        )
        self.capsules = CapsuleWriter(
            ports,
            config,
            background,
            Sources(self._steps, self._facts, self._settled),
            self._capsule_ready,
            task_id=self._task_id,
            spent=spent.get(Role.CHUNK_WRITER.value),
        )
        self._take_up(history)

    def take(self, step: StepRecord) -> None:
        """A step was finished, and maybe a chunk closed with it."""
        self._newest = step.step_number
        if self._config.summarises:
            self.summaries.submit(step)
        if self._transcript is not None:
            self._submit_chunks(self._transcript.chunks)

    def state(self) -> BackgroundState:
        """What waits and what has halted, as it stands; waits for nothing."""
        desks = (("summaries", self.summaries.desk), ("chunks", self.capsules.desk))
        newest = range(max(1, self._newest - CONFLICT_STEPS + 1), self._newest + 1)
        told = ((n, self.summaries.of(n)) for n in newest)
        return BackgroundState(
            summaries=self.summaries.waiting,
            chunks=self.capsules.waiting,
            halted=tuple(name for name, desk in desks if desk.state in ("paused", "stopped")),
            conflicts=tuple(n for n, summary in told if summary is not None and summary.conflict),
            waits=sum(desk.waits for _, desk in desks),
        )

    @property
    def closed(self) -> bool:
        """Whether nothing more is asked."""
        return self.summaries.desk.closed or self.capsules.desk.closed

    async def reject(self, steps: Sequence[int], chunk: HistoryChunk | None, reason: str) -> None:
        """Texts that a reviewer does not accept are written anew when nothing else waits."""
        for number in steps:
            for step in await self._steps(number, number):
                await self.summaries.reject(step, reason)
        if chunk is not None:
            self.capsules.reject(chunk, reason)

    async def flush(self) -> None:
        """The task has ended: what waits is written within bounds, the rest at the next start."""
        await self.summaries.flush(self._config.background_flush)
        await self.capsules.flush(self._config.background_flush)

    async def close(self) -> None:
        """Asks nothing more."""
        await self.summaries.close()
        self.capsules.close()

    # --- what the writers are told, and tell ----------------------------------------------

    def _take_up(self, history: TaskHistory) -> None:
        if self._config.summarises:
            self.summaries.take_up(history.steps, history.summary_states, history.summaries)
        self._submit_chunks(history.chunks)

    def _submit_chunks(self, chunks: Sequence[HistoryChunk]) -> None:
        if self._config.pro_memory_enabled and self._config.history_chunks:
            self.capsules.submit_all(c for c in chunks if c.state is not ChunkState.READY)

    async def _steps(self, first: int, last: int) -> Sequence[StepRecord]:
        return await load_steps(self._db, self._artifacts, self._task_id, first, last)

    def _facts(self, first: int, last: int) -> Facts:
        found = ((n, self.summaries.of(n)) for n in range(first, last + 1))
        known = self._known()
        told = [i for i in known.instructions if first <= i.step_number <= last]
        return Facts({n: s for n, s in found if s is not None}, known.checks, told)

    async def _settled(self, first: int, last: int) -> object:
        return await self.summaries.settled(first, last, SETTLE)

    def _summary_ready(self, step_number: int, text: str) -> None:
        if self._transcript is not None:
            self._transcript.summaries[step_number] = text

    def _capsule_ready(self, chunk: HistoryChunk) -> None:
        """Put in its place; the next compaction may use it."""
        if self._transcript is None:
            return
        chunks = self._transcript.chunks
        for at, known in enumerate(chunks):
            if known.chunk_id == chunk.chunk_id:
                chunks[at] = chunk
