"""What cannot become a task."""

from typing import Any

import pytest

from app.domain.tasks import TaskSpec
from app.errors import InvalidInput
from app.tasks.submission import SWITCHES, check_spec

PROVIDERS = ("offline",)


def spec(**fields: Any) -> TaskSpec:
    return TaskSpec.model_validate({"goal": "g", "device": "d", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"switches": {"similarity_hint": False, "stateful_operator_interactions": False}},
        {"models": "offline"},
        {"answer_schema": {"type": "object", "properties": {"a": {"type": "number"}}}},
        {"answer_schema": {"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}},
    ],
)
def test_what_can_be_run(fields: dict[str, Any]) -> None:
    check_spec(spec(**fields), PROVIDERS)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"goal": " \n\t"}, "the goal is empty"),
        ({"switches": {"telepathy": True}}, "there is no switch 'telepathy'"),
        ({"switches": {"hard_tokens": True}}, "there is no switch 'hard_tokens'"),
        ({"switches": {"stateful_operator_interactions": True}}, "is refused"),
        ({"models": "gemini"}, "the models 'gemini' are not available"),
        ({"answer_schema": {"type": "strange"}}, "is not a JSON schema"),
        ({"answer_schema": {"type": "string", "pattern": "("}}, "is not a JSON schema"),
        ({"answer_schema": {"$ref": "http://127.0.0.1:9/x"}}, "leads nowhere"),
        ({"answer_schema": {"$ref": "#/nope"}}, "leads nowhere"),
        ({"answer_schema": {"$ref": "#"}}, "leads nowhere"),
    ],
)
def test_what_cannot_be_run_is_named(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_spec(spec(**fields), PROVIDERS)
    assert told in caught.value.message and caught.value.hint


def test_switches_are_the_booleans_of_the_memory_alone() -> None:
    assert {"pro_memory_enabled", "operator_history_recall", "world"} <= SWITCHES
    assert "hard_tokens" not in SWITCHES
