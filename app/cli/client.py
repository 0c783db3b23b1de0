"""Talks to a running server; starts one in this process when there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import typer

from app.domain.events import StoredEvent
from app.domain.tasks import Task
from app.errors import ArtemisError, Forbidden, NotFound
from app.settings import TOKEN_FILE, Settings

TIMEOUT = 70.0
"""Seconds for one request, long polls included."""
RETRY = 0.5
"""Seconds between tries to reach a server that went away."""
RETRIES = 120


class ServerGone(ArtemisError):
    """The server does not answer any more."""

    code = "server_gone"


class Client:
    """The REST API for commands."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.AsyncClient(
            base_url=address, headers=headers, timeout=TIMEOUT, trust_env=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, **params: object) -> Any:
        return await self._send("GET", path, params={k: v for k, v in params.items() if v})

    async def post(
        self, path: str, body: object = None, *, seconds: float = TIMEOUT, **headers: str
    ) -> Any:
        return await self._send("POST", path, json=body, headers=headers, timeout=seconds)

    async def delete(self, path: str) -> None:
        await self._send("DELETE", path)

    async def put(self, path: str, body: object) -> Any:
        return await self._send("PUT", path, json=body)

    async def answers(self) -> bool:
        """Whether an Artemis server answers there."""
        try:
            reply = await self._http.get("/healthz", timeout=2.0)
        except httpx2.HTTPError:
            return False
        return reply.status_code == 200 and "version" in reply.text

    async def admits(self) -> bool:
        """Whether it takes our token: a server of another data directory does not."""
        try:
            await self.get("/tasks", limit=1)
        except Forbidden:
            return False
        return True

    async def follow(self, task_id: str) -> AsyncIterator[StoredEvent]:
        """Every event of a task once, in order, until it has ended; survives a restart."""
        after, failures = 0, 0
        while True:
            try:
                page = await self.get(f"/tasks/{task_id}/events", after=after, limit=200)
                failures = 0
            except ServerGone:
                failures += 1
                if failures > RETRIES:
                    raise
                await asyncio.sleep(RETRY)
                continue
            events = [StoredEvent.model_validate(e) for e in page["events"]]
            for event in events:
                after = event.seq
                yield event
            if not events and await self._ended(task_id, after):
                return
            await asyncio.sleep(0.0 if events else 0.2)

    async def task(self, task_id: str) -> Task:
        return Task.model_validate(await self.get(f"/tasks/{task_id}"))

    async def _ended(self, task_id: str, after: int) -> bool:
        try:
            task = await self.task(task_id)
        except ServerGone:
            return False
        return task.state.ended and task.last_seq <= after

    async def _send(self, method: str, path: str, **options: Any) -> Any:
        try:
            reply = await self._http.request(method, f"/api/v1{path}", **options)
        except httpx2.HTTPError as error:
            raise ServerGone(f"{self.address} does not answer: {type(error).__name__}") from None
        if reply.status_code >= 400:
            raise _as_error(reply)
        return reply.json() if reply.content else None


def _as_error(reply: httpx2.Response) -> ArtemisError:
    try:
        problem = reply.json()
    except json.JSONDecodeError:
        problem = {}
    text = str(problem.get("detail") or problem.get("title") or f"HTTP {reply.status_code}")
    hint = str(problem.get("hint") or "")
    kind = {401: Forbidden, 403: Forbidden, 404: NotFound}.get(reply.status_code, ArtemisError)
    return kind(text, hint=hint)


@asynccontextmanager
async def connected(settings: Settings, *, demo: bool = False) -> AsyncIterator[Client]:
    """A client of the running server, or of one that lives as long as the command."""
    client = Client(settings.server_url, token_of(settings))
    try:
        if await client.answers():
            if settings.url or await client.admits():
                yield client
                return
            # Without an address of its own, what a command means is its data directory.
            typer.echo(
                f"The server at {settings.server_url} keeps other data; using {settings.data_dir}.",
                err=True,
            )
    finally:
        await client.close()
    if settings.url:
        raise ServerGone(f"no server answers at {settings.url}", hint="start `artemis serve`")
    # Serving imports everything; a command that finds a server starts in a quarter of the time.
    from app.cli.hosting import hosted

    own = settings.model_copy(update={"host": "127.0.0.1", "port": 0})
    async with hosted(own, demo=demo) as server:
        client = Client(server.address, token_of(settings))
        try:
            yield client
        finally:
            await client.close()


def token_of(settings: Settings) -> str:
    """The access token where one is set, else the one in the data directory."""
    if token := settings.access_token.get_secret_value():
        return token
    path = settings.data_dir / TOKEN_FILE
    try:
        return path.read_text().strip()
    except OSError:
        return ""
