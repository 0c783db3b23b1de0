"""A recorded run served as a device: it advances when the recorded action is repeated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.devices.abilities import abilities_of
from app.devices.pictures import Picture, read_picture
from app.devices.recording import Recording, Scene, read_recording
from app.devices.repeats import repeats
from app.domain.actions import DeviceAction, Outcome, Receipt
from app.domain.config import DeviceConfig
from app.domain.screens import DeviceView, Dialect, Screenshot, UiSource
from app.domain.tasks import Ability
from app.errors import AbilityMissing, ConfigurationError, DeviceUnreachable, SessionLost

MAX_FILE = 32 * 1024 * 1024
"""Bytes of one picture or UI dump."""


class ReplayDevice:
    """Implements domain.ports.Device over a folder; see docs/devices.md for its schema."""

    def __init__(
        self, config: DeviceConfig, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        if not config.replay_path:
            raise ConfigurationError(f"The replay device {config.name} has no replay_path.")
        self._config = config
        self._folder = Path(config.replay_path)
        self._now = now
        self._recording: Recording | None = None
        self._position = 0

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def abilities(self) -> frozenset[Ability]:
        return abilities_of(self._config)

    @property
    def description(self) -> str:
        return f"{self.name}: a recorded run ({self._folder.name}), played back"

    @property
    def apps(self) -> dict[str, str]:
        return dict(self._config.apps)

    @property
    def position(self) -> tuple[int, int]:
        """Actions repeated so far, and recorded ones in all."""
        return self._position, len(self._recording.scenes) - 1 if self._recording else 0

    async def open(self) -> None:
        """Starts at the beginning, or goes on where the same device object stood."""
        if self._recording is None:
            try:
                self._recording = await asyncio.to_thread(read_recording, self._folder)
            except (OSError, ValueError) as error:
                raise DeviceUnreachable(f"The recorded run cannot be read: {error}") from None

    async def close(self) -> None:
        return

    async def observe(self) -> DeviceView:
        return await asyncio.to_thread(self._view, self._opened(), self._scene())

    async def glance(self) -> Screenshot | None:
        return (await asyncio.to_thread(self._picture, self._scene())).screenshot

    async def perform(self, action: DeviceAction) -> Receipt:
        started = time.monotonic()
        scene = self._scene()
        if scene.action is None:
            message = "the recording ends here"
        elif repeats(action, scene.action, self._opened()):
            self._position += 1
            message = f"as recorded in step {scene.action.step}"
        else:
            message = f"not what was recorded in step {scene.action.step}; nothing happens"
        return Receipt(
            outcome=Outcome.OK, message=message, seconds=round(time.monotonic() - started, 3)
        )

    async def shell(self, command: Sequence[str]) -> str:
        raise AbilityMissing("A recorded run has no shell.")

    async def keep_alive(self) -> None:
        return

    def _opened(self) -> Recording:
        if self._recording is None:
            raise SessionLost("The recorded run is not open.")
        return self._recording

    def _scene(self) -> Scene:
        return self._opened().scenes[self._position]

    def _view(self, recording: Recording, scene: Scene) -> DeviceView:
        picture = self._picture(scene)
        source, problem = self._source(scene)
        return DeviceView(
            taken_at=self._now(),
            screenshot=picture.screenshot,
            screenshot_problem=picture.problem,
            source=source,
            source_problem=problem,
            window=recording.screen,
            orientation="landscape"
            if recording.screen.width > recording.screen.height
            else "portrait",
            package=scene.package,
            activity=scene.activity,
        )

    def _picture(self, scene: Scene) -> Picture:
        data = self._read(scene.screenshot)
        if data is None:
            return Picture(None, "the recording has no picture here")
        return read_picture(data)

    def _source(self, scene: Scene) -> tuple[UiSource | None, str]:
        data = self._read(scene.ui)
        if data is None:
            return None, "the recording has no UI tree here"
        text = data.decode("utf-8", "replace")
        return UiSource(dialect=_dialect(scene.ui, text), text=text), ""

    def _read(self, name: str) -> bytes | None:
        """A file of the recording; a name that leads out of it counts as missing."""
        path = (self._folder / name).resolve()
        if not name or not path.is_relative_to(self._folder.resolve()):
            return None
        try:
            return path.read_bytes() if path.stat().st_size <= MAX_FILE else None
        except OSError:
            return None


def _dialect(name: str, text: str) -> Dialect:
    if name.endswith(".xml"):
        return Dialect.XCUITEST if "XCUIElementType" in text else Dialect.UIAUTOMATOR2
    if name.endswith(".json"):
        droidbot = '"view_str"' in text or '"views"' in text
        return Dialect.DROIDBOT if droidbot else Dialect.ELEMENTS
    return Dialect.TEXT if name.endswith(".txt") else Dialect.UNKNOWN
