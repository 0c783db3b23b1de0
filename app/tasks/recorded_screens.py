"""Shows the screens of a recorded run as Perception reads them, with their evidence stored."""

from __future__ import annotations

import asyncio
import uuid
from datetime import datetime

from app.devices.pictures import read_picture
from app.domain.config import PerceptionConfig
from app.domain.ports import Artifacts
from app.domain.screens import DeviceView, Dialect, Observation, TreeStatus, UiSource, UiTree
from app.perception.observe import interpret
from app.perception.redact import without_passwords
from app.tasks.recorded import Line, RecordedRun

MAX_FILE = 32 * 1024 * 1024
"""Bytes of one picture or tree."""
REMEMBERED = 16
"""Screens kept parsed: neighbouring steps often share one, and long runs see thousands."""
NOT_SHOWN = "the recording does not show the screen before this action"


class RecordedScreens:
    """The screens of one run."""

    def __init__(self, run: RecordedRun, artifacts: Artifacts, config: PerceptionConfig) -> None:
        self._run = run
        self._artifacts = artifacts
        self._config = config
        self._seen: dict[tuple[str, str], Observation] = {}

    async def shown(self, line: Line, at: datetime) -> Observation | None:
        """The recorded screen as Perception reads it; None where the line has none."""
        key = (line.screenshot or "", line.ui or "")
        if not any(key):
            return None
        if (known := self._seen.get(key)) is None:
            known = self._seen[key] = await self._read(line, at)
            if len(self._seen) > REMEMBERED:
                del self._seen[next(iter(self._seen))]
        return known.model_copy(
            update={
                "observation_id": str(uuid.uuid4()),
                "taken_at": at,
                "package": line.package or known.tree.package,
                "activity": line.activity or "",
            }
        )

    async def _read(self, line: Line, at: datetime) -> Observation:
        view = await asyncio.to_thread(self._view, line, at)
        seen = await asyncio.to_thread(interpret, view, self._config)
        put = self._artifacts.put
        shot, source, model = view.screenshot, view.source, seen.model_image
        window = view.window if view.window.width else seen.image_size or view.window
        return Observation(
            observation_id="",
            taken_at=at,
            tree=seen.tree,
            window=window,
            orientation="landscape" if window.width > window.height else "portrait",
            problems=seen.problems,
            screenshot=await put(shot.data, shot.media_type) if shot is not None else None,
            model_image=await put(model.data, "image/jpeg") if model is not None else None,
            image_size=seen.image_size,
            black=seen.black,
            source_ref=await put(
                without_passwords(source).text.encode(errors="replace"),
                "text/plain; charset=utf-8",
            )
            if source is not None
            else None,
            tree_ref=await put(seen.tree.model_dump_json().encode(), "application/json"),
            dhash=seen.dhash,
            signature=seen.signature,
            content_hash=seen.content_hash,
            element_count=len(seen.tree.elements),
        )

    def _view(self, line: Line, at: datetime) -> DeviceView:
        picture = read_picture(self._bytes(line.screenshot)) if line.screenshot else None
        text = self._bytes(line.ui).decode("utf-8", "replace") if line.ui else None
        return DeviceView(
            taken_at=at,
            screenshot=picture.screenshot if picture else None,
            screenshot_problem=picture.problem if picture else "the recording has no picture here",
            source=UiSource(dialect=Dialect.UNKNOWN, text=text) if text is not None else None,
            source_problem="" if text is not None else "the recording has no UI tree here",
            window=self._run.screen,
            package=line.package or "",
            activity=line.activity or "",
        )

    def _bytes(self, name: str | None) -> bytes:
        path = self._run.file(name or "")
        return path.read_bytes() if path.stat().st_size <= MAX_FILE else b""

    def unseen(self, line: Line, at: datetime) -> Observation:
        """What is known of the screen before an action that only its result was recorded of."""
        return Observation(
            observation_id=str(uuid.uuid4()),
            taken_at=at,
            tree=UiTree(status=TreeStatus.FAILED, reason=NOT_SHOWN),
            window=self._run.screen,
            package=line.package or "",
            activity=line.activity or "",
            problems=(NOT_SHOWN,),
        )
