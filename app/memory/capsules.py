"""Writes the capsule of a closed chunk in the background, until it passes the checks or bounds end.

The model's answers first, each told what the former one broke; then the fallback model's; then the
chunk is failed: its summaries and ledger lines go on serving, and it is tried again when idle.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.config import MemoryConfig
from app.domain.events import ChunkChanged
from app.domain.memory import SearchEntry
from app.domain.messages import Finish, Role
from app.domain.plans import Check
from app.domain.ports import Background
from app.domain.summaries import ChunkState, HistoryChunk, Refusal, StepSummary
from app.domain.tasks import Instruction, Spent, StepRecord
from app.errors import Conflict, ModelError
from app.memory.background import Desk, Question, Stopped, WriterPorts
from app.memory.capsule_checks import CAPSULE_SCHEMA, CheckedCapsule, check_capsule
from app.memory.capsule_text import digest, search_entries
from app.memory.chunk_lens import ChunkInput, look_at_chunk
from app.memory.prompts import CAPSULE_VERSION, load
from app.memory.summary_writing import correction

MOST_ATTEMPTS = 24
"""Refused answers to one chunk after which it is left as it is, over all starts together."""


class Facts(NamedTuple):
    """What a chunk's writer is told besides the steps, as it stands when it writes."""

    summaries: Mapping[int, StepSummary] = {}
    checks: Sequence[Check] = ()
    instructions: Sequence[Instruction] = ()


class Sources(NamedTuple):
    """Where a capsule's material comes from."""

    steps: Callable[[int, int], Awaitable[Sequence[StepRecord]]]
    """The recorded steps of a range, messages included."""
    facts: Callable[[int, int], Facts]
    settled: Callable[[int, int], Awaitable[object]]
    """Returns when the summaries of a range are there, or will not come soon."""


class Written(NamedTuple):
    """What came of a chunk's answers."""

    checked: CheckedCapsule | None = None
    model: str = ""
    attempts: int = 0
    refusals: tuple[Refusal, ...] = ()
    reason: str = ""


class Job(NamedTuple):
    """One chunk to be written about."""

    chunk: HistoryChunk
    since: float
    """When it was asked for."""
    reason: str = ""
    """Why a capsule that is there is not accepted."""


