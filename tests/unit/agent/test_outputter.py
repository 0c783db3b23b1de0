"""The final answer: cited, structured where a schema was given, never invented."""

import json
from collections import deque
from typing import Any

import pytest

from app.agent.nodes.outputter import schema_fault
from app.domain.events import FallbackUsed
from app.domain.memory import RecallHit, RecallQuery, RecallResult, TextKind
from app.domain.messages import ModelReply, Role
from app.domain.tasks import Limits, TaskState
from tests.unit.agent.home import Home, Talker, call, says

TOKENS = 110
"""What an answer of the talker costs."""
SCHEMA = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}


def output(data: Any = None, cited: Any = (1,), answer: str = "7.50") -> ModelReply:
    return says(json.dumps({"answer": answer, "cited_steps": list(cited), "data": data}))


def home_with(*outputs: ModelReply, **spec: Any) -> Home:
    talker = Talker(call("tap", element=0), call("finish", answer="It costs 7.50"))
    talker.others[Role.OUTPUTTER] = deque(outputs)
    return Home(talker, **spec)


async def test_only_steps_of_this_task_are_cited() -> None:
    end = await home_with(output(cited=(2, 1, 1, 0, -4, 900))).to_end()
    assert (end.answer, end.cited_steps, end.answer_data) == ("7.50", (1, 2), None)


async def test_data_without_a_schema_is_dropped() -> None:
    assert (await home_with(output(data={"x": 1})).to_end()).answer_data is None


async def test_data_that_fits_is_kept() -> None:
    end = await home_with(output(data={"price": 7.5}), answer_schema=SCHEMA).to_end()
    assert (end.state, end.answer_data) == (TaskState.COMPLETED, {"price": 7.5})


async def test_data_that_does_not_fit_is_asked_for_once_more() -> None:
    home = home_with(output({"price": "dear"}), output({"price": 1}), answer_schema=SCHEMA)
    assert (await home.to_end()).answer_data == {"price": 1}
    assert "does not fit the schema: $.price" in home.talker.requests[-1].messages[0].plain()


async def test_data_that_never_fits_ends_the_task_with_the_plain_answer() -> None:
    home = home_with(*[output({"price": "dear"})] * 5, answer_schema=SCHEMA)
    end = await home.to_end()
    assert (end.state, end.code) == (TaskState.FAILED, "structured_output")
    assert end.answer == "It costs 7.50" and "'dear' is not of type 'number'" in end.reason
    assert len(home.talker.asked(Role.OUTPUTTER)) == 2


async def test_without_any_answer_the_operators_own_stands() -> None:
    home = home_with(says("no"), says("no"))
    end = await home.to_end()
    assert (end.state, end.answer) == (TaskState.COMPLETED, "It costs 7.50")
    assert home.record.of(FallbackUsed)[-1].kind == "outputter"


async def test_without_any_answer_a_schema_cannot_be_met() -> None:
    end = await home_with(says("no"), says("no"), answer_schema=SCHEMA).to_end()
    assert (end.state, end.code) == (TaskState.FAILED, "model_error")
    assert end.answer == "It costs 7.50"


@pytest.mark.parametrize("schema", [None, SCHEMA])
async def test_a_limit_reached_after_the_last_step_costs_the_form_only(schema: Any) -> None:
    # Enough for the plan and two steps, and nothing left for the outputter.
    home = home_with(output(), answer_schema=schema, limits=Limits(tokens=3 * TOKENS))
    end = await home.to_end()
    assert end.answer == "It costs 7.50" and not home.talker.asked(Role.OUTPUTTER)
    if schema is None:
        assert end.state is TaskState.COMPLETED
        assert "tokens is reached" in home.record.of(FallbackUsed)[-1].detail
    else:
        assert (end.state, end.code) == (TaskState.FAILED, "limit_tokens")


async def test_a_kept_value_is_evidence_for_its_step() -> None:
    remember = call("remember", values=[{"key": "price", "value": "7.50"}])
    talker = Talker(call("tap", element=0), remember, call("finish", answer="It costs 7.50"))
    home = Home(talker)
    await home.to_end()
    asked = home.talker.asked(Role.OUTPUTTER)[0].messages[0].text
    assert '- price = "7.50" (step 2)' in asked and "Step 2: “7.50”" in asked


class Recorded:
    """An index that finds the same texts for every query, in the range asked for."""

    def __init__(self, *hits: tuple[int, TextKind, str]) -> None:
        self.results = tuple(
            RecallHit(step_number=step, kind=kind, excerpt=text, score=1.0)
            for step, kind, text in hits
        )

    async def search(self, query: RecallQuery) -> RecallResult:
        first, last = query.step_range or (1, 1_000)
        inside = tuple(hit for hit in self.results if first <= hit.step_number <= last)
        return RecallResult(results=inside)


HITS = (
    (3, TextKind.REMEMBERED, "price = 7.50"),
    (2, TextKind.THINKING, "It may cost 7.50"),
    (2, TextKind.VERDICT, "executed 7.50"),
    (2, TextKind.SCREEN, "17.50"),
    (1, TextKind.SCREEN, "Price: 7.50"),
)


@pytest.mark.parametrize(("recalled", "step"), [(True, 1), (False, 3)])
async def test_a_recalled_value_is_cited_where_it_was_seen(recalled: bool, step: int) -> None:
    remember = call("remember", values=[{"key": "price", "value": "7.50"}])
    recall = [call("recall_history", query="Price")] if recalled else []
    taps = (call("tap", element=0), call("tap", element=1))
    home = Home(Talker(*taps, *recall, remember, call("finish", answer="It costs 7.50")))
    home.run.ports = home.run.ports._replace(search=Recorded(*HITS))
    await home.to_end()
    asked = home.talker.asked(Role.OUTPUTTER)[0].messages[0].text
    assert f'- price = "7.50" (step {step})' in asked and f"Step {step}: “7.50”" in asked


async def test_a_value_that_was_never_kept_is_cited_where_a_screen_showed_it() -> None:
    home = Home(Talker(*[call("tap", element=0)] * 2, call("finish", answer="It costs 7.50")))
    home.run.ports = home.run.ports._replace(search=Recorded(*HITS))
    await home.to_end()
    asked = home.talker.asked(Role.OUTPUTTER)[0].messages[0].text
    assert "# EVIDENCE\nStep 1: “Price: 7.50”\n" in asked


@pytest.mark.parametrize(
    ("schema", "data", "fault"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, "b"], "$[1]: 'b' is not of type"),
        ({"$ref": "http://127.0.0.1:9/schema"}, {}, "the schema itself cannot be used"),
        ({"$ref": "#"}, {}, "the schema itself cannot be used"),
        ({"enum": ["a"]}, "a", ""),
    ],
)
def test_faults_of_data_and_of_schemas(schema: Any, data: Any, fault: str) -> None:
    assert schema_fault(data, schema).startswith(fault)
    assert bool(schema_fault(data, schema)) is bool(fault)
