"""Calls a model for a node: cancellable, within the limits, and recorded with its prompt."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.agent.flow import EndTask, failed
from app.agent.run import Run
from app.domain.events import ModelCalled
from app.domain.memory import PromptFigures
from app.domain.messages import Finish, ModelReply, ModelRequest, Role, user
from app.domain.tasks import ModelCallRecord, TaskState
from app.errors import ModelError

_M = TypeVar("_M", bound=BaseModel)
LONGER_OUTPUT = 16_384
"""Output tokens allowed after an answer was cut at its limit."""


async def call_model(
    run: Run, request: ModelRequest, *, first: bool = False, figures: PromptFigures | None = None
) -> ModelReply:
    """Sends one request and keeps its record for the next write; raises ModelError, EndTask."""
    _within_limits(run)
    prompt = request.model_dump_json().encode()
    prompt_ref = await run.ports.artifacts.put(prompt, "application/json")
    base = ModelCallRecord(
        call_id=run.ports.new_id(),
        role=request.role.value,
        step_number=run.step_number,
        first_of_turn=first,
        figures=figures,
        prompt_ref=prompt_ref,
    )
    began = run.ports.clock.monotonic()
    try:
        reply = await _until_cancelled(run, request)
    except (ModelError, EndTask) as error:
        ended = isinstance(error, EndTask)
        failure: dict[str, Any] = {
            "outcome": "cancelled" if ended else error.code,
            "detail": str(error),
            "seconds": run.ports.clock.monotonic() - began,
            "attempts": 1 if isinstance(error, EndTask) else error.attempts,
        }
        run.note(ModelCalled(call=base.model_copy(update=failure)))
        raise
    await _keep(run, base, reply)
    return reply


def after_cut(request: ModelRequest) -> ModelRequest:
    """The request once more, with room for an answer that was cut at its limit."""
    # Built anew: only a limit that was set by name outranks the role's own.
    return ModelRequest(
        **{name: getattr(request, name) for name in request.model_fields_set}
        | {"max_output_tokens": LONGER_OUTPUT}
    )


async def ask_json(
    run: Run, role: Role, system: str, question: str, answer: type[_M], schema: dict[str, Any]
) -> _M:
    """Asks for JSON of a schema, once more after an answer that does not fit.

    Raises ModelError when there is no usable answer.
    """
    messages = [user(question)]
    problem = ""
    cut = False
    for _ in range(2):
        request = ModelRequest(
            role=role,
            system=system,
            messages=tuple(messages),
            response_schema=schema,
            task_id=run.task.task_id,
            step_number=run.step_number,
        )
        reply = await call_model(run, after_cut(request) if cut else request)
        cut = reply.finish is Finish.LENGTH
        if reply.finish is not Finish.STOP:
            problem = f"the answer stopped early: {reply.finish.value} {reply.finish_detail}"
        else:
            try:
                return answer.model_validate_json(reply.message.text)
            except ValidationError as error:
                problem = f"the answer does not fit: {error.errors(include_url=False)[0]['msg']}"
        messages = [user(question, f"\n# CORRECTION\n{problem}. Answer with the JSON alone.")]
    raise ModelError(problem)


def _within_limits(run: Run) -> None:
    limits = run.task.spec.limits
    if run.usage.total >= limits.tokens:
        raise failed(f"the limit of {limits.tokens:,} tokens is reached", "limit_tokens")
    if run.cost_usd >= limits.cost_usd:
        raise failed(f"the limit of ${limits.cost_usd:g} is reached", "limit_cost")


async def _until_cancelled(run: Run, request: ModelRequest) -> ModelReply:
    """A cancel aborts the call at once, and an answer that still comes is dropped."""
    call = asyncio.ensure_future(run.ports.model.generate(request))
    cancelled = asyncio.ensure_future(run.control.cancelled.wait())
    try:
        await asyncio.wait({call, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise EndTask(TaskState.CANCELLED, "cancelled by a person")
        return call.result()
    finally:
        cancelled.cancel()
        if not call.done():
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)


async def _keep(run: Run, base: ModelCallRecord, reply: ModelReply) -> None:
    reply_ref = await run.ports.artifacts.put(reply.raw, "application/json") if reply.raw else None
    run.usage += reply.usage
    run.cost_usd += reply.cost_usd or 0.0
    details: dict[str, Any] = {
        "provider": reply.provider,
        "model": reply.model,
        "offline": reply.offline,
        "outcome": "ok" if reply.finish is Finish.STOP else reply.finish.value,
        "detail": reply.finish_detail,
        "usage": reply.usage,
        "cost_usd": reply.cost_usd,
        "seconds": reply.seconds,
        "first_token_seconds": reply.first_token_seconds,
        "attempts": max(1, len(reply.attempts)),
        "fallback": reply.fallback,
        "reply_ref": reply_ref,
    }
    run.note(ModelCalled(call=base.model_copy(update=details)))
    if reply.fallback:
        run.fallback("model", reply.fallback)


def as_json(value: object) -> str:
    """Compact JSON with every script readable."""
    return json.dumps(value, ensure_ascii=False)
