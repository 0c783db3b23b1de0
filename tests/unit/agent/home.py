"""The agent with everything outside of it in memory: a phone, a model, a record that is strict."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from app.agent.control import Control
from app.agent.flow import EndTask
from app.agent.run import Ports, Rules, Run, Turn
from app.agent.runner import build_run, run_task
from app.domain.actions import DeviceAction, Outcome, Receipt
from app.domain.config import AgentConfig, DeviceConfig, MemoryConfig, PerceptionConfig, Platform
from app.domain.events import Event, StepDecided, StepFinished, TaskStateChanged
from app.domain.memory import RecallQuery, RecallResult, SearchEntry
from app.domain.messages import (
    Call,
    Finish,
    Message,
    ModelReply,
    ModelRequest,
    Part,
    Role,
    Text,
    Usage,
)
from app.domain.screens import (
    ArtifactRef,
    Bounds,
    DeviceView,
    Dialect,
    Element,
    Observation,
    Screenshot,
    Size,
    TreeStatus,
    UiSource,
    UiTree,
)
from app.domain.tasks import TRANSITIONS, Ability, Task, TaskHistory, TaskSpec, TaskState
from app.errors import ModelError, NotFound, SessionLost
from app.memory.traffic import Traffic

START = datetime(2026, 12, 1, tzinfo=UTC)
WINDOW = Size(width=1000, height=2000)
ALL = frozenset(Ability)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


def source(*texts: str) -> UiSource:
    nodes = "".join(
        f'<node class="android.widget.Button" text="{text}" package="shop" clickable="true" '
        f'bounds="[0,{i * 100}][1000,{i * 100 + 90}]"/>'
        for i, text in enumerate(texts)
    )
    return UiSource(dialect=Dialect.UIAUTOMATOR2, text=f"<hierarchy>{nodes}</hierarchy>")


class Phone:
    """Shows the next page after every action that it takes; what is queued happens first."""

    def __init__(self, *, abilities: frozenset[Ability] = ALL, moves: bool = True) -> None:
        self.abilities = abilities
        self.moves = moves
        self.page = 0
        self.performed: list[DeviceAction] = []
        self.receipts: deque[Receipt | SessionLost] = deque()
        self.views: deque[DeviceView | SessionLost] = deque()
        self.opens: deque[Exception] = deque()
        self.opened = self.closed = self.kept_alive = 0
        self.shells: list[Sequence[str]] = []

    name = "phone"
    description = "phone: in memory"
    apps: dict[str, str] = {"Shop": "com.shop"}  # noqa: RUF012 - read only

    async def open(self) -> None:
        if self.opens:
            raise self.opens.popleft()
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    def view(self, **changes: Any) -> DeviceView:
        plain: dict[str, Any] = {
            "taken_at": START,
            "source": source("Next", f"Page {self.page}", "Send order"),
            "screenshot_problem": "none in memory",
            "window": WINDOW,
            "package": "shop",
            "activity": ".Main",
        }
        return DeviceView.model_validate(plain | changes)

    async def observe(self) -> DeviceView:
        if self.views:
            view = self.views.popleft()
            if isinstance(view, SessionLost):
                raise view
            return view
        return self.view()

    async def glance(self) -> Screenshot | None:
        return None

    async def perform(self, action: DeviceAction) -> Receipt:
        self.performed.append(action)
        receipt = self.receipts.popleft() if self.receipts else Receipt(outcome=Outcome.OK)
        if isinstance(receipt, SessionLost):
            raise receipt
        self.page += self.moves and receipt.outcome is Outcome.OK
        return receipt

    async def shell(self, command: Sequence[str]) -> str:
        self.shells.append(command)
        return "uptime: 1 day"

    async def keep_alive(self) -> None:
        self.kept_alive += 1


def says(text: str, finish: Finish = Finish.STOP) -> ModelReply:
    return reply(Text(text=text), finish=finish)


def calls(*made: tuple[str, dict[str, Any]], said: str = "") -> ModelReply:
    parts: list[Part] = [Text(text=said)] if said else []
    return reply(*parts, *(Call(id=f"c{i}", name=n, args=a) for i, (n, a) in enumerate(made)))


def call(name: str, **args: Any) -> ModelReply:
    return calls((name, args))


def reply(*parts: Part, finish: Finish = Finish.STOP) -> ModelReply:
    message = Message(role="model", parts=parts)
    usage = Usage(prompt=100, output=10)
    return ModelReply(message=message, finish=finish, provider="memory", model="m", usage=usage)


def plan_of(*milestones: str, checks: Sequence[str] = (), state: str = "open") -> ModelReply:
    lines = [{"text": t, "state": state} for t in milestones or ("The thing is bought",)]
    body = {"milestones": lines, "checks": [{"text": c, "milestone": 0} for c in checks]}
    return says(json.dumps(body))


NOTHING_OPEN = plan_of(state="loop_continuous")


class Talker:
    """Answers each role from its own queue; the operator's last word is `finish`."""

    def __init__(self, *operator: ModelReply | ModelError, plan: ModelReply = NOTHING_OPEN) -> None:
        self.operator = deque(operator)
        self.others: dict[Role, deque[ModelReply | ModelError]] = {Role.PLANNER: deque([plan])}
        self.requests: list[ModelRequest] = []

    def asked(self, role: Role) -> list[ModelRequest]:
        return [r for r in self.requests if r.role is role]

    def prompt(self, number: int) -> str:
        """The operator's `number`-th request as text."""
        return "\n".join(m.plain() for m in self.asked(Role.OPERATOR)[number].messages)

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        await asyncio.sleep(0)
        found = self._next(request.role)
        if isinstance(found, ModelError):
            raise found
        return found

    def _next(self, role: Role) -> ModelReply | ModelError:
        if role is Role.OPERATOR:
            return self.operator.popleft() if self.operator else call("finish", answer="bought")
        queue = self.others.get(role)
        if queue:
            return queue.popleft()
        usual = {
            Role.ANALYZER: {"diagnosis": "unclear", "recovery": "none"},
            Role.OUTPUTTER: {"answer": "bought", "cited_steps": [1]},
            Role.PLANNER: {"milestones": [{"text": "Again", "state": "open"}], "checks": []},
        }
        return says(json.dumps(usual[role]))


