"""Writes a neutral paragraph about each step in the background; the operator never waits for it.

One step at a time: what waits first, then, when nothing waits, what was refused or left something
out. Every state, version and refusal is recorded as it happens.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from app.domain.config import MemoryConfig
from app.domain.events import Event, SummaryChanged
from app.domain.memory import SearchEntry, TextKind
from app.domain.messages import Role
from app.domain.ports import Background
from app.domain.summaries import Refusal, StepSummary, SummaryStatus
from app.domain.tasks import Spent, StepRecord
from app.errors import Conflict
from app.memory.agreement import omissions
from app.memory.background import Desk, Stopped, WriterPorts
from app.memory.lens import RECENT, Given, look_at
from app.memory.prompts import SUMMARY_VERSION
from app.memory.summary_book import SummaryBook
from app.memory.summary_writing import Outcome, SummaryWriter, outdated, written

OnReady = Callable[[int, str], None]
"""Told a step's number and its newest text."""


class Job(NamedTuple):
    """One step to be summarised."""

    step: StepRecord
    redo: int = 0
    """How often it was tried again; such a try is made by the full model."""
    outdated: bool = False
    """Its version was written with an older prompt."""
    attempts: int = 0
    """Answers asked for in former tries."""
    refusals: tuple[Refusal, ...] = ()
    """What was refused in former tries."""


