"""Writes the final answer with the steps it rests on; structured where a schema was given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import jsonschema
from pydantic import BaseModel, ConfigDict, Field
from referencing import Registry
from referencing.exceptions import Unresolvable

from app.agent.calls import as_json, ask_json
from app.agent.flow import EndTask
from app.agent.graph import Signal
from app.agent.prompts import load
from app.agent.run import Run
from app.domain.actions import Finish
from app.domain.memory import RecallHit, RecallQuery, TextKind
from app.domain.messages import JsonObject, Role
from app.domain.tasks import TaskState
from app.errors import ModelError, StructuredOutputRefused

MAX_LOOKUPS = 12
"""Values of the answer that are looked up in the history."""
_VALUE = re.compile(r"“[^”]{2,}”|\"[^\"]{2,}\"|[\w.+-]*\d[\w.,:/+@-]*|[\w.+-]+@[\w.-]+")
SEEN = frozenset({TextKind.SCREEN, TextKind.OCR})
RETOLD = frozenset({TextKind.THINKING, TextKind.REMEMBERED, TextKind.PLAN, TextKind.CHUNK})
"""Kinds of text that say a value without showing that it was seen in that step."""


class _Known(NamedTuple):
    """What an answer may rest on."""

    kept: Mapping[str, tuple[str, int]]
    """Remembered values, each with the step that showed it."""
    evidence: dict[int, str]
    """Steps in which values of the answer were seen, each with an excerpt."""


class _Output(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    answer: str = Field(max_length=20_000)
    cited_steps: tuple[int, ...] = ()
    data: Any = None


async def run(run: Run) -> Signal:
    """Ends the task as completed, or as failed where the answer cannot fit its schema."""
    last = run.recent[-1].action if run.recent else None
    proposed = last.answer if isinstance(last, Finish) else ""
    known = await _known(run, proposed)
    schema = run.task.spec.answer_schema
    try:
        output = await _ask(run, proposed, known, schema)
    except StructuredOutputRefused as error:
        raise _unstructured(error.message, error.code, proposed, known) from error
    except (ModelError, EndTask) as error:
        # A limit that is reached only now costs the answer's form, not the answer.
        if isinstance(error, EndTask) and error.state is TaskState.CANCELLED:
            raise
        if schema is not None:
            reason = f"no structured answer: {error}"
            raise _unstructured(reason, error.code, proposed, known) from error
        run.fallback("outputter", f"the operator's own answer is used: {error}")
        output = _Output(answer=proposed, cited_steps=tuple(sorted(known.evidence)))
    cited = tuple(sorted({n for n in output.cited_steps if 1 <= n < run.step_number}))
    raise EndTask(
        TaskState.COMPLETED,
        "the goal is reached",
        answer=output.answer or proposed,
        answer_data=output.data if schema is not None else None,
        cited_steps=cited,
    )


def _unstructured(reason: str, code: str, proposed: str, known: _Known) -> EndTask:
    """The end of a task whose answer is known, but not in the form that was asked for."""
    cited = tuple(sorted(known.evidence))
    return EndTask(TaskState.FAILED, reason, code=code, answer=proposed, cited_steps=cited)


async def _ask(run: Run, proposed: str, known: _Known, schema: JsonObject | None) -> _Output:
    """The outputter's answer; one that does not fit the schema is asked for once more."""
    problem = ""
    for _ in range(2):
        output = await ask_json(
            run,
            Role.OUTPUTTER,
            load("outputter"),
            _question(run, proposed, known, schema) + problem,
            _Output,
            _output_schema(schema),
        )
        if schema is None:
            return output
        fault = schema_fault(output.data, schema)
        if not fault:
            return output
        problem = f"\n# CORRECTION\ndata does not fit the schema: {fault}"
    raise StructuredOutputRefused(f"the answer does not fit the task's schema: {fault}")


def schema_fault(data: Any, schema: JsonObject) -> str:
    """What is wrong with data under a JSON schema, or an empty string."""
    # An empty registry: a schema's reference must never fetch anything.
    validator = jsonschema.validators.validator_for(schema)(schema, registry=Registry())
    try:
        error = next(iter(validator.iter_errors(data)), None)
    except (Unresolvable, RecursionError) as fault:
        return f"the schema itself cannot be used: {type(fault).__name__}"
    return f"{error.json_path}: {error.message}"[:500] if error is not None else ""


def _output_schema(schema: JsonObject | None) -> JsonObject:
    properties: JsonObject = {
        "answer": {"type": "string"},
        "cited_steps": {"type": "array", "items": {"type": "integer"}},
    }
    required = ["answer", "cited_steps"]
    if schema is not None:
        properties["data"] = schema
        required.append("data")
    return {"type": "object", "properties": properties, "required": required}


def _question(run: Run, proposed: str, known: _Known, schema: JsonObject | None) -> str:
    kept = "\n".join(
        f"- {key} = {as_json(value)} (step {step})" for key, (value, step) in known.kept.items()
    )
    seen = "\n".join(f"Step {n}: “{text}”" for n, text in sorted(known.evidence.items()))
    return (
        f"# GOAL\n{run.task.spec.goal}\n# ANSWER\n{proposed}\n# KEPT\n{kept or 'nothing'}\n"
        f"# EVIDENCE\n{seen or 'nothing'}\n# SCHEMA\n{as_json(schema) if schema else 'none'}"
    )


async def _known(run: Run, answer: str) -> _Known:
    """What was kept, and the steps in which the answer's values were seen."""
    await run.write()
    kept = await _kept(run, answer)
    evidence: dict[int, str] = {}
    values = list(dict.fromkeys(v.strip('“”".,:;') for v in _VALUE.findall(answer)))
    for value in [v for v in values if v][:MAX_LOOKUPS]:
        steps = [step for v, step in kept.values() if value in v or v in value]
        if steps:
            evidence.setdefault(steps[0], value)
        elif (hit := await _seen(run, value, run.step_number)) is not None:
            evidence.setdefault(hit.step_number, hit.excerpt[:300])
    return _Known(kept, evidence)


async def _kept(run: Run, answer: str) -> dict[str, tuple[str, int]]:
    """Remembered values; one that came back by a recall was seen before it was remembered."""
    facts = run.transcript.shelf.facts
    kept = dict(run.transcript.kept.remembered)
    asked = {n for _, n in kept.values() if n in facts and facts[n].looked_back}
    recalled = [key for key, (value, step) in kept.items() if step in asked and value in answer]
    for key in recalled[:MAX_LOOKUPS]:
        value, step = kept[key]
        if (hit := await _seen(run, value, step)) is not None:
            kept[key] = (value, hit.step_number)
    return kept


async def _seen(run: Run, value: str, before: int) -> RecallHit | None:
    """An earlier step that shows a value; one whose screen does comes first."""
    if before <= 1:
        return None
    # Later steps may tell the value again, more often than it was seen.
    earlier = RecallQuery(query=value, step_range=(1, before - 1), max_results=5)
    found = await run.ports.search.search(earlier)
    whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
    hits = [hit for hit in found.results if hit.kind not in RETOLD and whole.search(hit.excerpt)]
    return next(iter([h for h in hits if h.kind in SEEN] or hits), None)
