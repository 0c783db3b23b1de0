"""A whole Artemis without its web side: store, worker and service over stand-ins on sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import SecretStr
from sqlalchemy import event

from app.domain.config import (
    AgentConfig,
    AppiumConfig,
    DeviceConfig,
    MemoryConfig,
    ModelsConfig,
    OcrConfig,
    Platform,
    RoleModel,
)
from app.domain.events import StoredEvent
from app.domain.messages import Role
from app.domain.screens import ArtifactRef
from app.domain.tasks import StepRecord, Task, TaskHistory, TaskSpec, TaskState
from app.settings import Settings, load_settings
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.devices import DeviceRepository
from app.storage.queries import Queries
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.tasks.bus import Bus
from app.tasks.service import TaskService
from app.tasks.worker import Stores, Worker
from tests.stand_ins.appium_server import StandIn
from tests.stand_ins.gemini_server import Behaviour, GeminiServer, calls, says

KEY = "AIza-integration-key-0815"
MAIN, SPARE = "gemini-3.8-flash", "gemini-3.5-flash"
ENDS = 30.0
"""Real seconds in which every task of these tests has ended."""
E = TypeVar("E")

APPIUM = AppiumConfig(call_timeout=2.0, session_timeout=3.0)


class FastClock:
    """Real time plus what was slept: a sleep costs nothing, and everybody sees it pass."""

    def __init__(self) -> None:
        self.skew = 0.0
        self.slept: list[float] = []
        self.holds: float | None = None
        """Sleeps at least this long do not end by themselves."""
        self.holding = asyncio.Event()

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.skew)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self.skew

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.holds is not None and seconds >= self.holds:
            self.holding.set()
            await asyncio.Event().wait()
        self.skew += seconds
        await asyncio.sleep(0)


class House(AbstractAsyncContextManager["House"]):
    """`async with House(folder, server, device) as house:` runs tasks as the server does."""

    def __init__(
        self,
        folder: Path,
        server: GeminiServer | None,
        device: DeviceConfig,
        *,
        agent: AgentConfig | None = None,
        memory: MemoryConfig | None = None,
        summaries: bool = False,
        appium: AppiumConfig = APPIUM,
        timeout: float = 5.0,
        max_attempts: int = 2,
        fallback: str = SPARE,
        deadline: float = 300.0,
        model_url: str = "",
        secrets: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.server = server
        self.device = device
        self.clock = FastClock()
        self.bus = Bus()
        self.settings: Settings = load_settings(
            data_dir=folder,
            appium=appium,
            agent=agent or AgentConfig(keep_alive=0.05),
            # What writes in the background would use up the script of the model's server.
            memory=(memory or MemoryConfig()).model_copy(update={"visual_step_summary": summaries}),
            ocr=OcrConfig(enabled=False),
            secrets={k: SecretStr(v) for k, v in (secrets or {}).items()},
            **settings,
        )
        role = RoleModel(model=MAIN, fallback=fallback, timeout=timeout)
        self.models = ModelsConfig(
            provider="gemini" if server else "offline",
            gemini_api_key=SecretStr(KEY),
            gemini_base_url=model_url or (server.url if server else ""),
            roles=dict.fromkeys(Role, role),
            max_attempts=max_attempts,
            deadline=deadline,
        )

    async def __aenter__(self) -> Self:
        self.db = Database(self.settings.database)
        self.artifacts = FileArtifacts(self.folder / "artifacts")
        self.commits = Commits(self.db)
        self.commits_at: list[tuple[str, int]] = []
        tasks = TaskRepository(self.db, self._publish, self.clock)
        stores = Stores(self.db, self.artifacts, tasks, DeviceRepository(self.db, self.clock))
        self.worker = Worker(
            stores, self.settings, self.models, clock=self.clock, publish=self._publish
        )
        self.service = TaskService(stores, self.worker, self.bus, self.settings, self.clock)
        self.queries = Queries(self.db, self.artifacts)
        await self.worker.start((self.device,))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.worker.stop()
        self.bus.close()
        await self.db.close()

    def _publish(self, stored: StoredEvent) -> None:
        self.commits_at.append((stored.event.type, self.commits.count))
        self.bus.publish(stored)

    # --- running ------------------------------------------------------------------------------

    async def submit(self, goal: str = "Buy the thing.", **spec: Any) -> str:
        made = TaskSpec.model_validate({"goal": goal, "device": self.device.name, **spec})
        return (await self.service.submit(made)).task_id

    async def ended(self, task_id: str) -> Task:
        task = await self.service.wait(task_id, ENDS)
        assert task.state.ended, f"{task.state} after {ENDS} s: {await self.told(task_id)}"

        async def let_go() -> bool:
            return self.worker.control(task_id) is None

        await soon(let_go)
        return task

    async def run(self, goal: str = "Buy the thing.", **spec: Any) -> Task:
        return await self.ended(await self.submit(goal, **spec))

    async def until(self, task_id: str, kind: type[E], count: int = 1) -> E:
        """Waits for the `count`-th event of a type."""

        async def happened() -> bool:
            return len(await self.events(task_id, kind)) >= count

        await soon(happened)
        return (await self.events(task_id, kind))[count - 1]

    async def in_state(self, task_id: str, state: TaskState) -> Task:

        async def reached() -> bool:
            return (await self.queries.tasks.get(task_id)).state is state

        await soon(reached)
        return await self.queries.tasks.get(task_id)

    async def request(self, number: int) -> None:
        """Waits until the model's server got that many requests."""

        async def arrived() -> bool:
            assert self.server is not None
            return len(self.server.requests) >= number

        await soon(arrived)

    async def touched(self, phone: StandIn, times: int = 1) -> None:
        """Waits until the phone was asked to do something."""

        async def asked() -> bool:
            return len(phone.sent("/actions")) >= times

        await soon(asked)

    # --- looking at what is recorded ----------------------------------------------------------

    async def stored(self, task_id: str) -> list[StoredEvent]:
        return list(await self.queries.tasks.events(task_id, after=0, limit=10_000))

    async def events(self, task_id: str, kind: type[E]) -> list[E]:
        return [s.event for s in await self.stored(task_id) if isinstance(s.event, kind)]

    async def history(self, task_id: str) -> TaskHistory:
        recorder = TaskRecorder(self.db, self.artifacts, task_id, self.bus.publish, self.clock)
        return await recorder.history()

    async def steps(self, task_id: str) -> tuple[StepRecord, ...]:
        return (await self.history(task_id)).steps

    async def told(self, task_id: str) -> str:
        """Everything a person or a program could read of a task's events."""
        texts: list[str] = []
        for stored in await self.stored(task_id):
            texts += [stored.event.type, *strings(stored.event.model_dump(mode="json"))]
        return "\n".join(texts)

    async def text(self, ref: ArtifactRef | None) -> str:
        assert ref is not None
        return (await self.artifacts.get(ref)).decode()