class Summaries:
    """The summaries of one task."""

    def __init__(
        self,
        ports: WriterPorts,
        config: MemoryConfig,
        background: Background,
        on_ready: OnReady,
        *,
        task_id: str = "",
        spent: Spent | None = None,
    ) -> None:
        self._ports = ports
        self._config = config
        self._background = background
        self._on_ready = on_ready
        self._waiting: deque[Job] = deque()
        self._redo: deque[Job] = deque()
        self._at_work = False
        self._under_way = 0
        self._moved = asyncio.Condition()
        self.desk = Desk(ports, config, Role.SUMMARIZER, "summaries", task_id=task_id, spent=spent)
        self._writer = SummaryWriter(self.desk, config, ports.picture_text)
        self.book = SummaryBook()
        self.late = 0
        """Versions that came after a newer one and were dropped."""

    # --- what others call ---------------------------------------------------------------

    def submit(self, step: StepRecord) -> None:
        """Takes a finished step and returns at once; the same step again is passed over."""
        if step.step_number in self.book:
            return
        self.book.expect(step.step_number)
        self._queue(Job(step))

    def take_up(
        self,
        steps: Iterable[StepRecord],
        states: Mapping[int, SummaryStatus],
        summaries: Mapping[int, StepSummary],
    ) -> None:
        """Puts back what the store holds and queues what is pending, refused or outdated."""
        for step in steps:
            number = step.step_number
            if (status := states.get(number)) is None:
                continue
            summary = summaries.get(number)
            self.book.restore(number, status, summary)
            if summary is not None and not self._config.visual_step_summary_shadow:
                self._on_ready(number, summary.text)
            if status is SummaryStatus.PENDING:
                self._queue(Job(step))
            elif status is SummaryStatus.VISUAL_FAILED:
                self._try_again(Job(step))
            elif status is SummaryStatus.STALE or outdated(summary):
                self._write_anew(Job(step, outdated=status is not SummaryStatus.STALE))

    async def reject(self, step: StepRecord, reason: str) -> None:
        """A reviewer does not accept the newest version: it is stale, and written anew.

        What failed, or is stale already, is tried once more. Raises Conflict while it is pending.
        """
        status = self.book.status(step.step_number)
        if status is SummaryStatus.PENDING:
            raise Conflict(f"The summary of step {step.step_number} is still to be written.")
        if status is SummaryStatus.VISUAL_READY:
            await self._stale(step, reason)
        elif step.step_number == self._under_way:
            return
        if all(job.step.step_number != step.step_number for job in self._redo):
            self._write_anew(Job(step))

    def of(self, step_number: int) -> StepSummary | None:
        """The newest version of a step's summary."""
        return self.book.newest(step_number)

    def recent(self, count: int) -> tuple[tuple[int, str], ...]:
        """The newest ready texts with their step numbers, oldest first."""
        return self.book.recent(count)

    @property
    def waiting(self) -> int:
        """Steps that wait for their summary, the one that is being written included."""
        return len(self._waiting) + self._at_work

    def counts(self) -> dict[SummaryStatus, int]:
        return self.book.counts()

    async def settled(self, first: int, last: int, seconds: float) -> bool:
        """Waits, for background work only, until no summary of a range is pending."""

        def done() -> bool:
            numbers = (n for n in range(first, last + 1) if n in self.book)
            pending = (self.book.status(n) is SummaryStatus.PENDING for n in numbers)
            return self.desk.closed or self.desk.state == "paused" or not any(pending)

        return await self._until(done, seconds)

    async def flush(self, seconds: float) -> None:
        """Lets waiting work end, within bounds, then asks nothing more."""
        await self._until(lambda: not self._at_work, seconds)
        await self.close()

    async def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        self.desk.entered()
        try:
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(holds)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Asks nothing more; what is pending is taken up at the next start."""
        self.desk.close()
        await self._tell()

    # --- the work -----------------------------------------------------------------------

    def _queue(self, job: Job) -> None:
        light = job.step.model_copy(update={"messages": ()})
        self._waiting.append(Job(light, job.redo))
        self._start()

    def _try_again(self, job: Job) -> None:
        if job.redo < self._config.background_redos:
            self._write_anew(job)

    def _write_anew(self, job: Job) -> None:
        """When nothing waits, and by the full model."""
        light = job.step.model_copy(update={"messages": ()})
        self._redo.append(job._replace(step=light, redo=job.redo + 1))
        self._start()

    async def _stale(self, step: StepRecord, reason: str) -> None:
        self.book.move(step.step_number, SummaryStatus.STALE)
        await self._record(self._changed(step, SummaryStatus.STALE, reason=reason[:500]))

    def _start(self) -> None:
        if not self._at_work and not self.desk.closed:
            self._at_work = True
            self._background.submit("step summaries", self._work)

    async def _work(self) -> None:
        try:
            while self._has_work() and await self.desk.opened():
                job = (self._waiting or self._redo).popleft()
                self._under_way = job.step.step_number
                await self._one(job)
                self._under_way = 0
                await self._tell()
        finally:
            self._at_work, self._under_way = False, 0
            await self._tell()

    def _has_work(self) -> bool:
        """Under quota pressure nothing is written a second time."""
        return bool(self._waiting) or (bool(self._redo) and self.desk.state != "lite")

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def _one(self, job: Job) -> None:
        step = job.step
        number = step.step_number
        if job.outdated and self.book.status(number) is SummaryStatus.VISUAL_READY:
            await self._stale(step, f"the prompt has moved on to version {SUMMARY_VERSION}")
        version = self.book.give_version(number)
        recent = self.book.before(number, RECENT)
        given = await look_at(step, recent, self._config, self._ports.artifacts)
        try:
            outcome = await self._writer.write(step, given, full=job.redo > 0)
        except Stopped as stopped:
            outcome = Outcome(reason=stopped.message)
            if self.book.status(number) is SummaryStatus.PENDING:
                return
        outcome = outcome._replace(
            attempts=job.attempts + outcome.attempts, refusals=job.refusals + outcome.refusals
        )
        again = job._replace(attempts=outcome.attempts, refusals=outcome.refusals)
        if outcome.text:
            await self._ready(job, given, version, outcome)
        else:
            await self._failed(again, outcome)

    async def _ready(self, job: Job, given: Given, version: int, outcome: Outcome) -> None:
        step = job.step
        summary = written(step, given, outcome, version, self._ports.clock.now())
        events: list[Event] = []
        number = step.step_number
        superseded = self.book.status(number) is SummaryStatus.VISUAL_READY
        if superseded and version > self.book.newest_version(number):
            self.book.move(number, SummaryStatus.STALE)
            reason = "a later version takes its place"
            events.append(self._changed(step, SummaryStatus.STALE, reason=reason))
        if not self.book.accept(summary):
            self.late += 1
            return
        missing = omissions(summary.text, step)
        events.append(
            self._changed(
                step,
                SummaryStatus.VISUAL_READY,
                summary=summary,
                attempts=outcome.attempts,
                refusals=outcome.refusals,
                reason=f"left out: {', '.join(missing)}"[:500] if missing else "",
                pictures=tuple(p for p in (given.decision, given.post) if p is not None),
            )
        )
        entry = SearchEntry(step_number=number, kind=TextKind.SUMMARY, text=summary.text)
        stored = await self._record(*events, index=(entry,))
        if stored and not self._config.visual_step_summary_shadow:
            self._on_ready(number, summary.text)
        if missing or (outcome.lite and outcome.refusals):
            self._try_again(job)

    async def _failed(self, job: Job, outcome: Outcome) -> None:
        number = job.step.step_number
        if self.book.allows(number, SummaryStatus.VISUAL_FAILED):
            self.book.move(number, SummaryStatus.VISUAL_FAILED)
            await self._record(
                self._changed(
                    job.step,
                    SummaryStatus.VISUAL_FAILED,
                    attempts=outcome.attempts,
                    refusals=outcome.refusals,
                    reason=outcome.reason[:500],
                )
            )
        self._try_again(job)

    def _changed(self, step: StepRecord, status: SummaryStatus, **more: object) -> SummaryChanged:
        return SummaryChanged.model_validate(
            {"step_id": step.step_id, "step_number": step.step_number, "status": status, **more}
        )

    async def _record(self, *events: Event, index: tuple[SearchEntry, ...] = ()) -> bool:
        """Whether it was stored."""
        try:
            await self._ports.recorder.record(*events, index=index)
        except Conflict:
            # Another process wrote a newer version, or the store knows another state: it counts.
            self.late += 1
            return False
        return True


def pending(step_id: str, step_number: int) -> SummaryChanged:
    """The event that makes a step's summary pending; stored with the step's own result."""
    return SummaryChanged(step_id=step_id, step_number=step_number, status=SummaryStatus.PENDING)