class Record:
    """Keeps events and refuses what no store would take."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.writes = 0
        self.state = TaskState.RUNNING
        self.open_step = 0
        self.steps = 0
        self.index: list[SearchEntry] = []

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        self.writes += 1
        self.index.extend(index)
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        assert not self.state.ended, f"{event.type} after the end"
        match event:
            case TaskStateChanged(previous=previous, state=state):
                assert previous is self.state and state in TRANSITIONS[previous]
                assert not (state.ended and self.open_step), "ended with an open step"
                self.state = state
            case StepDecided(step_number=number):
                assert (self.open_step, number) == (0, self.steps + 1)
                self.open_step = self.steps = number
            case StepFinished(step_number=number):
                assert number == self.open_step
                self.open_step = 0
        self.events.append(type(event).model_validate_json(event.model_dump_json()))

    async def history(self) -> TaskHistory:
        raise NotImplementedError

    def of(self, kind: type[Any]) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind)]


class Shelf:
    """Artifacts in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        digest = hashlib.sha256(data).hexdigest()
        self.kept[digest] = data
        return ArtifactRef(sha256=digest, media_type=media_type, size=len(data))

    async def get(self, ref: ArtifactRef) -> bytes:
        if ref.sha256 not in self.kept:
            raise NotFound("no such artifact")
        return self.kept[ref.sha256]


class NothingFound:
    async def search(self, query: RecallQuery) -> RecallResult:
        return RecallResult()


class NoBackground:
    def submit(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        raise AssertionError("nothing is submitted here")


class Home:
    """One task, from its goal to its end."""

    def __init__(
        self,
        talker: Talker | None = None,
        phone: Phone | None = None,
        *,
        agent: AgentConfig | None = None,
        memory: MemoryConfig | None = None,
        device: DeviceConfig | None = None,
        **spec: Any,
    ) -> None:
        self.talker = talker or Talker()
        self.phone = phone or Phone()
        self.record = Record()
        self.shelf = Shelf()
        self.clock = Clock()
        self.control = Control()
        numbers = itertools.count(1)
        ports = Ports(
            device=self.phone,
            model=self.talker,
            recorder=self.record,
            artifacts=self.shelf,
            search=NothingFound(),
            background=NoBackground(),
            clock=self.clock,
            new_id=lambda: f"id{next(numbers)}",
        )
        rules = Rules(
            agent=agent or AgentConfig(keep_alive=0.01),
            memory=memory or MemoryConfig(),
            perception=PerceptionConfig(),
            device=device or DeviceConfig(name="phone", platform=Platform.ANDROID),
        )
        made = TaskSpec.model_validate({"goal": "Buy the thing.", "device": "phone", **spec})
        task = Task(task_id="t1", spec=made, state=TaskState.RUNNING, created_at=START)
        self.history = TaskHistory(task=task)
        self.run: Run = build_run(self.history, ports, rules, self.control)

    async def to_end(self) -> EndTask:
        end = await run_task(self.run, self.history)
        assert self.record.state is end.state and self.phone.closed
        return end

    def in_turn(self, seen: Observation | None = None) -> Turn:
        """Puts the run into a turn, for tests of one part."""
        self.run.turn = Turn(
            step_number=self.run.step_number,
            step_id="s1",
            offset=0.0,
            observation=seen or observation(),
            traffic=Traffic(self.run.rules.memory, self.run.transcript.counter, 0),
        )
        return self.run.turn


def element(index: int, text: str = "", **more: Any) -> Element:
    top = index * 100
    box = Bounds(left=0, top=top, right=1000, bottom=top + 90)
    return Element(index=index, text=text, bounds=box, role="button", clickable=True, **more)


def observation(*elements: Element, **more: Any) -> Observation:
    shown = elements or (element(0, "Next"), element(1, "Page 0"), element(2, "Send order"))
    plain: dict[str, Any] = {
        "observation_id": "o1",
        "taken_at": START,
        "tree": UiTree(status=TreeStatus.OK, elements=shown),
        "window": WINDOW,
        "content_hash": "c",
        "signature": "s",
    }
    return Observation.model_validate(plain | more)
