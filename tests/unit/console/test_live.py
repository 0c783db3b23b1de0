"""The task page's socket seen from below: slow viewers, unknown tasks, shutdown."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fastapi import FastAPI

from app.console import live
from app.domain.tasks import TaskState
from tests.unit.console.stories import Story, begin

HOST = b"127.0.0.1:8765"


class Viewer:
    """A browser's end of the socket; it can stop reading."""

    def __init__(self, app: FastAPI, task_id: str, after: int = 0, path: str = "") -> None:
        self.sent: list[dict[str, Any]] = []
        self._news = asyncio.Condition()
        self.reading = asyncio.Event()
        self.reading.set()
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "websocket.connect"})
        cookie = app.state.access.session_cookie(secure=False).split(";")[0]
        path = path or f"/tasks/{task_id}/live"
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "scheme": "ws",
            "path": path,
            "raw_path": path.encode(),
            "query_string": f"after={after}".encode(),
            "headers": [
                (b"host", HOST),
                (b"origin", b"http://" + HOST),
                (b"cookie", cookie.encode()),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8765),
            "subprotocols": [],
            "state": {},
        }
        self._task = asyncio.create_task(app(scope, self._incoming.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await self.reading.wait()
        self.sent.append(message)
        async with self._news:
            self._news.notify_all()

    @property
    def texts(self) -> list[str]:
        return [m["text"] for m in self.sent if m["type"] == "websocket.send"]

    @property
    def code(self) -> int | None:
        codes = [m["code"] for m in self.sent if m["type"] == "websocket.close"]
        return codes[0] if codes else None

    async def until(self, words: str) -> None:
        async with asyncio.timeout(5), self._news:
            await self._news.wait_for(lambda: words in "".join(self.texts))

    async def closed(self, seconds: float = 5) -> int | None:
        async with asyncio.timeout(seconds):
            await self._task
        return self.code

    async def leave(self) -> None:
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})
        await self.closed()


async def test_what_is_missed_is_replayed_and_the_rest_is_live(app: FastAPI) -> None:
    story = await begin(app)
    await story.turn()
    viewer = Viewer(app, story.task_id)
    await viewer.until('id="turn-1"')
    await story.turn()
    await viewer.until('id="turn-2"')
    await viewer.leave()
    seq = (await app.state.queries.tasks.get(story.task_id)).last_seq
    again = Viewer(app, story.task_id, after=seq)
    await story.turn()
    await again.until('id="turn-3"')
    assert 'id="turn-2"' not in "".join(again.texts)
    await again.leave()
    assert app.state.service.bus.viewers == 0


async def test_an_update_is_sent_within_200_ms(app: FastAPI) -> None:
    story = await begin(app)
    for _ in range(30):
        await story.turn()
    seq = (await app.state.queries.tasks.get(story.task_id)).last_seq
    viewer = Viewer(app, story.task_id, after=seq)
    await asyncio.sleep(0.1)
    delays = []
    for number in range(31, 36):
        await story.turn(finish=False)
        decided = time.monotonic()
        await viewer.until(f'id="turn-{number}"')
        delays.append(time.monotonic() - decided)
        await story.finish()
    await viewer.leave()
    assert sorted(delays)[2] < 0.2, delays


async def test_a_viewer_that_stopped_reading_slows_nothing_down(app: FastAPI) -> None:
    story = await begin(app)
    stuck = Viewer(app, story.task_id)
    stuck.reading.clear()
    await story.turn()
    assert stuck.code is None, "the task waited until its viewer was given up"
    assert await stuck.closed(live.SEND_TIMEOUT + 5) == 1013
    assert app.state.service.bus.viewers == 0


async def test_a_viewer_that_lags_is_asked_to_come_back(app: FastAPI) -> None:
    app.state.server = app.state.server.model_copy(update={"viewer_queue": 3})
    story = await begin(app)
    slow = Viewer(app, story.task_id)
    await slow.until('id="seq"')
    slow.reading.clear()
    await story.turn()
    await story.turn()
    slow.reading.set()
    assert await slow.closed() == 1013


async def test_an_unknown_task_is_refused(app: FastAPI) -> None:
    assert await Viewer(app, "unknown").closed() == 1008


async def test_viewers_are_sent_away_at_shutdown_and_may_come_back(app: FastAPI) -> None:
    story = await begin(app)
    viewer = Viewer(app, story.task_id)
    await viewer.until('id="seq"')
    app.state.service.bus.close()
    assert await viewer.closed() == 1012


async def test_the_socket_of_a_program_ends_with_its_task(app: FastAPI) -> None:
    story = await begin(app)
    path = f"/api/v1/tasks/{story.task_id}/events"
    viewer = Viewer(app, story.task_id, path=path)
    await story.turn()
    await story.ends(TaskState.COMPLETED)
    assert await viewer.closed() == 1000
    last = (await app.state.queries.tasks.get(story.task_id)).last_seq
    assert len(viewer.texts) == last
    assert '"completed"' in viewer.texts[-1]
    late = Viewer(app, story.task_id, after=last, path=path)
    assert await late.closed() == 1000
    assert late.texts == []


async def test_no_picture_travels_in_a_message(app: FastAPI) -> None:
    story: Story = await begin(app)
    for _ in range(5):
        await story.turn()
    viewer = Viewer(app, story.task_id)
    await viewer.until('id="turn-5"')
    await viewer.leave()
    assert max(map(len, viewer.texts)) < 100_000
    assert "data:" not in "".join(viewer.texts)
