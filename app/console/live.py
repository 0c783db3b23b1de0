"""The socket of a task page: one viewer, its bounded queue and its own sender."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from app.console.dependencies import MemoryDep, QueriesDep, ServerDep, ServiceDep, TemplatesDep
from app.console.regions import Fragments
from app.console.taskview import TaskReader
from app.errors import NotFound
from app.tasks.bus import Lagged
from app.tasks.follow import follow

router = APIRouter()

SEND_TIMEOUT = 5.0  # seconds a viewer may take for one message
RESTART, TOO_SLOW, REFUSED = 1012, 1013, 1008


@router.websocket("/tasks/{task_id}/live")
async def live(
    websocket: WebSocket,
    task_id: str,
    queries: QueriesDep,
    service: ServiceDep,
    server: ServerDep,
    memory: MemoryDep,
    templates: TemplatesDep,
    after: int = 0,
    order: str = Query(default="newest", max_length=10),
) -> None:
    """Fragments for the events after a number, then live; an ended task's socket stays idle."""
    try:
        await queries.tasks.get(task_id)
    except NotFound:
        await websocket.close(REFUSED, "There is no such task.")
        return
    await websocket.accept()
    fragments = Fragments(templates, TaskReader(queries, task_id, memory), order)

    async def send_all() -> None:
        batches = follow(
            service.bus, queries.tasks.events, task_id, after, queue=server.viewer_queue
        )
        try:
            async with aclosing(batches):
                async for batch in batches:
                    message = await fragments.message(batch)
                    async with asyncio.timeout(SEND_TIMEOUT):
                        await websocket.send_text(message)
        except (Lagged, TimeoutError):
            await _close(websocket, TOO_SLOW)
        except NotFound:
            await _close(websocket, 1000)  # the task was deleted
        except WebSocketDisconnect:
            return
        else:
            await _close(websocket, RESTART)

    sender = asyncio.create_task(send_all(), name=f"viewer of {task_id}")
    reader = asyncio.create_task(_read_until_gone(websocket))
    await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
    for part in (sender, reader):
        part.cancel()
    await asyncio.gather(sender, reader, return_exceptions=True)


async def _read_until_gone(websocket: WebSocket) -> None:
    """The page sends nothing here; reading notices that it left."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _close(websocket: WebSocket, code: int) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT):
            await websocket.close(code)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        return  # It is gone or stuck; the server drops the connection.
