"""Tasks: submit, list, read, control, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from app.api.dependencies import BY_API, ArchiveDep, QueriesDep, ServiceDep, TaskId
from app.api.schemas import (
    AnswerBody,
    DecisionBody,
    InstructionBody,
    ReceiptAnswer,
    TaskBody,
    TaskPage,
)
from app.domain.tasks import Task, TaskState

router = APIRouter(prefix="/tasks", tags=["tasks"])

MAX_WAIT = 60.0  # seconds of one long poll
IdempotencyKey = Annotated[str, Header(max_length=200, alias="Idempotency-Key")]


@router.post("", status_code=201)
async def submit(
    body: TaskBody, service: ServiceDep, response: Response, key: IdempotencyKey = ""
) -> Task:
    """Submits a task. The same key with the same body gives the same task again."""
    task = await service.submit(body.spec(service.defaults()), idempotency_key=key, by=BY_API)
    response.headers["Location"] = f"/api/v1/tasks/{task.task_id}"
    return task


@router.get("")
async def list_tasks(
    queries: QueriesDep,
    state: Annotated[list[TaskState] | None, Query()] = None,
    device: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200, description="Text in the goal.")] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> TaskPage:
    """Newest first."""
    page = await queries.tasks.page(
        states=tuple(state or ()), device=device, text=q, cursor=cursor, limit=limit
    )
    return TaskPage(tasks=list(page.tasks), next_cursor=page.next, total=page.total)


@router.get("/{task_id}")
async def read(
    task_id: TaskId,
    service: ServiceDep,
    queries: QueriesDep,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT, description="Seconds to wait for the task's end.")
    ] = 0,
) -> Task:
    """The task as it is; with `wait`, when it has ended or the time is over."""
    return await (service.wait(task_id, wait) if wait else queries.tasks.get(task_id))


@router.delete("/{task_id}", status_code=204)
async def delete(task_id: TaskId, service: ServiceDep, archive: ArchiveDep) -> None:
    """Removes an ended task with everything recorded about it."""
    await service.delete(task_id)
    await archive.tidy()


@router.post("/{task_id}/pause", status_code=202)
async def pause(task_id: TaskId, service: ServiceDep) -> ReceiptAnswer:
    """Pauses at the next turn boundary; the device session is kept."""
    return ReceiptAnswer(receipt_id=await service.pause(task_id, by=BY_API))


@router.post("/{task_id}/resume", status_code=202)
async def resume(task_id: TaskId, service: ServiceDep) -> ReceiptAnswer:
    """Goes on after a pause."""
    return ReceiptAnswer(receipt_id=await service.resume(task_id, by=BY_API))


@router.post("/{task_id}/cancel", status_code=202)
async def cancel(task_id: TaskId, service: ServiceDep) -> ReceiptAnswer:
    """Ends the task: at once while a model thinks, never in the middle of an action."""
    return ReceiptAnswer(receipt_id=await service.cancel(task_id, by=BY_API))


@router.post("/{task_id}/inject", status_code=202)
async def inject(task_id: TaskId, body: InstructionBody, service: ServiceDep) -> ReceiptAnswer:
    """Says something to the agent, heard at the next turn."""
    return ReceiptAnswer(receipt_id=await service.inject(task_id, body.text, by=BY_API))


@router.post("/{task_id}/answer", status_code=202)
async def answer(task_id: TaskId, body: AnswerBody, service: ServiceDep) -> ReceiptAnswer:
    """Answers a question of the agent."""
    receipt = await service.answer(task_id, body.question_id, body.text, by=BY_API)
    return ReceiptAnswer(receipt_id=receipt)


@router.post("/{task_id}/decide", status_code=202)
async def decide(task_id: TaskId, body: DecisionBody, service: ServiceDep) -> ReceiptAnswer:
    """Approves or denies a waiting action."""
    receipt = await service.decide(task_id, body.question_id, body.approved, by=BY_API)
    return ReceiptAnswer(receipt_id=receipt)


@router.post("/{task_id}/look", status_code=202)
async def look(task_id: TaskId, service: ServiceDep) -> ReceiptAnswer:
    """Takes a fresh look at the screen at the next turn boundary."""
    return ReceiptAnswer(receipt_id=await service.look(task_id, by=BY_API))


@router.post("/{task_id}/run-again", status_code=201)
async def run_again(task_id: TaskId, service: ServiceDep, response: Response) -> Task:
    """Submits the same task once more."""
    task = await service.run_again(task_id, by=BY_API)
    response.headers["Location"] = f"/api/v1/tasks/{task.task_id}"
    return task
