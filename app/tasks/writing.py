"""Owns the background writers of all tasks: begins, ends, takes up what a dead process left."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import structlog

from app.agent.run import Run
from app.domain.config import MemoryConfig
from app.domain.events import ModelWaiting, StoredEvent
from app.domain.ports import Clock, Model, Recorder
from app.domain.summaries import ChunkState, HistoryChunk, SummaryStatus
from app.domain.tasks import TaskHistory
from app.errors import ArtemisError, Conflict, NotFound
from app.llm.build import ModelHouse
from app.memory.background import WriterPorts
from app.memory.capsules import given_up
from app.memory.transcript import Transcript
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.queries import MemoryQueries
from app.storage.recorder import TaskRecorder
from app.storage.unwritten import tasks_with_unwritten
from app.tasks.background import BackgroundWork
from app.tasks.beginning import expect_summaries
from app.tasks.picture_texts import text_of_step
from app.tasks.writers import Known, TaskWriters

log = structlog.get_logger(__name__)


class Rejection(NamedTuple):
    """Texts that a reviewer does not accept."""

    steps: tuple[int, ...] = ()
    """Whose summaries."""
    chunk: int | None = None
    """A step of the chunk whose capsule."""


class Writing:
    """All background writing of a process."""

    def __init__(
        self,
        db: Database,
        artifacts: FileArtifacts,
        house: ModelHouse,
        config: MemoryConfig,
        background: BackgroundWork,
        *,
        clock: Clock,
        publish: Callable[[StoredEvent], None],
    ) -> None:
        self._db = db
        self._artifacts = artifacts
        self._house = house
        self._config = config
        self._background = background
        self._clock = clock
        self._publish = publish
        self._open: dict[str, TaskWriters] = {}
        self._stopped = False

    def begin(self, run: Run, history: TaskHistory) -> TaskWriters:
        """The writers of a run, with what an earlier process left already queued."""

        def known() -> Known:
            return Known(run.checks, tuple(run.transcript.kept.instructions))

        ports, config = run.ports, run.rules.memory
        return self._begin(
            history,
            ports.model,
            ports.recorder,
            config,
            transcript=run.transcript,
            known=known,
        )

    def end(self, writers: TaskWriters) -> None:
        """The task is over: its last texts are written within bounds, and nobody waits."""
        self._background.submit("last summaries", partial(self._flush, writers))

    async def stop(self) -> None:
        """Nothing new is asked; pending rows are the queue of the next start."""
        self._stopped = True
        for writers in tuple(self._open.values()):
            await writers.close()

    def take_up(self) -> None:
        """Goes on with what earlier processes left of ended tasks."""
        self._background.submit("summaries of ended tasks", self._take_up)

    async def reject(self, task_id: str, rejection: Rejection, reason: str) -> None:
        """Has texts of a task written anew; the old ones serve until the new ones are there.

        Raises NotFound for what does not exist, Conflict for what is still to be written.
        """
        memory = MemoryQueries(self._db)
        chunk = await self._acceptable(memory, task_id, rejection)
        writers = self._open.get(task_id)
        if writers is not None and not writers.closed:
            await writers.reject(rejection.steps, chunk, reason)
            return
        recorder = self._recorder(task_id)
        history = await recorder.history()
        config = self._config.model_copy(update=history.task.spec.switches)
        if rejection.steps and not config.summarises:
            raise Conflict("summaries are switched off for this task")
        writers = self._begin(history, self._model(history, recorder), recorder, config)
        await writers.reject(rejection.steps, chunk, reason)
        self._background.submit("rejected texts", partial(self._flush, writers))

    async def _acceptable(
        self, memory: MemoryQueries, task_id: str, rejection: Rejection
    ) -> HistoryChunk | None:
        """The chunk that is meant, once everything that is to be written anew is known."""
        for number in rejection.steps:
            if (await memory.summary(task_id, number)).status is SummaryStatus.PENDING:
                raise Conflict(f"the summary of step {number} is still to be written")
        if rejection.chunk is None:
            return None
        view = await memory.chunk_of(task_id, rejection.chunk)
        if view is None:
            raise NotFound(f"Step {rejection.chunk} belongs to no closed chunk.")
        if view.chunk.state is ChunkState.PENDING:
            raise Conflict(f"the capsule of step {rejection.chunk} is still to be written")
        return view.chunk

    async def write_task(self, task_id: str) -> None:
        """Writes what a task that is not running lacks, and returns when it is done.

        Finished steps that were never to be summarised (an imported run) become pending first.
        """
        recorder = self._recorder(task_id)
        history = await recorder.history()
        config = self._config.model_copy(update=history.task.spec.switches)
        history = await expect_summaries(recorder, history, config)
        model = self._model(history, recorder)
        await self._flush(self._begin(history, model, recorder, config))

    def _recorder(self, task_id: str) -> TaskRecorder:
        return TaskRecorder(self._db, self._artifacts, task_id, self._publish, self._clock)

    def _model(self, history: TaskHistory, recorder: Recorder) -> Model:
        """The model of a task, its waits told in the task's record."""

        async def on_wait(waiting: ModelWaiting) -> None:
            await recorder.record(waiting)

        return self._house.build(on_wait, history.task.spec.models)

    def _begin(
        self,
        history: TaskHistory,
        model: Model,
        recorder: Recorder,
        config: MemoryConfig,
        *,
        transcript: Transcript | None = None,
        known: Callable[[], Known] | None = None,
    ) -> TaskWriters:
        ports = WriterPorts(
            model=model,
            recorder=recorder,
            artifacts=self._artifacts,
            clock=self._clock,
            new_id=lambda: str(uuid.uuid4()),
            picture_text=partial(text_of_step, self._db, self._artifacts, history.task.task_id),
        )
        writers = TaskWriters(
            ports,
            config,
            self._background,
            self._db,
            self._artifacts,
            history,
            transcript=transcript,
            known=known,
        )
        self._open[history.task.task_id] = writers
        return writers

    async def _take_up(self) -> None:
        for task_id in await tasks_with_unwritten(self._db, given_up):
            if self._stopped:
                return
            try:
                await self.write_task(task_id)
            except ArtemisError as error:
                log.warning("summaries_not_taken_up", task=task_id, reason=str(error))

    async def _flush(self, writers: TaskWriters) -> None:
        try:
            await writers.flush()
        finally:
            self._open = {t: w for t, w in self._open.items() if w is not writers}
