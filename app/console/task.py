"""The task page, its earlier turns and its recall."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup, escape

from app.console.dependencies import MemoryDep, QueriesDep, ServiceDep, TaskId, TemplatesDep
from app.console.regions import upsert
from app.console.taskview import TaskReader, TaskView
from app.domain.memory import RecallQuery
from app.errors import ArtemisError, InvalidInput

router = APIRouter()

Order = Annotated[Literal["newest", "oldest"], Query()]
Before = Annotated[int | None, Query(ge=1, le=1_000_000)]


@router.get("/tasks/{task_id}")
async def page(
    task_id: TaskId,
    queries: QueriesDep,
    memory: MemoryDep,
    templates: TemplatesDep,
    order: Order = "newest",
    before: Before = None,
) -> Response:
    """The whole page, readable without script; the socket goes on from its number."""
    view = await TaskReader(queries, task_id, memory).page(order, before)
    return templates.page("pages/task.html", view=view)


@router.get("/tasks/{task_id}/turns")
async def turns(
    task_id: TaskId,
    queries: QueriesDep,
    memory: MemoryDep,
    templates: TemplatesDep,
    order: Order = "newest",
    before: Before = None,
) -> Response:
    """The window of turns before a number, as a fragment."""
    reader = TaskReader(queries, task_id, memory)
    view = await reader.parts((), order)
    await reader.add_window(view, before)
    item = templates.macro("components/turn.html", "turn_item")
    items = "".join(str(item(task_id, turn, order)) for turn in view.turns)
    more = templates.text("components/earlier.html", view=view)
    return HTMLResponse(more + upsert(items, order))


@router.get("/tasks/{task_id}/figures")
async def figures(task_id: TaskId, queries: QueriesDep, templates: TemplatesDep) -> Response:
    """What is counted over the whole record, as a fragment."""
    found = await queries.task_figures.task(task_id)
    table = templates.macro("components/memory.html", "figure_list")
    return HTMLResponse(str(table(task_id, found)))


@router.get("/tasks/{task_id}/recall")
async def recall(
    task_id: TaskId,
    queries: QueriesDep,
    service: ServiceDep,
    templates: TemplatesDep,
    query: Annotated[str, Query(max_length=2_000)] = "",
    first: Annotated[str, Query(pattern=r"^\d{0,7}$")] = "",
    last: Annotated[str, Query(pattern=r"^\d{0,7}$")] = "",
    details: Annotated[str, Query(max_length=5)] = "",
    hx_request: Annotated[str, Header()] = "",
) -> Response:
    """The same recall that the agent has; as a page where there is no script."""
    steps = (int(first or 1), int(last or 1_000_000)) if first or last else None
    found: dict[str, Any] = {"query": query, "task_id": task_id, "hits": [], "problem": ""}
    found["result"] = None
    try:
        if steps and steps[0] > steps[1]:
            raise InvalidInput("The first step comes after the last.")
        asked = RecallQuery(query=query, step_range=steps, include_details=bool(details))
        result = await service.recall(task_id, asked)
    except ArtemisError as error:
        found["problem"] = str(error)
    else:
        found["hits"] = [(hit, marked(hit.excerpt, query)) for hit in result.results]
        found["result"] = result
    if hx_request:
        return HTMLResponse(templates.text("components/recall.html", **found))
    view = TaskView(task=await queries.tasks.get(task_id), seq=0)
    return templates.page("pages/recall.html", view=view, **found)


def marked(excerpt: str, query: str) -> Markup:
    """The excerpt with the query's words marked; both are text, never markup."""
    words = [re.escape(word) for word in re.findall(r"\w+", query)[:20] if len(word) > 1]
    if not words:
        return escape(excerpt)
    pieces = re.split(f"({'|'.join(words)})", excerpt, flags=re.IGNORECASE)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if at % 2 else escape(piece)
        for at, piece in enumerate(pieces)
    )
