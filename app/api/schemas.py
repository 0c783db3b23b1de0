"""Bodies and answers of the API that are not domain values themselves."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.domain.config import DeviceConfig, Platform
from app.domain.events import StoredEvent
from app.domain.memory import WorldState
from app.domain.messages import JsonObject
from app.domain.tasks import Approval, Limits, ModelCallRecord, StepRecord, Task, TaskSpec
from app.storage.queries import DeviceUse, DiskUse, RememberedValue, SummaryView
from app.storage.queries import Health as HealthFigures

MAX_NUMBER = 1_000_000


class Body(BaseModel):
    """A request body; unknown fields are refused so that a typo never vanishes."""

    model_config = ConfigDict(extra="forbid")


class TaskBody(Body):
    """What to do."""

    goal: str = Field(min_length=1, max_length=20_000, examples=["open Settings; check “Wi-Fi”"])
    device: str = Field(min_length=1, max_length=100)
    limits: Limits | None = None
    """Left out: the configured ones."""
    approval: Approval = Approval.NEVER
    answer_schema: JsonObject | None = None
    switches: dict[str, bool] = Field(default_factory=dict)
    models: str = Field(default="", max_length=20)

    def spec(self, defaults: Limits) -> TaskSpec:
        values = self.model_dump(exclude={"limits"})
        return TaskSpec(**values, limits=self.limits or defaults)


class InstructionBody(Body):
    text: str = Field(min_length=1, max_length=5_000)
    """Kept word for word; the agent hears it at the next turn."""


class AnswerBody(Body):
    question_id: str = Field(min_length=1, max_length=100)
    text: str = Field(min_length=1, max_length=5_000)


class DecisionBody(Body):
    question_id: str = Field(min_length=1, max_length=100)
    approved: bool


class QuestionBody(Body):
    question: str = Field(min_length=1, max_length=5_000)


class ReceiptAnswer(BaseModel):
    """A control was delivered; the events of the task say what becomes of it."""

    receipt_id: str


class TaskPage(BaseModel):
    tasks: list[Task]
    next_cursor: str = ""
    """Give it as `cursor` for the next page; empty at the end."""
    total: int
    """Tasks that pass the filters."""


class EventPage(BaseModel):
    events: list[StoredEvent]
    last_seq: int
    """Number of the task's newest event."""


class StepPage(BaseModel):
    steps: list[StepRecord]
    next_after: int | None = None
    """Give it as `after` for the next page; null at the end."""


class CallPage(BaseModel):
    calls: list[ModelCallRecord]


class WorldAnswer(BaseModel):
    """What the agent believes; advisory, never a fact."""

    world: WorldState | None
    remembered: list[RememberedValue]


class RejectionBody(Body):
    """Texts about steps that are not accepted."""

    steps: list[Annotated[int, Field(ge=1, le=MAX_NUMBER)]] = Field(
        default_factory=list, max_length=200
    )
    """Whose summaries are written anew."""
    chunk: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    """A step of the chunk whose capsule is written anew."""
    reason: str = Field(default="", max_length=300)


class SummaryPage(BaseModel):
    summaries: list[SummaryView]
    """Each with its newest version."""
    next_after: int | None = None
    """Give it as `after` for the next page; null at the end."""


class HistoryAnswer(BaseModel):
    answer: str
    cited_steps: list[int]


class DeviceBody(Body):
    """A device as added by a person."""

    platform: Platform = Platform.CHROMIUM
    server_url: str = Field(default="http://127.0.0.1:4723", max_length=500)
    capabilities: JsonObject = Field(default_factory=dict)
    apps: dict[str, str] = Field(default_factory=dict)
    home: str = Field(default="", max_length=2_000)
    shell: bool = False
    allowed_apps: tuple[str, ...] = ()
    blocked_origins: tuple[str, ...] = ()
    replay_path: str = Field(default="", max_length=1_000)

    def config(self, name: str) -> DeviceConfig:
        return DeviceConfig(name=name, **self.model_dump())


class DeviceAnswer(DeviceBody):
    """A device, without its secrets, and what holds it."""

    name: str
    retired: bool
    configured: bool
    """From the settings file, so not to be changed here."""
    busy_with: str | None
    """Id of the task that holds it."""
    queued: int
    """Tasks that wait for it."""

    @classmethod
    def of(cls, use: DeviceUse) -> DeviceAnswer:
        shown = {*DeviceBody.model_fields, "name", "retired"}
        values: dict[str, Any] = use.device.model_dump(include=shown)
        return cls(
            **values,
            configured=use.configured,
            busy_with=use.task.task_id if use.task else None,
            queued=use.queued,
        )


class DeviceTestAnswer(BaseModel):
    """A real session was opened, looked at and closed."""

    ok: bool
    seconds: float
    description: str
    problem: str
    screenshot_base64: str | None = None


class OpenAddress(BaseModel):
    path: str
    """On this server; a browser that opens it is signed in. Works once."""


class Ready(BaseModel):
    status: str
    version: str
    problems: list[str] = Field(default_factory=list)


class Health(BaseModel):
    """What the service is doing."""

    version: str
    viewers: int
    """Live viewers of tasks."""
    providers: list[str]
    figures: HealthFigures
    disk: DiskUse


class ImportBody(Body):
    """A recording in the data directory."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """Of its folder; `artemis import` lays it in."""


class ImportAnswer(BaseModel):
    """What is still to be done for an imported run."""

    task: str
    pictures: int
    """Whose text is not read yet."""
    problem: str
    """Why they will not be read; empty while they can be."""
    writing: bool
    """Summaries and capsules are being written."""
    settled: bool
    """Nothing more will be done."""
