"""What was recorded of a task: steps, prompts, plan, notes, summaries, figures, recall."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.api.dependencies import (
    BY_API,
    ArtifactsDep,
    QueriesDep,
    ServiceDep,
    StepNumber,
    TaskId,
)
from app.api.schemas import (
    MAX_NUMBER,
    CallPage,
    HistoryAnswer,
    QuestionBody,
    RejectionBody,
    StepPage,
    SummaryPage,
    WorldAnswer,
)
from app.domain.memory import RecallQuery, RecallResult
from app.domain.plans import Check
from app.domain.summaries import HistoryChunk
from app.domain.tasks import Note, StepRecord
from app.errors import NotFound
from app.storage.queries import ChunkView, PlanRevision, SummaryView, TaskFigures

router = APIRouter(prefix="/tasks/{task_id}", tags=["evidence"])

Number = Annotated[int, Query(ge=0, le=MAX_NUMBER)]


@router.get("/steps")
async def list_steps(
    task_id: TaskId,
    queries: QueriesDep,
    after: Number = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> StepPage:
    """Steps after a number, in order, without element lists and messages."""
    window = await queries.steps.window(task_id, after=after, limit=limit, newest_first=False)
    last = window.steps[-1].step_number if window.steps and window.newer else None
    return StepPage(steps=list(window.steps), next_after=last)


@router.get("/steps/{number}")
async def read_step(task_id: TaskId, number: StepNumber, queries: QueriesDep) -> StepRecord:
    """One step with its element lists and messages."""
    return (await queries.steps.one(task_id, number)).step


@router.get("/calls")
async def list_calls(
    task_id: TaskId,
    queries: QueriesDep,
    step: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> CallPage:
    """Model calls in order: all of a step, or the newest of the task."""
    await queries.tasks.get(task_id)
    found = await queries.steps.calls(task_id, step_number=step, limit=limit)
    return CallPage(calls=[view.call for view in found])


@router.get(
    "/calls/{call_id}/prompt",
    response_class=Response,
    responses={
        200: {
            "description": "The request exactly as sent, images by reference.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def read_prompt(
    task_id: TaskId, call_id: TaskId, queries: QueriesDep, artifacts: ArtifactsDep
) -> Response:
    """The exact prompt of one call."""
    call = (await queries.steps.call(task_id, call_id)).call
    if call.prompt_ref is None:
        raise NotFound("The prompt of this call was not kept.")
    return Response(await artifacts.get(call.prompt_ref), media_type="application/json")


@router.get("/plan-revisions")
async def list_plan_revisions(task_id: TaskId, queries: QueriesDep) -> list[PlanRevision]:
    """Every revision of the plan, oldest first."""
    return list(await queries.tasks.plan_revisions(task_id))


@router.get("/checks")
async def list_checks(task_id: TaskId, queries: QueriesDep) -> list[Check]:
    """What a screen must have shown before the task may finish."""
    return list(await queries.tasks.checks(task_id))


@router.get("/notes")
async def list_notes(task_id: TaskId, queries: QueriesDep) -> list[Note]:
    """Notes of the agent, in the order they were begun."""
    return list(await queries.tasks.notes(task_id))


@router.get("/world")
async def read_world(task_id: TaskId, queries: QueriesDep) -> WorldAnswer:
    """The believed state and every remembered value with its step."""
    remembered = list(await queries.tasks.remembered(task_id))
    return WorldAnswer(world=await queries.steps.world(task_id), remembered=remembered)


@router.get("/summaries")
async def list_summaries(
    task_id: TaskId,
    queries: QueriesDep,
    after: Number = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SummaryPage:
    """Summaries of the steps after a number, in order: state, newest version, refusals."""
    await queries.tasks.get(task_id)
    found = list(await queries.memory.summaries(task_id, first=after + 1, limit=limit + 1))
    page = found[:limit]
    more = page[-1].step_number if len(found) > limit else None
    return SummaryPage(summaries=page, next_after=more)


@router.get("/summaries/{number}")
async def read_summary(task_id: TaskId, number: StepNumber, queries: QueriesDep) -> SummaryView:
    """One step's summary with all its versions, oldest first."""
    await queries.tasks.get(task_id)
    return await queries.memory.summary(task_id, number)


@router.get("/chunks")
async def list_chunks(task_id: TaskId, queries: QueriesDep) -> list[HistoryChunk]:
    """Closed ranges of steps in order, each with its newest capsule."""
    await queries.tasks.get(task_id)
    return list(await queries.memory.chunks(task_id))


@router.get("/chunks/{number}")
async def read_chunk(task_id: TaskId, number: StepNumber, queries: QueriesDep) -> ChunkView:
    """The chunk that begins at a step, with all versions of its capsule, oldest first."""
    await queries.tasks.get(task_id)
    return await queries.memory.chunk(task_id, number)


@router.post("/resummarise", status_code=202, response_class=Response)
async def resummarise(task_id: TaskId, body: RejectionBody, service: ServiceDep) -> Response:
    """Has texts that a reviewer rejects written anew; the old ones serve until then."""
    await service.resummarise(
        task_id, steps=body.steps, chunk=body.chunk, reason=body.reason, by=BY_API
    )
    return Response(status_code=202)


@router.get("/figures")
async def read_figures(task_id: TaskId, queries: QueriesDep) -> TaskFigures:
    """Counts over the whole record: turns, recalls, fallbacks, what was written and refused."""
    return await queries.task_figures.task(task_id)


@router.post("/recall")
async def recall(task_id: TaskId, body: RecallQuery, service: ServiceDep) -> RecallResult:
    """Searches what was recorded, as the agent itself can."""
    return await service.recall(task_id, body)


@router.post("/ask-history")
async def ask_history(task_id: TaskId, body: QuestionBody, service: ServiceDep) -> HistoryAnswer:
    """Answers an open question about the task's history, citing steps."""
    found = await service.ask_history(task_id, body.question)
    return HistoryAnswer(answer=found.answer, cited_steps=list(found.cited_steps))
