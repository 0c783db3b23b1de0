"""One recorded step as it was, its element list, and the exact prompt of any call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from app.console.dependencies import (
    MemoryDep,
    QueriesDep,
    ServiceDep,
    StepNumber,
    TaskId,
    TemplatesDep,
)
from app.console.figures import context_view
from app.console.marks import MARK_TYPES, marks_by_step
from app.console.phrases import TASK_SIGNS
from app.console.replay import chunk_panel, read_replay, summary_of
from app.console.shown import shown_step
from app.console.turns import target_of, turn_view
from app.domain.messages import Message, ModelRequest, Role
from app.domain.ports import Artifacts
from app.domain.screens import ArtifactRef
from app.errors import NotFound
from app.storage.queries import CallView, StepView

router = APIRouter(prefix="/tasks/{task_id}")


class StepPlace(NamedTuple):
    """A step among its neighbours."""

    number: int
    total: int

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        return self.number + 1 if self.number < self.total else None


@router.get("/steps/{number}")
async def step_page(
    task_id: TaskId,
    number: StepNumber,
    queries: QueriesDep,
    service: ServiceDep,
    memory: MemoryDep,
    templates: TemplatesDep,
) -> Response:
    """The same panels as they were at that step; the address can be shared."""
    task = await queries.tasks.get(task_id)
    found = await queries.steps.one(task_id, number)
    events = await queries.tasks.events_of_steps(task_id, MARK_TYPES, first=number, last=number)
    step = found.step
    return templates.page(
        "pages/step.html",
        task=task,
        sign=TASK_SIGNS[task.state],
        step=step,
        place=StepPlace(number, task.steps),
        turn=turn_view(step, marks_by_step(events).get(number, ())),
        shown=shown_step(step),
        calls=found.calls,
        context=context_view([view.call for view in found.calls if view.call.figures], memory),
        replay=await read_replay(queries, service, task_id, step),
    )


@router.get("/steps/{number}/elements")
async def elements(
    task_id: TaskId, number: StepNumber, queries: QueriesDep, templates: TemplatesDep
) -> Response:
    """The element list of a step's screen, as a fragment."""
    step = (await queries.steps.one(task_id, number)).step
    target = target_of(step)
    element_list = templates.macro("components/screen.html", "element_list")
    return HTMLResponse(str(element_list(step.observation, target.element if target else None)))


@router.get("/steps/{number}/summary")
async def summary(
    task_id: TaskId, number: StepNumber, queries: QueriesDep, templates: TemplatesDep
) -> Response:
    """A step's summary with its evidence and all versions, as a fragment."""
    found = await summary_of(queries, task_id, number)
    if found is None:
        raise NotFound("No summary was to be written for this step.")
    body = templates.macro("components/memory.html", "summary_body")
    return HTMLResponse(str(body(task_id, found)))


@router.get("/chunks/{number}")
async def chunk(
    task_id: TaskId,
    number: StepNumber,
    queries: QueriesDep,
    service: ServiceDep,
    templates: TemplatesDep,
) -> Response:
    """The three bands of the chunk that begins at a step, as a fragment."""
    panel = await chunk_panel(queries, service, task_id, number)
    body = templates.macro("components/memory.html", "chunk_body")
    return HTMLResponse(str(body(task_id, panel)))


@router.get("/steps/{number}/prompt")
async def step_prompt(task_id: TaskId, number: StepNumber, queries: QueriesDep) -> Response:
    """Leads to the prompt that decided this step."""
    found = await queries.steps.one(task_id, number)
    call = _deciding(found)
    if call is None:
        raise NotFound("No prompt was recorded for this step.")
    return RedirectResponse(f"/tasks/{task_id}/calls/{call.call.call_id}", 303)


@router.get("/calls/{call_id}")
async def prompt_page(
    request: Request,
    task_id: TaskId,
    call_id: TaskId,
    queries: QueriesDep,
    memory: MemoryDep,
    templates: TemplatesDep,
) -> Response:
    """The request exactly as it was sent, readable."""
    task = await queries.tasks.get(task_id)
    found = await queries.steps.call(task_id, call_id)
    artifacts: Artifacts = request.app.state.artifacts
    model_request, problem = await _request_of(artifacts, found.call.prompt_ref)
    messages: Sequence[Message] = model_request.messages if model_request else ()
    return templates.page(
        "pages/prompt.html",
        task=task,
        found=found,
        request=model_request,
        messages=messages,
        problem=problem,
        context=context_view([found.call], memory),
    )


async def _request_of(
    artifacts: Artifacts, ref: ArtifactRef | None
) -> tuple[ModelRequest | None, str]:
    if ref is None:
        return None, "The prompt of this call was not kept."
    try:
        return ModelRequest.model_validate_json(await artifacts.get(ref)), ""
    except (NotFound, ValidationError) as error:
        return None, f"The prompt of this call cannot be shown: {type(error).__name__}."


def _deciding(found: StepView) -> CallView | None:
    """The operator's first call of the step, which carries the whole screen."""
    calls = [view for view in found.calls if view.call.role == Role.OPERATOR.value]
    return next((view for view in calls if view.call.first_of_turn), next(iter(calls), None))
