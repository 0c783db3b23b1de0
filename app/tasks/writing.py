"""Owns the background writers of all tasks: begins, ends, takes up what a dead process left."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

import structlog

from app.agent.run import Run
from app.domain.config import MemoryConfig
from app.domain.events import Event, ModelWaiting, StoredEvent
from app.domain.ports import Clock, Model, Recorder
from app.domain.tasks import StepState, TaskHistory
from app.errors import ArtemisError
from app.llm.build import ModelHouse
from app.memory.background import WriterPorts
from app.memory.summaries import pending
from app.memory.transcript import Transcript
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.recorder import TaskRecorder
from app.storage.unwritten import tasks_with_unwritten
from app.tasks.background import BackgroundWork
from app.tasks.picture_texts import text_of_step
from app.tasks.writers import Known, TaskWriters

log = structlog.get_logger(__name__)


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
        self._open: set[TaskWriters] = set()
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
        for writers in tuple(self._open):
            await writers.close()

    def take_up(self) -> None:
        """Goes on with what earlier processes left of ended tasks."""
        self._background.submit("summaries of ended tasks", self._take_up)

    async def write_task(self, task_id: str) -> None:
        """Writes what a task that is not running lacks, and returns when it is done.

        Finished steps that were never to be summarised (an imported run) become pending first.
        """
        recorder = TaskRecorder(self._db, self._artifacts, task_id, self._publish, self._clock)
        history = await recorder.history()

        async def on_wait(waiting: ModelWaiting) -> None:
            await recorder.record(waiting)

        spec = history.task.spec
        config = self._config.model_copy(update=spec.switches)
        new: list[Event] = [
            pending(step.step_id, step.step_number)
            for step in history.steps
            if step.state is not StepState.DECIDED
            and step.step_number not in history.summary_states
        ]
        if new and config.summarises:
            await recorder.record(*new)
            history = await recorder.history()
        model = self._house.build(on_wait, spec.models)
        await self._flush(self._begin(history, model, recorder, config))

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
        self._open.add(writers)
        return writers

    async def _take_up(self) -> None:
        for task_id in await tasks_with_unwritten(self._db):
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
            self._open.discard(writers)
