"""Checks what was asked for before it becomes a task."""

from __future__ import annotations

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from app.domain.config import MemoryConfig
from app.domain.tasks import TaskSpec
from app.errors import InvalidInput

SWITCHES = frozenset(
    name for name, field in MemoryConfig.model_fields.items() if field.annotation is bool
)
"""Memory switches a task may override."""


def check_spec(spec: TaskSpec, providers: tuple[str, ...]) -> None:
    """Raises InvalidInput naming the first thing that cannot be used."""
    if not spec.goal.strip():
        raise InvalidInput("the goal is empty", hint="say what is to be reached")
    unknown = sorted(set(spec.switches) - SWITCHES)
    if unknown:
        raise InvalidInput(
            f"there is no switch {unknown[0]!r}", hint=f"switches: {', '.join(sorted(SWITCHES))}"
        )
    if spec.switches.get("stateful_operator_interactions"):
        raise InvalidInput(
            "stateful_operator_interactions is refused: no adapter keeps the conversation at the "
            "provider yet",
            hint="leave the switch off",
        )
    if spec.models and spec.models not in providers:
        raise InvalidInput(
            f"the models {spec.models!r} are not available", hint=f"one of: {', '.join(providers)}"
        )
    if spec.answer_schema is not None:
        check_schema(spec.answer_schema)


def check_schema(schema: dict[str, object]) -> None:
    """Raises InvalidInput when a JSON schema cannot be one."""
    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
        # An empty registry: a reference to elsewhere is refused, never fetched.
        any(kind(schema, registry=Registry()).iter_errors({}))
    except (Unresolvable, RecursionError) as error:
        raise InvalidInput(
            f"answer_schema holds a reference that leads nowhere ({type(error).__name__})",
            hint="use references to definitions within the schema",
        ) from None
    except jsonschema.SchemaError as error:
        raise InvalidInput(
            f"answer_schema is not a JSON schema: {error.message}"[:500],
            hint="mend the schema or leave it out",
        ) from None
