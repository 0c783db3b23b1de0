"""Answers an open question about a task's history from recalled records, citing steps."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from app.agent.prompts import load
from app.domain.memory import RecallQuery
from app.domain.messages import Finish, JsonObject, ModelRequest, Role, user
from app.domain.ports import Model, SearchIndex
from app.memory.recall import render

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "cited_steps": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["answer", "cited_steps"],
}
RESULTS = 12
TOKENS = 6_000


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    answer: str
    cited_steps: tuple[int, ...] = ()


class HistoryAnswer(NamedTuple):
    """An answer and the steps it rests on."""

    answer: str
    cited_steps: tuple[int, ...]


async def ask(search: SearchIndex, model: Model, task_id: str, question: str) -> HistoryAnswer:
    """Recalls, then asks the historian; without a usable answer the records themselves."""
    found = await search.search(
        RecallQuery(query=question, max_results=RESULTS, max_tokens=TOKENS, include_details=True)
    )
    recalled = render(found)
    reply = await model.generate(
        ModelRequest(
            role=Role.HISTORIAN,
            system=load("historian"),
            messages=(user(f"# QUESTION\n{question}\n# RECALLED\n{recalled}"),),
            response_schema=SCHEMA,
            task_id=task_id,
        )
    )
    known = {hit.step_number for hit in found.results}
    if reply.finish is Finish.STOP:
        try:
            answer = _Answer.model_validate_json(reply.message.text)
        except ValidationError:
            return HistoryAnswer(recalled, tuple(sorted(known)))
        cited = tuple(sorted(known.intersection(answer.cited_steps)))
        return HistoryAnswer(answer.answer, cited)
    return HistoryAnswer(recalled, tuple(sorted(known)))
