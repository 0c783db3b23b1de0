"""The tables. They carry rows only: domain values are separate types, converted in storage.

Longer than 300 lines: one list of tables is easier to read than several.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    text,
)
from sqlmodel import Field, SQLModel

from app.storage.types import CleanText, Document, UtcDateTime

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""SQLite can only drop a constraint that has a name."""

# SQLite numbers rows by itself only in a column that is INTEGER to the letter.
Number = BigInteger().with_variant(Integer(), "sqlite")
ACTIVE = "state IN ('running', 'paused', 'waiting')"


class Row(SQLModel):
    """Base of all tables."""

    metadata: ClassVar[MetaData] = MetaData(naming_convention=NAMES)


def of_task(*primary_key: str) -> tuple[PrimaryKeyConstraint | ForeignKeyConstraint, ...]:
    """The keys of a table whose rows belong to a task and vanish with it."""
    owner = ForeignKeyConstraint(["task_id"], ["task.task_id"], ondelete="CASCADE")
    return (PrimaryKeyConstraint("task_id", *primary_key), owner) if primary_key else (owner,)


def document(**options: Any) -> Any:
    return Field(sa_type=Document, **options)


def string(**options: Any) -> Any:
    return Field(sa_type=CleanText, **options)


def moment(**options: Any) -> Any:
    return Field(sa_type=UtcDateTime, **options)


class TaskRow(Row, table=True):
    __tablename__ = "task"
    __table_args__ = (
        Index("ix_task_state_device", "state", "device"),
        Index(
            "uq_task_device_active",
            "device",
            unique=True,
            sqlite_where=text(ACTIVE),
            postgresql_where=text(ACTIVE),
        ),
    )

    number: int = Field(sa_type=Number, primary_key=True)
    """Order of submission; also the upper half of its search entries' ids."""
    task_id: str = string(unique=True)
    idempotency_key: str | None = string(unique=True, nullable=True)
    spec: str = document()
    goal: str = string()
    device: str = string()
    state: str = string()
    reason: str = string()
    code: str = string()
    answer: str = string()
    answer_data: str | None = document(nullable=True)
    cited_steps: str = document()
    steps: int
    prompt_tokens: int = Field(sa_type=BigInteger)
    cached_tokens: int = Field(sa_type=BigInteger)
    thinking_tokens: int = Field(sa_type=BigInteger)
    output_tokens: int = Field(sa_type=BigInteger)
    cost_usd: float
    unpriced_calls: int
    created_at: datetime = moment()
    started_at: datetime | None = moment(nullable=True)
    ended_at: datetime | None = moment(nullable=True)
    updated_at: datetime = moment()
    """When its newest event was stored."""
    running_since: datetime | None = moment(nullable=True)
    seconds_spent: float
    """In state running, without what has passed since `running_since`."""
    last_seq: int
    cancel_requested: bool
    pause_requested: bool
    offline: bool
    stable_ref: str | None = document(nullable=True)
    frozen_ref: str | None = document(nullable=True)
    frozen_through: int
    turn: int
    """The step number of the newest observation."""
    observation: str | None = document(nullable=True)
    """The newest observation, also when no step came of it."""
    search_entries: int


class StepRow(Row, table=True):
    __tablename__ = "step"
    __table_args__ = (*of_task("step_number"),)

    task_id: str = string()
    step_number: int
    step_id: str = string(unique=True)
    state: str = string()
    verdict: str | None = string(nullable=True)
    verdict_reason: str = string()
    started_at: datetime = moment()
    offset: float
    decided_at: datetime = moment()
    ended_at: datetime | None = moment(nullable=True)
    plan_revision: int
    subgoal_hash: str = string()
    action_type: str = string()
    action: str | None = document(nullable=True)
    action_text: str = string()
    thinking: str = string()
    native_thinking: str = string()
    app: str = string()
    page: str = string()
    observation: str = document()
    after: str | None = document(nullable=True)
    messages_ref: str | None = document(nullable=True)
    receipt: str | None = document(nullable=True)
    diff: str | None = document(nullable=True)
    recoveries: str = document()
    remembered: str = document()
    notes: str = document()
    tools: str = document()
    world: str | None = document(nullable=True)
    irreversible: bool
    approved_by: str = string()


class EventRow(Row, table=True):
    __tablename__ = "event"
    __table_args__ = (*of_task("seq"), Index("ix_event_task_id_type", "task_id", "type", "seq"))

    task_id: str = string()
    seq: int
    at: datetime = moment()
    type: str = string()
    step_number: int | None = Field(nullable=True)
    event: str = document()


class ModelCallRow(Row, table=True):
    __tablename__ = "model_call"
    __table_args__ = (
        *of_task("seq"),
        Index("ix_model_call_task_id_step_number", "task_id", "step_number"),
        Index("ix_model_call_at", "at"),
    )

    task_id: str = string()
    seq: int
    call_id: str = string(index=True)
    at: datetime = moment()
    step_number: int
    role: str = string()
    provider: str = string()
    model: str = string()
    offline: bool
    outcome: str = string()
    detail: str = string()
    prompt_tokens: int
    cached_tokens: int
    thinking_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(nullable=True)
    seconds: float
    first_token_seconds: float | None = Field(nullable=True)
    attempts: int
    fallback: str = string()
    first_of_turn: bool
    waits: int
    figures: str | None = document(nullable=True)
    prompt_ref: str | None = document(nullable=True)
    reply_ref: str | None = document(nullable=True)


class ArtifactRow(Row, table=True):
    __tablename__ = "artifact"

    sha256: str = string(primary_key=True)
    media_type: str = string()
    size: int = Field(sa_type=BigInteger)
    created_at: datetime = moment()


