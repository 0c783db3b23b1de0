"""What a person can do to a task; each click answers with its receipt."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from app.console.dependencies import BY_CONSOLE, QueriesDep, ServiceDep, TaskId, TemplatesDep
from app.console.errors import error_page
from app.console.taskview import TaskReader
from app.errors import ArtemisError, Conflict, InvalidInput
from app.storage.queries import Queries

router = APIRouter(prefix="/tasks/{task_id}")

Words = Annotated[str, Form(max_length=20_000)]
QuestionId = Annotated[str, Form(max_length=100)]


class Refused:
    """A control that the task's state does not allow, as an error page."""

    title = "Not now"
    status = 409
    code = "conflict"

    def __init__(self, error: ArtemisError) -> None:
        self.detail, self.hint = error.message, error.hint


class Receipts:
    """Carries out a control and answers with the list of receipts, or with the page."""

    def __init__(self, request: Request, queries: QueriesDep, templates: TemplatesDep) -> None:
        self._request = request
        self._queries: Queries = queries
        self._templates = templates

    async def after(self, task_id: str, control: Awaitable[str]) -> Response:
        """Runs the control; a refusal is shown where the receipt would stand."""
        problem, status = "", 200
        try:
            await control
        except (Conflict, InvalidInput) as error:
            if "hx-request" not in self._request.headers:
                return error_page(self._request, Refused(error))
            problem, status = str(error), 409
        if "hx-request" not in self._request.headers:
            return RedirectResponse(f"/tasks/{task_id}", 303)
        view = await TaskReader(self._queries, task_id).parts(("receipts",))
        view.problem = problem
        text = str(self._templates.macro("components/regions.html", "receipts")(view))
        return HTMLResponse(text, status)


def _receipts(request: Request, queries: QueriesDep, templates: TemplatesDep) -> Receipts:
    return Receipts(request, queries, templates)


ReceiptsDep = Annotated[Receipts, Depends(_receipts)]


@router.post("/pause")
async def pause(task_id: TaskId, service: ServiceDep, receipts: ReceiptsDep) -> Response:
    return await receipts.after(task_id, service.pause(task_id, by=BY_CONSOLE))


@router.post("/resume")
async def resume(task_id: TaskId, service: ServiceDep, receipts: ReceiptsDep) -> Response:
    return await receipts.after(task_id, service.resume(task_id, by=BY_CONSOLE))


@router.post("/cancel")
async def cancel(task_id: TaskId, service: ServiceDep, receipts: ReceiptsDep) -> Response:
    return await receipts.after(task_id, service.cancel(task_id, by=BY_CONSOLE))


@router.post("/look")
async def look(task_id: TaskId, service: ServiceDep, receipts: ReceiptsDep) -> Response:
    return await receipts.after(task_id, service.look(task_id, by=BY_CONSOLE))


@router.post("/inject")
async def inject(
    task_id: TaskId, service: ServiceDep, receipts: ReceiptsDep, text: Words = ""
) -> Response:
    return await receipts.after(task_id, service.inject(task_id, text, by=BY_CONSOLE))


@router.post("/answer")
async def answer(
    task_id: TaskId,
    service: ServiceDep,
    receipts: ReceiptsDep,
    question_id: QuestionId,
    text: Words = "",
) -> Response:
    told = service.answer(task_id, question_id, text, by=BY_CONSOLE)
    return await receipts.after(task_id, told)


@router.post("/decide")
async def decide(
    task_id: TaskId,
    service: ServiceDep,
    receipts: ReceiptsDep,
    question_id: QuestionId,
    approved: Annotated[str, Form(max_length=5)] = "no",
) -> Response:
    told = service.decide(task_id, question_id, approved == "yes", by=BY_CONSOLE)
    return await receipts.after(task_id, told)


@router.post("/run-again")
async def run_again(task_id: TaskId, service: ServiceDep) -> Response:
    task = await service.run_again(task_id, by=BY_CONSOLE)
    return RedirectResponse(f"/tasks/{task.task_id}", 303)


@router.post("/delete")
async def delete(task_id: TaskId, service: ServiceDep) -> Response:
    await service.delete(task_id)
    return RedirectResponse("/", 303)