class CapsuleWriter:
    """The capsules of one task."""

    def __init__(
        self,
        ports: WriterPorts,
        config: MemoryConfig,
        background: Background,
        sources: Sources,
        on_ready: Callable[[HistoryChunk], None],
        *,
        task_id: str = "",
        spent: Spent | None = None,
    ) -> None:
        self._ports = ports
        self._config = config
        self._background = background
        self._sources = sources
        self._on_ready = on_ready
        self._system = load("capsule")
        self._waiting: deque[Job] = deque()
        self._redo: deque[Job] = deque()
        self._redone: dict[str, int] = {}
        self._known: set[str] = set()
        self._at_work = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.desk = Desk(ports, config, Role.CHUNK_WRITER, "chunks", task_id=task_id, spent=spent)

    # --- what others call ---------------------------------------------------------------

    def submit(self, chunk: HistoryChunk) -> None:
        """Takes a chunk that has no capsule and returns at once; a known one is passed over."""
        if chunk.chunk_id in self._known or chunk.state is ChunkState.READY or given_up(chunk):
            return
        self._known.add(chunk.chunk_id)
        self._waiting.append(Job(chunk, self._ports.clock.monotonic()))
        self._start()

    def reject(self, chunk: HistoryChunk, reason: str) -> None:
        """Takes a chunk whose capsule is not accepted; the capsule serves until the next is there.

        It is written when nothing else waits.
        """
        self._redo.append(Job(chunk, self._ports.clock.monotonic(), reason))
        self._start()

    @property
    def waiting(self) -> int:
        """Chunks that wait for their capsule, the one that is being written included."""
        return len(self._waiting) + self._at_work

    def submit_all(self, chunks: Iterable[HistoryChunk]) -> None:
        for chunk in chunks:
            self.submit(chunk)

    async def write(
        self, chunk: HistoryChunk, since: float | None = None, reason: str = ""
    ) -> HistoryChunk:
        """Asks for one chunk's capsule and gives its next version, ready or failed.

        A capsule that is there stays as it is while no other passes.
        """
        begun = self._ports.clock.monotonic() if since is None else since
        first, last = chunk.start_step, chunk.end_step
        steps = await self._sources.steps(first, last)
        facts = self._sources.facts(first, last)
        given = await look_at_chunk(
            steps,
            facts.summaries,
            self._ports.artifacts,
            checks=facts.checks,
            instructions=facts.instructions,
            picture_text=self._ports.picture_text,
        )
        written = await self.answers(chunk, given)
        update: dict[str, object] = {
            "attempts": chunk.attempts + written.attempts,
            "refusals": written.refusals,
            "prompt_version": CAPSULE_VERSION,
            "model": written.model,
        }
        if written.checked is not None and written.checked.capsule is not None:
            capsule = written.checked.capsule
            update |= {
                "state": ChunkState.READY,
                "version": chunk.version + 1,
                "capsule": capsule,
                "digest": digest(capsule, first, last),
                "image_only": written.checked.image_only,
                "over_length": written.checked.over_length,
                "seconds_to_ready": self._ports.clock.monotonic() - begun,
            }
        elif chunk.state is ChunkState.READY:
            return chunk
        else:
            update["state"] = ChunkState.FAILED
        changed = chunk.model_copy(update=update)
        await self._record(changed, written.reason or reason)
        return changed

    async def flush(self, seconds: float) -> None:
        """Lets waiting work end, within bounds, then asks nothing more."""
        self.desk.entered()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            pass
        self.desk.close()

    def close(self) -> None:
        """Asks nothing more; what is pending is taken up at the next start."""
        self.desk.close()

    # --- the work -----------------------------------------------------------------------

    def _start(self) -> None:
        if not self._at_work and not self.desk.closed:
            self._at_work = True
            self._idle.clear()
            self._background.submit("capsules", self._work)

    async def _work(self) -> None:
        try:
            while (self._waiting or self._redo) and await self.desk.opened():
                job = (self._waiting or self._redo).popleft()
                await self._sources.settled(job.chunk.start_step, job.chunk.end_step)
                try:
                    changed = await self.write(*job)
                except Stopped:
                    return
                if changed.version > job.chunk.version:
                    self._on_ready(changed)
                else:
                    self._try_again(job._replace(chunk=changed))
        finally:
            self._at_work = False
            self._idle.set()

    def _try_again(self, job: Job) -> None:
        name = job.chunk.chunk_id
        tried = self._redone.get(name, 0)
        if tried < self._config.background_redos:
            self._redone[name] = tried + 1
            self._redo.append(job)

    async def answers(self, chunk: HistoryChunk, given: ChunkInput) -> Written:
        """The model's answers, then the fallback model's, each told what the former one broke."""
        refusals: list[Refusal] = []
        told: tuple[Refusal, ...] = ()
        count, model = 0, ""
        bound = self._config.background_attempts
        for fallback in (False, True):
            for _ in range(bound):
                count += 1
                question = Question(
                    system=self._system,
                    text=given.text + correction(told),
                    step_number=chunk.end_step,
                    schema=CAPSULE_SCHEMA,
                    fallback=fallback,
                )
                try:
                    reply = await self.desk.ask(question)
                except Stopped:
                    raise
                except ModelError as error:
                    # The gateway has tried the fallback model already.
                    return Written(None, model, count, tuple(refusals), error.message)
                model = reply.model
                if reply.finish is not Finish.STOP:
                    told = (Refusal(rule="unfinished", detail=reply.finish.value),)
                else:
                    text = reply.message.text
                    checked = await asyncio.to_thread(check_capsule, text, given.sources)
                    if checked.passed:
                        return Written(checked, model, count, tuple(refusals))
                    told = checked.refusals
                refusals += told
                await self.desk.refused(question, reply, told)
        return Written(None, model, count, tuple(refusals), "refused by the checks")

    async def _record(self, chunk: HistoryChunk, reason: str) -> None:
        index: tuple[SearchEntry, ...] = ()
        if chunk.state is ChunkState.READY and chunk.capsule is not None:
            index = tuple(search_entries(chunk, chunk.capsule))
        try:
            await self._ports.recorder.record(
                ChunkChanged(chunk=chunk, reason=reason[:500]), index=index
            )
        except Conflict:
            # Another process wrote a newer version: that one counts.
            return


def given_up(chunk: HistoryChunk) -> bool:
    """Whether its answers were refused so often that no more are asked for."""
    failed = chunk.state is ChunkState.FAILED and bool(chunk.refusals)
    return failed and chunk.attempts >= MOST_ATTEMPTS
