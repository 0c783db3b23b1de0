"""Builds and owns runs: claims tasks, opens their device, hands everything to the runner."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import NamedTuple

import structlog

from app.agent.control import Control
from app.agent.run import Ports, Rules
from app.agent.runner import build_run, run_task
from app.devices.factory import open_device
from app.domain.config import DeviceConfig, ModelsConfig
from app.domain.events import ModelWaiting, StoredEvent, TaskStateChanged
from app.domain.ports import Clock, Device, Model
from app.domain.tasks import StepRecord, Task, TaskState
from app.errors import ArtemisError, NotFound
from app.llm.build import ModelHouse
from app.perception.ocr import OcrService, missing_extra
from app.settings import Settings
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.devices import DeviceRepository
from app.storage.pictures import unread_pictures
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from app.tasks.background import BackgroundWork
from app.tasks.beginning import deliver_pending, expect_summaries, reset_device
from app.tasks.picture_texts import DiscreetOcr, PictureTexts, hiding
from app.tasks.writing import Writing

log = structlog.get_logger(__name__)

POLL = 2.0
"""Seconds between looks for tasks that another process may have submitted."""
STOP_DEADLINE = 40.0
"""Seconds for ending device sessions at shutdown."""


class Running(NamedTuple):
    """A task under way in this process."""

    control: Control
    device: str
    job: asyncio.Task[None]


class Stores(NamedTuple):
    """What a worker reads and writes."""

    db: Database
    artifacts: FileArtifacts
    tasks: TaskRepository
    devices: DeviceRepository


class Worker:
    """Runs queued tasks, one per device at a time, until it is stopped."""

    def __init__(
        self,
        stores: Stores,
        settings: Settings,
        models: ModelsConfig,
        *,
        clock: Clock,
        publish: Callable[[StoredEvent], None],
        own_origins: tuple[str, ...] = (),
    ) -> None:
        self._stores = stores
        self._settings = settings
        self._models = models
        self._house = ModelHouse(models, clock, settings.memory.max_concurrency)
        self._clock = clock
        self._publish = publish
        self._own_origins = own_origins
        self._configured: dict[str, DeviceConfig] = {}
        self._running: dict[str, Running] = {}
        self._testing: set[str] = set()
        self._nudged = asyncio.Event()
        self.ocr = OcrService(settings.ocr, clock, missing=missing_extra())
        self._loop: asyncio.Task[None] | None = None
        self.background = BackgroundWork()
        own = (stores.db, stores.artifacts, self._house, settings.memory, self.background)
        self.writing = Writing(*own, clock=clock, publish=publish)

    # --- life -----------------------------------------------------------------------------

    async def start(self, configured: tuple[DeviceConfig, ...] = ()) -> tuple[Task, ...]:
        """Settles what a dead process left, then begins to take tasks; gives what was left."""
        self._configured = {d.name: d for d in configured}
        await self._stores.devices.upsert_configured(configured)
        left = await self._stores.tasks.mark_interrupted()
        self._loop = asyncio.create_task(self._take_tasks(), name="worker")
        self.writing.take_up()
        return left

    async def stop(self) -> None:
        """Ends every run as interrupted, with its device session closed."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        jobs = [r.job for r in self._running.values()]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs, timeout=STOP_DEADLINE)
        await self.writing.stop()
        await self.background.flush(self._settings.ocr.flush)
        await self.ocr.close()
        await self.background.drain(STOP_DEADLINE)
        await self._house.close()
        await self._stores.tasks.mark_interrupted("the server was stopped")

    def nudge(self) -> None:
        """Says that there may be a task to take."""
        self._nudged.set()

    # --- what the service asks ------------------------------------------------------------

    def control(self, task_id: str) -> Control | None:
        """The controls of a task that runs here."""
        running = self._running.get(task_id)
        return running.control if running is not None else None

    def model(self, provider: str = "") -> Model:
        """A model of a provider, for questions outside a run."""
        return self._house.build(_ignore_wait, provider)

    def providers(self) -> tuple[str, ...]:
        """Kinds of model a task may choose; the first one is the default."""
        default = self._models.provider
        return (default,) if default == "offline" else (default, "offline")

    async def device_config(self, name: str) -> DeviceConfig:
        """A device with what only this process knows of it; raises NotFound."""
        stored = await self._stores.devices.get(name)
        own = {"blocked_origins": (*stored.blocked_origins, *self._own_origins)}
        if (known := self._configured.get(name)) is not None:
            own_token = {"reset_token": known.reset_token, "reset_body": known.reset_body}
            return stored.model_copy(update={**own, **own_token})
        return stored.model_copy(update=own)

    def device(self, config: DeviceConfig) -> Device:
        """A device that is not connected yet; raises ConfigurationError."""
        return open_device(config, self._settings.appium_config(), self.secret)

    def busy(self, device: str) -> bool:
        return device in self._testing or any(r.device == device for r in self._running.values())

    def reserve(self, device: str) -> None:
        """Keeps tasks away from a device while it is tested."""
        self._testing.add(device)

    def release(self, device: str) -> None:
        self._testing.discard(device)
        self.nudge()

    def secret(self, name: str) -> str | None:
        value = self._settings.secrets.get(name) or self._settings.secrets.get(name.lower())
        return value.get_secret_value() if value is not None else None

    def reader(self) -> DiscreetOcr | None:
        """Reads pictures, without the secrets in them; None where that is switched off."""
        if not self._settings.ocr.enabled:
            return None
        return DiscreetOcr(self.ocr, hiding(self._settings.secrets))

    async def take_up(self, task: Task) -> bool:
        """Goes on with an interrupted task now; false when its device is taken."""
        if self.busy(task.spec.device):
            return False
        claimed = await self._stores.tasks.claim(task.spec.device, task_id=task.task_id)
        if claimed is not None:
            self._begin(claimed)
        return claimed is not None

    # --- taking tasks ---------------------------------------------------------------------

    async def _take_tasks(self) -> None:
        while True:
            self._nudged.clear()
            try:
                await self._take_what_waits()
            except ArtemisError:
                log.exception("taking_tasks_failed")
            try:
                async with asyncio.timeout(POLL):
                    await self._nudged.wait()
            except TimeoutError:
                continue

    async def _take_what_waits(self) -> None:
        resume = self._settings.resume_interrupted
        for device in await self._stores.tasks.waiting_devices(resume=resume):
            if self.busy(device):
                continue
            if (task := await self._stores.tasks.claim(device, resume=resume)) is not None:
                self._begin(task)

    def _begin(self, task: Task) -> None:
        control = Control()
        control.paused = task.pause_requested
        if task.cancel_requested:
            control.cancelled.set()
        job = asyncio.create_task(self._run(task, control), name=f"task {task.task_id}")
        self._running[task.task_id] = Running(control, task.spec.device, job)
        job.add_done_callback(lambda job: self._ended(task.task_id, job))

    def _ended(self, task_id: str, job: asyncio.Task[None]) -> None:
        self._running.pop(task_id, None)
        if not job.cancelled() and (error := job.exception()) is not None:
            # What the store could not be told is settled at the next start.
            log.error("task_ended_unrecorded", task=task_id, exc_info=error)
        self.nudge()

    async def _run(self, task: Task, control: Control) -> None:
        recorder = TaskRecorder(
            self._stores.db, self._stores.artifacts, task.task_id, self._publish, self._clock
        )
        try:
            await self._run_recorded(task, control, recorder)
        except ArtemisError as error:
            await recorder.record(
                TaskStateChanged(
                    state=TaskState.FAILED,
                    previous=TaskState.RUNNING,
                    reason=str(error),
                    code=error.code,
                )
            )

    async def _run_recorded(self, task: Task, control: Control, recorder: TaskRecorder) -> None:
        config = await self.device_config(task.spec.device)
        if config.retired:
            raise NotFound(f"the device {config.name} was retired")
        memory = self._settings.memory.model_copy(update=task.spec.switches)
        history = await expect_summaries(recorder, await recorder.history(), memory)
        await deliver_pending(recorder, control, len(history.steps) + 1)
        if not history.steps and config.reset_url:
            await reset_device(config)
        provider = task.spec.models or self._models.provider

        async def on_wait(waiting: ModelWaiting) -> None:
            await recorder.record(waiting)

        ocr = self.reader()
        if ocr is not None:
            self.ocr.warm()
        ports = Ports(
            device=self.device(config),
            model=self._house.build(on_wait, provider),
            recorder=recorder,
            artifacts=self._stores.artifacts,
            search=Search(self._stores.db, task.task_id),
            background=self.background,
            clock=self._clock,
            new_id=lambda: str(uuid.uuid4()),
            ocr=ocr,
        )
        rules = Rules(
            agent=self._settings.agent,
            memory=memory,
            perception=self._settings.perception,
            device=config,
            offline=provider == "offline",
            ocr=self._settings.ocr,
        )
        run = build_run(history, ports, rules, control)
        writers = self.writing.begin(run, history)
        takers: list[Callable[[StepRecord], None]] = [writers.take]
        if ocr is not None:
            texts = PictureTexts(ocr, self._stores.artifacts, recorder, self.background)
            if history.steps:
                texts.take_up(await unread_pictures(self._stores.db, task.task_id))
            takers.append(texts.take)

        def take(step: StepRecord) -> None:
            for taker in takers:
                taker(step)

        run.after_step = take
        run.background_state = writers.state
        begun = run.step_number
        try:
            await run_task(run, history)
        finally:
            # The last step of a task has no turn after it.
            for step in run.recent:
                if step.step_number >= begun:
                    take(step)
            self.writing.end(writers)


async def _ignore_wait(waiting: ModelWaiting) -> None:
    """Outside a run there is no record to write to."""