async def soon(holds: Callable[[], Awaitable[bool]]) -> None:
    """Returns when it holds; fails when it does not in time."""
    ends = asyncio.get_running_loop().time() + ENDS
    for _ in itertools.count():
        if await holds():
            return
        assert asyncio.get_running_loop().time() < ends, "it did not happen"
        await asyncio.sleep(0.005)


class Commits:
    """Counts write transactions as the database sees them."""

    def __init__(self, db: Database) -> None:
        self.count = 0
        assert db._sync_engine is not None
        event.listen(db._sync_engine, "commit", self._commit)

    def _commit(self, _connection: object) -> None:
        self.count += 1


def strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for part in value for text in strings(part)]
        case dict():
            return [text for part in value.values() for text in strings(part)]
        case _:
            return []


def check_record(stored: Sequence[StoredEvent], history: TaskHistory) -> None:
    """What holds of every task that has ended, whatever happened in it."""
    assert [s.seq for s in stored] == list(range(1, len(stored) + 1))
    assert history.task.state.ended
    assert [s.step_number for s in history.steps] == list(range(1, len(history.steps) + 1))
    for step in history.steps:
        assert step.state.value != "decided" and step.verdict is not None, step
    asked = _receipts(stored, "control_requested")
    assert sorted(asked) == sorted(_receipts(stored, "control_applied")), "receipts without answer"


def _receipts(stored: Sequence[StoredEvent], kind: str) -> list[str]:
    return [str(s.event.receipt_id) for s in stored if s.event.type == kind]


# --- what the model is made to say ------------------------------------------------------------

PLAN = {
    "milestones": [{"text": "The thing is bought", "state": "loop_continuous"}],
    "checks": [],
    "reason": "first",
}


def plan(*milestones: str, checks: Sequence[str] = (), state: str = "open") -> Behaviour:
    """The planner's answer; without milestones nothing keeps `finish` from being accepted."""
    if not milestones:
        return says(json.dumps(PLAN))
    lines = [{"text": text, "state": state} for text in milestones]
    found = [{"text": text, "milestone": 0} for text in checks]
    return says(json.dumps({"milestones": lines, "checks": found, "reason": "first"}))


def answer(text: str = "bought", **more: Any) -> Behaviour:
    """The outputter's answer."""
    return says(json.dumps({"answer": text, "cited_steps": [1], **more}))


_count = 0


def act(name: str, /, *, said: str = "I act.", **args: Any) -> Behaviour:
    """One call, signed with bytes that no other call of the process has."""
    global _count
    _count += 1
    return calls((name, args), text=said, signature=b"\xfb\xef\xbe\xff" + str(_count).encode())


def tap(element: int = 1) -> Behaviour:
    return act("tap", element=element)


def finish(text: str = "bought") -> Behaviour:
    return act("finish", answer=text)


# --- what the device is -----------------------------------------------------------------------


def android(url: str, **more: Any) -> DeviceConfig:
    return DeviceConfig(name="phone", platform=Platform.ANDROID, server_url=url, **more)


def ios(url: str, **more: Any) -> DeviceConfig:
    return DeviceConfig(name="phone", platform=Platform.IOS, server_url=url, **more)


def copy_template(template: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(template, folder / "artemis.db")
