"""Writes the final answer with the steps it rests on; structured where a schema was given."""

from __future__ import annotations

import re
from typing import Any

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
from app.domain.memory import RecallQuery, TextKind
from app.domain.messages import JsonObject, Role
from app.domain.tasks import TaskState
from app.errors import ModelError, StructuredOutputRefused

MAX_LOOKUPS = 12
"""Values of the answer that are looked up in the history."""
_VALUE = re.compile(r"“[^”]{2,}”|\"[^\"]{2,}\"|[\w.+-]*\d[\w.,:/+@-]*|[\w.+-]+@[\w.-]+")


class _Output(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    answer: str = Field(max_length=20_000)
    cited_steps: tuple[int, ...] = ()
    data: Any = None


async def run(run: Run) -> Signal:
    """Ends the task as completed, or as failed where the answer cannot fit its schema."""
    last = run.recent[-1].action if run.recent else None
    proposed = last.answer if isinstance(last, Finish) else ""
    evidence = await _evidence(run, proposed)
    schema = run.task.spec.answer_schema
    try:
        output = await _ask(run, proposed, evidence, schema)
    except StructuredOutputRefused as error:
        raise _unstructured(error.message, error.code, proposed, evidence) from error
    except (ModelError, EndTask) as error:
        # A limit that is reached only now costs the answer's form, not the answer.
        if isinstance(error, EndTask) and error.state is TaskState.CANCELLED:
            raise
        if schema is not None:
            reason = f"no structured answer: {error}"
            raise _unstructured(reason, error.code, proposed, evidence) from error
        run.fallback("outputter", f"the operator's own answer is used: {error}")
        output = _Output(answer=proposed, cited_steps=tuple(sorted(evidence)))
    cited = tuple(sorted({n for n in output.cited_steps if 1 <= n < run.step_number}))
    raise EndTask(
        TaskState.COMPLETED,
        "the goal is reached",
        answer=output.answer or proposed,
        answer_data=output.data if schema is not None else None,
        cited_steps=cited,
    )


def _unstructured(reason: str, code: str, proposed: str, evidence: dict[int, str]) -> EndTask:
    """The end of a task whose answer is known, but not in the form that was asked for."""
    cited = tuple(sorted(evidence))
    return EndTask(TaskState.FAILED, reason, code=code, answer=proposed, cited_steps=cited)


async def _ask(
    run: Run, proposed: str, evidence: dict[int, str], schema: JsonObject | None
) -> _Output:
    """The outputter's answer; one that does not fit the schema is asked for once more."""
    problem = ""
    for _ in range(2):
        output = await ask_json(
            run,
            Role.OUTPUTTER,
            load("outputter"),
            _question(run, proposed, evidence, schema) + problem,
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


def _question(run: Run, proposed: str, evidence: dict[int, str], schema: JsonObject | None) -> str:
    kept = "\n".join(
        f"- {key} = {as_json(value)} (step {step})"
        for key, (value, step) in run.transcript.kept.remembered.items()
    )
    seen = "\n".join(f"Step {n}: “{text}”" for n, text in sorted(evidence.items()))
    return (
        f"# GOAL\n{run.task.spec.goal}\n# ANSWER\n{proposed}\n# KEPT\n{kept or 'nothing'}\n"
        f"# EVIDENCE\n{seen or 'nothing'}\n# SCHEMA\n{as_json(schema) if schema else 'none'}"
    )


async def _evidence(run: Run, answer: str) -> dict[int, str]:
    """Steps in which the answer's values were seen, each with an excerpt."""
    await run.write()
    found: dict[int, str] = {}
    values = list(dict.fromkeys(v.strip('“”".,:;') for v in _VALUE.findall(answer)))
    for value in [v for v in values if v][:MAX_LOOKUPS]:
        kept = [
            step for v, step in run.transcript.kept.remembered.values() if value in v or v in value
        ]
        if kept:
            found.setdefault(kept[0], value)
            continue
        result = await run.ports.search.search(RecallQuery(query=value, max_results=3))
        for hit in result.results:
            if hit.kind is not TextKind.THINKING and value.casefold() in hit.excerpt.casefold():
                found.setdefault(hit.step_number, hit.excerpt[:300])
                break
    return found
