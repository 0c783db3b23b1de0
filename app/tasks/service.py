"""The only door to tasks: what api, console and command line may ask for."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Literal

from app.agent import history
from app.agent.control import Control, Reply
from app.domain.config import DeviceConfig
from app.domain.events import ControlApplied, ControlRequested, TaskStateChanged
from app.domain.memory import RecallQuery, RecallResult
from app.domain.ports import Clock
from app.domain.tasks import Limits, Task, TaskSpec, TaskState
from app.errors import Conflict, InvalidInput, NotFound
from app.storage.deletion import delete_task
from app.storage.recorder import TaskRecorder
from app.storage.search import Search
from app.tasks.bus import Bus, Lagged, Subscription
from app.tasks.device_test import DeviceTest, test_session
from app.tasks.submission import check_spec
from app.tasks.worker import Stores, Worker
from app.tasks.writing import Rejection

TEST_DEADLINE = 120.0
"""Seconds for testing a device."""
RECHECK = 1.0
"""Seconds between looks at a task that another process may change."""

ControlName = Literal["pause", "resume", "cancel", "inject", "answer", "approve", "deny", "look"]


class TaskService:
    """Submits, controls, asks about and deletes tasks; adds, tests and retires devices."""

    def __init__(
        self, stores: Stores, worker: Worker, bus: Bus, limits: Limits, clock: Clock
    ) -> None:
        self._stores = stores
        self._worker = worker
        self._limits = limits
        self._clock = clock
        self.bus = bus

    # --- submitting -----------------------------------------------------------------------

    async def submit(self, spec: TaskSpec, *, idempotency_key: str = "", by: str = "") -> Task:
        """Queues a task; the same key again gives the same task.

        Raises InvalidInput, or Conflict when the key was used for something else.
        """
        check_spec(spec, self._worker.providers())
        try:
            device = await self._stores.devices.get(spec.device)
        except NotFound:
            known = ", ".join(d.name for d in await self._stores.devices.list()) or "none"
            raise InvalidInput(
                f"there is no device {spec.device!r}", hint=f"devices: {known}"
            ) from None
        if device.retired:
            raise InvalidInput(f"the device {device.name} was retired", hint="choose another one")
        created = await self._stores.tasks.create(uuid.uuid4().hex[:12], spec, key=idempotency_key)
        self._worker.nudge()
        return created.task

    async def run_again(self, task_id: str, *, by: str = "") -> Task:
        """Submits the same task anew."""
        task = await self._stores.tasks.get(task_id)
        return await self.submit(task.spec, by=by)

    def defaults(self) -> Limits:
        """Limits of a task that names none."""
        return self._limits

    def providers(self) -> tuple[str, ...]:
        """Kinds of model a task may choose; the first one is the default."""
        return self._worker.providers()

    # --- controls -------------------------------------------------------------------------

    async def pause(self, task_id: str, *, by: str = "") -> str:
        """Pauses at the next turn; gives the receipt id."""
        control = await self._running(task_id, "be paused")
        if control.paused:
            raise Conflict("the task is paused already or about to be")
        receipt = await self._request(task_id, "pause", by=by)
        control.pause(receipt)
        return receipt

    async def resume(self, task_id: str, *, by: str = "") -> str:
        """Goes on with a paused task, or takes an interrupted one up again."""
        task = await self._stores.tasks.get(task_id)
        if task.state is TaskState.INTERRUPTED:
            return await self._take_up(task, by)
        control = await self._running(task_id, "be resumed")
        if not control.paused:
            raise Conflict("the task is not paused")
        receipt = await self._request(task_id, "resume", by=by)
        control.resume(receipt)
        return receipt

    async def cancel(self, task_id: str, *, by: str = "") -> str:
        """Ends a task; a model call is aborted at once, an action in flight is not."""
        receipt = await self._request(task_id, "cancel", by=by)
        control = self._worker.control(task_id)
        if control is not None:
            control.cancel(receipt)
            return receipt
        task = await self._stores.tasks.get(task_id)
        if task.state in (TaskState.QUEUED, TaskState.INTERRUPTED):
            await self._recorder(task_id).record(
                ControlApplied(
                    receipt_id=receipt, control="cancel", applied=True, step_number=task.steps
                ),
                TaskStateChanged(
                    state=TaskState.CANCELLED,
                    previous=task.state,
                    reason="cancelled by a person",
                ),
            )
        return receipt

    async def inject(self, task_id: str, text: str, *, by: str = "") -> str:
        """Tells the agent something; applied word for word at the next turn."""
        if not text.strip():
            raise InvalidInput("there is nothing to say", hint="write what the agent should know")
        if len(text) > 5_000:
            raise InvalidInput("an instruction holds at most 5,000 characters")
        control = await self._running(task_id, "be told something")
        receipt = await self._request(task_id, "inject", text=text, by=by)
        control.inject(receipt, text)
        return receipt

    async def look(self, task_id: str, *, by: str = "") -> str:
        """A fresh observation at the next turn."""
        control = await self._running(task_id, "take a look")
        receipt = await self._request(task_id, "look", by=by)
        control.look(receipt)
        return receipt

    async def answer(self, task_id: str, question_id: str, text: str, *, by: str = "") -> str:
        """Answers the open question of a waiting task."""
        if not text.strip():
            raise InvalidInput("the answer is empty")
        control = await self._asking(task_id, question_id, "question")
        receipt = await self._request(task_id, "answer", text=text, by=by)
        control.reply(question_id, Reply(receipt, text, None, by))
        return receipt

    async def decide(self, task_id: str, question_id: str, approved: bool, *, by: str = "") -> str:
        """Approves or denies the action a waiting task asks about."""
        control = await self._asking(task_id, question_id, "approval")
        receipt = await self._request(task_id, "approve" if approved else "deny", by=by)
        control.reply(question_id, Reply(receipt, "", approved, by))
        return receipt

    # --- asking ---------------------------------------------------------------------------

    async def wait(self, task_id: str, seconds: float) -> Task:
        """The task when it has ended, or as it is after that many seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        with self.bus.subscribe(task_id) as events:
            while True:
                task = await self._stores.tasks.get(task_id)
                left = until - loop.time()
                if task.state.ended or left <= 0:
                    return task
                try:
                    async with asyncio.timeout(min(left, RECHECK)):
                        if not await _state_changed(events):
                            return task
                except (TimeoutError, Lagged):
                    continue

    async def recall(self, task_id: str, query: RecallQuery) -> RecallResult:
        """The same recall that the operator's tool uses."""
        await self._stores.tasks.get(task_id)
        return await Search(self._stores.db, task_id).search(query)

    async def ask_history(self, task_id: str, question: str) -> history.HistoryAnswer:
        """An open question about what happened, answered from records with their steps."""
        if not question.strip():
            raise InvalidInput("the question is empty")
        task = await self._stores.tasks.get(task_id)
        model = self._worker.model(task.spec.models)
        search = Search(self._stores.db, task_id)
        return await history.ask(search, model, task_id, question[:2_000])

    async def resummarise(
        self,
        task_id: str,
        *,
        steps: Sequence[int] = (),
        chunk: int | None = None,
        reason: str = "",
        by: str = "",
    ) -> None:
        """Has the summaries of steps, or the capsule of a step's chunk, written anew.

        What is there serves until then. Raises NotFound, or Conflict for what is still pending.
        """
        if not steps and chunk is None:
            raise InvalidInput("nothing is rejected", hint="name steps or a chunk")
        await self._stores.tasks.get(task_id)
        told = f"rejected by {by or 'a reviewer'}{f': {reason}' if reason else ''}"
        rejection = Rejection(tuple(dict.fromkeys(steps)), chunk)
        await self._worker.writing.reject(task_id, rejection, told)

    async def delete(self, task_id: str) -> None:
        """Removes a task with everything only it needs; raises Conflict while it is active."""
        task = await self._stores.tasks.get(task_id)
        if task.state.active:
            raise Conflict(f"the task is {task.state.value}", hint="cancel it first")
        await delete_task(self._stores.db, self._stores.artifacts, task_id)

    # --- devices --------------------------------------------------------------------------

    async def add_device(self, config: DeviceConfig) -> None:
        """Adds or changes a device; raises InvalidInput, ConfigurationError."""
        self._worker.device(config)
        await self._stores.devices.put(config)

    async def retire_device(self, name: str) -> None:
        if self._worker.busy(name):
            raise Conflict(f"{name} is busy", hint="wait for its task, or cancel it")
        await self._stores.devices.retire(name)

    async def test_device(self, name: str) -> DeviceTest:
        """Opens a real session and takes one look; raises Conflict when the device is busy."""
        config = await self._worker.device_config(name)
        if self._worker.busy(name):
            raise Conflict(f"{name} is busy with a task or a test")
        self._worker.reserve(name)
        try:
            async with asyncio.timeout(TEST_DEADLINE):
                return await test_session(self._worker.device(config), self._clock)
        except TimeoutError:
            problem = f"no answer within {TEST_DEADLINE:.0f} s"
            return DeviceTest(False, TEST_DEADLINE, "", problem, None)
        finally:
            self._worker.release(name)

    # --- parts ----------------------------------------------------------------------------

    def _recorder(self, task_id: str) -> TaskRecorder:
        return TaskRecorder(
            self._stores.db, self._stores.artifacts, task_id, self.bus.publish, self._clock
        )

    async def _request(
        self, task_id: str, control: ControlName, *, text: str = "", by: str = ""
    ) -> str:
        receipt = str(uuid.uuid4())
        await self._stores.tasks.request(
            task_id, ControlRequested(receipt_id=receipt, control=control, text=text, by=by)
        )
        return receipt

    async def _running(self, task_id: str, what: str) -> Control:
        task = await self._stores.tasks.get(task_id)
        control = self._worker.control(task_id)
        if not task.state.active or control is None:
            raise Conflict(f"a task that is {task.state.value} cannot {what}")
        return control

    async def _asking(self, task_id: str, question_id: str, kind: str) -> Control:
        control = await self._running(task_id, "be answered")
        if control.open_question != (question_id, kind):
            raise Conflict(f"this {kind} is not open")
        return control

    async def _take_up(self, task: Task, by: str) -> str:
        """Claims an interrupted task for this process."""
        receipt = await self._request(task.task_id, "resume", by=by)
        if not await self._worker.take_up(task):
            await self._recorder(task.task_id).record(
                ControlApplied(
                    receipt_id=receipt,
                    control="resume",
                    applied=False,
                    step_number=task.steps,
                    reason="its device is busy",
                )
            )
            raise Conflict(f"the device {task.spec.device} is busy")
        return receipt


async def _state_changed(events: Subscription) -> bool:
    """Waits for a change of state; false when the bus is closed."""
    async for stored in events:
        if isinstance(stored.event, TaskStateChanged):
            return True
    return False