class TaskArtifactRow(Row, table=True):
    """Which task needs which artifact; one that no task needs is deleted."""

    __tablename__ = "task_artifact"
    __table_args__ = (
        *of_task("sha256"),
        ForeignKeyConstraint(["sha256"], ["artifact.sha256"]),
        Index("ix_task_artifact_sha256", "sha256"),
    )

    task_id: str = string()
    sha256: str = string()


class PlanRevisionRow(Row, table=True):
    __tablename__ = "plan_revision"
    __table_args__ = of_task("revision")

    task_id: str = string()
    revision: int
    step_number: int
    at: datetime = moment()
    plan: str = document()


class RequiredCheckRow(Row, table=True):
    __tablename__ = "required_check"
    __table_args__ = of_task("number")

    task_id: str = string()
    number: int
    text: str = string()
    milestone: int
    closed_by_step: int | None = Field(nullable=True)


class NoteRow(Row, table=True):
    __tablename__ = "note"
    __table_args__ = of_task("key")

    task_id: str = string()
    key: str = string()
    place: int = Field(sa_type=BigInteger)
    """Order in which the keys were first written."""
    text: str = string()
    step_number: int


class RememberedRow(Row, table=True):
    __tablename__ = "remembered"
    __table_args__ = of_task("key")

    task_id: str = string()
    key: str = string()
    place: int = Field(sa_type=BigInteger)
    value: str = string()
    step_number: int


class InstructionRow(Row, table=True):
    __tablename__ = "instruction"
    __table_args__ = of_task("number")

    task_id: str = string()
    number: int
    text: str = string()
    step_number: int
    receipt_id: str = string()


class QuestionRow(Row, table=True):
    __tablename__ = "question"
    __table_args__ = of_task("question_id")

    task_id: str = string()
    question_id: str = string()
    place: int
    """The number of the event that asked it."""
    kind: str = string()
    text: str = string()
    step_number: int
    asked_at: datetime = moment()
    answer: str | None = string(nullable=True)
    approved: bool | None = Field(nullable=True)
    answered_by: str = string()
    answered_at: datetime | None = moment(nullable=True)
    answered_place: int | None = Field(nullable=True)
    answered_step: int | None = Field(nullable=True)


class StepSummaryRow(Row, table=True):
    """The state of a step's summary; its texts are versions."""

    __tablename__ = "step_summary"
    __table_args__ = (*of_task("step_number"), Index("ix_step_summary_status", "status"))

    task_id: str = string()
    step_number: int
    step_id: str = string()
    status: str = string()
    version: int
    """The newest one; 0 while there is none."""
    attempts: int
    refusals: str = document()
    """Of the last attempts."""
    reason: str = string()
    changed_at: datetime = moment()


class SummaryVersionRow(Row, table=True):
    """One text of a step's summary; appended, never changed."""

    __tablename__ = "summary_version"
    __table_args__ = (*of_task("step_number", "version"),)

    task_id: str = string()
    step_number: int
    version: int
    at: datetime = moment()
    summary: str = document()


class ChunkRow(Row, table=True):
    """A closed range of steps with its newest capsule."""

    __tablename__ = "chunk"
    __table_args__ = (*of_task("start_step"), Index("ix_chunk_state", "state"))

    task_id: str = string()
    start_step: int
    end_step: int
    chunk_id: str = string()
    state: str = string()
    version: int
    changed_at: datetime = moment()
    chunk: str = document()


class ChunkVersionRow(Row, table=True):
    """One capsule of a chunk; appended, never changed."""

    __tablename__ = "chunk_version"
    __table_args__ = (*of_task("start_step", "version"),)

    task_id: str = string()
    start_step: int
    version: int
    at: datetime = moment()
    chunk: str = document()


class DeviceRow(Row, table=True):
    __tablename__ = "device"

    name: str = string(primary_key=True)
    platform: str = string()
    config: str = document()
    """Without secrets."""
    configured: bool
    """From the settings, not added by a person."""
    retired: bool
    updated_at: datetime = moment()


class SearchEntryRow(Row, table=True):
    """One text to be found. `search_fts` (SQLite) and `search_vector` (PostgreSQL) index it.

    Ids are given by the store: the task's number in the upper 32 bits, so that one task's
    entries are one range of the index.
    """

    __tablename__ = "search_entry"
    __table_args__ = (
        *of_task(),
        Index("ix_search_entry_task_id_step_number", "task_id", "step_number"),
    )

    id: int = Field(sa_type=Number, primary_key=True, sa_column_kwargs={"autoincrement": False})
    task_id: str = string()
    step_number: int
    kind: str = string()
    text: str = string()
    search_text: str = string()


metadata = Row.metadata


def _table(row: type[Row]) -> Table:
    return metadata.tables[str(row.__tablename__)]


task = _table(TaskRow)
step = _table(StepRow)
event = _table(EventRow)
model_call = _table(ModelCallRow)
artifact = _table(ArtifactRow)
task_artifact = _table(TaskArtifactRow)
plan_revision = _table(PlanRevisionRow)
required_check = _table(RequiredCheckRow)
note = _table(NoteRow)
remembered = _table(RememberedRow)
instruction = _table(InstructionRow)
question = _table(QuestionRow)
step_summary = _table(StepSummaryRow)
summary_version = _table(SummaryVersionRow)
chunk = _table(ChunkRow)
chunk_version = _table(ChunkVersionRow)
device = _table(DeviceRow)
search_entry = _table(SearchEntryRow)
