"""Events of a task from a number on: a page, server-sent events, a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response, WebSocket
from fastapi.responses import StreamingResponse
from starlette.websockets import WebSocketDisconnect

from app.api.dependencies import QueriesDep, ServerDep, ServiceDep, TaskId
from app.api.schemas import EventPage
from app.domain.events import StoredEvent, TaskStateChanged
from app.errors import NotFound
from app.tasks.bus import Lagged
from app.tasks.follow import follow

router = APIRouter(prefix="/tasks/{task_id}/events", tags=["events"])
sockets = APIRouter(prefix="/tasks/{task_id}/events")

MAX_EVENT_BYTES = 256 * 1024
"""A larger event is announced by its number and type; read it from the page."""
SEND_TIMEOUT = 5.0  # seconds a viewer may take for one message
COMMENT_EVERY = 15.0  # seconds of silence before a comment keeps the connection open

After = Annotated[int, Query(ge=0, le=2**53, description="Number of the last event seen.")]


@router.get("")
async def list_events(
    task_id: TaskId,
    queries: QueriesDep,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> EventPage:
    """Stored events after a number, in order, without gaps."""
    task = await queries.tasks.get(task_id)
    events = await queries.tasks.events(task_id, after=after, limit=limit)
    return EventPage(events=list(events), last_seq=task.last_seq)


@router.get(
    "/stream",
    response_class=Response,
    responses={
        200: {"description": "One event a message.", "content": {"text/event-stream": {}}},
        204: {"description": "The task has ended and there is nothing more."},
    },
)
async def stream(
    task_id: TaskId,
    queries: QueriesDep,
    service: ServiceDep,
    server: ServerDep,
    after: After = 0,
    last_event_id: Annotated[
        str, Header(alias="Last-Event-ID", pattern=r"^\d{0,15}$", max_length=15)
    ] = "",
) -> Response:
    """Server-sent events from a number on, ending with the task."""
    start = int(last_event_id or after)
    task = await queries.tasks.get(task_id)
    if task.state.ended and start >= task.last_seq:
        return Response(status_code=204)
    batches = _until_end(
        follow(service.bus, queries.tasks.events, task_id, start, queue=server.viewer_queue),
        task.last_seq if task.state.ended else None,
    )
    return StreamingResponse(_as_messages(batches), media_type="text/event-stream")


@sockets.websocket("")
async def socket(
    websocket: WebSocket,
    task_id: str,
    queries: QueriesDep,
    service: ServiceDep,
    server: ServerDep,
    after: int = 0,
) -> None:
    """JSON of one stored event a message; close codes: 1000 ended, 1012 restart, 1013 too slow."""
    try:
        task = await queries.tasks.get(task_id)
    except NotFound:
        await websocket.close(1008, "There is no such task.")
        return
    await websocket.accept()
    if task.state.ended and after >= task.last_seq:
        await websocket.close(1000, "The task has ended.")
        return
    batches = _until_end(
        follow(service.bus, queries.tasks.events, task_id, after, queue=server.viewer_queue),
        task.last_seq if task.state.ended else None,
    )
    sender = asyncio.create_task(_send_all(websocket, batches))
    reader = asyncio.create_task(_read_until_gone(websocket))
    await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
    for task_ in (sender, reader):
        task_.cancel()
    await asyncio.gather(sender, reader, return_exceptions=True)


async def _send_all(websocket: WebSocket, batches: AsyncGenerator[list[StoredEvent]]) -> None:
    code = 1012
    try:
        async with aclosing(batches):
            async for batch in batches:
                for event in batch:
                    async with asyncio.timeout(SEND_TIMEOUT):
                        await websocket.send_text(event_json(event))
                    if _ends(event):
                        code = 1000
        async with asyncio.timeout(SEND_TIMEOUT):
            await websocket.close(code)
    except (Lagged, TimeoutError):
        async with asyncio.timeout(SEND_TIMEOUT):
            await websocket.close(1013, "Too slow; resume with the last number seen.")
    except WebSocketDisconnect:
        return


async def _read_until_gone(websocket: WebSocket) -> None:
    """What a client sends is not used; reading notices that it left."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _until_end(
    batches: AsyncGenerator[list[StoredEvent]], last: int | None
) -> AsyncGenerator[list[StoredEvent]]:
    """Stops after the event that ended the task, or after the last one of an ended task."""
    async with aclosing(batches):
        async for batch in batches:
            yield batch
            if any(_ends(event) for event in batch) or (last and batch[-1].seq >= last):
                return


async def _as_messages(batches: AsyncGenerator[list[StoredEvent]]) -> AsyncIterator[str]:
    queue: asyncio.Queue[list[StoredEvent] | None] = asyncio.Queue(1)

    async def pump() -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    await queue.put(batch)
        except Lagged:
            pass  # The stream ends; the client comes back with Last-Event-ID.
        await queue.put(None)

    task = asyncio.create_task(pump())
    try:
        while True:
            try:
                async with asyncio.timeout(COMMENT_EVERY):
                    batch = await queue.get()
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if batch is None:
                return
            for event in batch:
                yield f"id: {event.seq}\nevent: {event.event.type}\ndata: {event_json(event)}\n\n"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _ends(event: StoredEvent) -> bool:
    return isinstance(event.event, TaskStateChanged) and event.event.state.ended


def event_json(event: StoredEvent) -> str:
    """One line of JSON, bounded."""
    text = event.model_dump_json()
    if len(text) <= MAX_EVENT_BYTES:
        return text
    short = {"seq": event.seq, "task_id": event.task_id, "at": event.at.isoformat()}
    return json.dumps({**short, "event": {"type": event.event.type, "too_large": True}})
