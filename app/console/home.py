"""The first page: devices, the form for a new task, the tasks."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Form, Header, Query, Response
from fastapi.responses import RedirectResponse

from app.console.dependencies import BY_CONSOLE, QueriesDep, ServiceDep, TemplatesDep
from app.console.phrases import TASK_SIGNS, Sign
from app.console.submit import TaskForm, spec_of
from app.domain.tasks import Approval, Task, TaskState
from app.errors import ArtemisError, Conflict, InvalidInput
from app.tasks.service import TaskService

router = APIRouter()

PAGE = 25


class TaskRow(NamedTuple):
    """One line of the list."""

    task: Task
    sign: Sign


class Filters(NamedTuple):
    """What the list is narrowed to."""

    state: str = ""
    device: str = ""
    q: str = ""

    @property
    def used(self) -> bool:
        return any(self)


@router.get("/")
async def home(
    service: ServiceDep,
    queries: QueriesDep,
    templates: TemplatesDep,
    state: Annotated[str, Query(max_length=40)] = "",
    device: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Devices, submit form, tasks."""
    filters = Filters(state, device, q)
    form = TaskForm(limits=service.defaults(), device=device)
    return await _page(service, queries, templates, form, filters, cursor)


@router.post("/tasks")
async def submit(
    service: ServiceDep,
    queries: QueriesDep,
    templates: TemplatesDep,
    form: Annotated[TaskForm, Form()],
    key: Annotated[str, Header(alias="Idempotency-Key", max_length=200)] = "",
) -> Response:
    """Submits the form; what cannot be used is said beside its field."""
    try:
        spec = spec_of(form)
        task = await service.submit(
            spec, idempotency_key=key or form.idempotency_key, by=BY_CONSOLE
        )
    except (InvalidInput, Conflict) as error:
        form = form.with_problem(error)
        return await _page(service, queries, templates, form, Filters(), "", status=422)
    return RedirectResponse(f"/tasks/{task.task_id}", 303)


async def _page(
    service: TaskService,
    queries: QueriesDep,
    templates: TemplatesDep,
    form: TaskForm,
    filters: Filters,
    cursor: str,
    status: int = 200,
) -> Response:
    devices = await queries.tasks.devices()
    problem = ""
    states = (TaskState(filters.state),) if filters.state in set(TaskState) else ()
    try:
        page = await queries.tasks.page(
            states=states, device=filters.device, text=filters.q, cursor=cursor, limit=PAGE
        )
        tasks, next_cursor = page.tasks, page.next
    except ArtemisError as error:
        tasks, next_cursor, problem = (), "", str(error)
    return templates.page(
        "pages/home.html",
        status,
        here="home",
        devices=devices,
        form=form,
        providers=service.providers(),
        approvals=list(Approval),
        rows=[TaskRow(task, TASK_SIGNS[task.state]) for task in tasks],
        signs=TASK_SIGNS,
        filters=filters,
        cursor=cursor,
        next_cursor=next_cursor,
        problem=problem,
    )
