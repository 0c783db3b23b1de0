"""The form for a new task: what a person typed, and the task it asks for."""

from __future__ import annotations

import json
import secrets
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.tasks import Approval, Limits, TaskSpec
from app.errors import ArtemisError, InvalidInput


class TaskForm(BaseModel):
    """Everything as typed, so that a refused form comes back as it was."""

    model_config = ConfigDict(extra="ignore")

    goal: str = Field(default="", max_length=25_000)
    device: str = Field(default="", max_length=200)
    models: str = Field(default="", max_length=40)
    approval: str = Field(default=Approval.NEVER.value, max_length=40)
    steps: str = Field(default="", max_length=20)
    minutes: str = Field(default="", max_length=20)
    tokens: str = Field(default="", max_length=20)
    cost_usd: str = Field(default="", max_length=20)
    answer_schema: str = Field(default="", max_length=50_000)
    idempotency_key: str = Field(default_factory=lambda: secrets.token_urlsafe(12), max_length=100)
    """A form sent twice by a double click makes one task."""
    problem: str = Field(default="", exclude=True)
    problem_field: str = Field(default="", exclude=True)

    def __init__(self, *, limits: Limits | None = None, **values: Any) -> None:
        if limits is not None:
            values.setdefault("steps", str(limits.steps))
            values.setdefault("minutes", f"{limits.seconds / 60:g}")
            values.setdefault("tokens", str(limits.tokens))
            values.setdefault("cost_usd", f"{limits.cost_usd:g}")
        super().__init__(**values)

    def with_problem(self, error: ArtemisError) -> TaskForm:
        """The same form, saying what is wrong and where."""
        name = getattr(error, "field", "") or _field_named_in(str(error))
        return self.model_copy(update={"problem": str(error), "problem_field": name})

    @property
    def more_open(self) -> bool:
        """The folded part holds what must be mended."""
        return self.problem_field in ("steps", "minutes", "tokens", "cost_usd", "answer_schema")


class WrongField(InvalidInput):
    """A field of the form cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def spec_of(form: TaskForm) -> TaskSpec:
    """The task a form asks for; raises WrongField."""
    if not form.goal.strip():
        raise WrongField("goal", "Say what is to be reached.")
    if not form.device:
        raise WrongField("device", "Choose a device.")
    values: dict[str, Any] = {
        "goal": form.goal,
        "device": form.device,
        "models": form.models,
        "approval": form.approval,
        "limits": _limits(form),
        "answer_schema": _schema(form.answer_schema),
    }
    try:
        return TaskSpec(**values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else "goal"
        raise WrongField(field, f"{field.capitalize()}: {first['msg']}") from None


def _limits(form: TaskForm) -> Limits:
    values: dict[str, float] = {}
    for name, key, scale in (
        ("steps", "steps", 1),
        ("minutes", "seconds", 60),
        ("tokens", "tokens", 1),
        ("cost_usd", "cost_usd", 1),
    ):
        text = str(getattr(form, name)).strip()
        if not text:
            continue
        try:
            number = float(text)
            values[key] = int(number) if key in ("steps", "tokens") else number * scale
            Limits(**values)
        except (ValueError, OverflowError):
            raise WrongField(name, f"{text!r} is no usable limit for {name}.") from None
    return Limits(**values)


def _schema(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongField("answer_schema", f"The answer schema is not JSON: {error}") from None
    if not isinstance(schema, dict):
        raise WrongField("answer_schema", "The answer schema must be a JSON object.")
    return schema


def _field_named_in(message: str) -> str:
    for word, field in (("schema", "answer_schema"), ("device", "device"), ("model", "models")):
        if word in message:
            return field
    return "goal"
