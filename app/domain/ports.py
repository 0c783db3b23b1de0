"""The protocols by which the agent and the memory reach the outside.

An adapter converts foreign exceptions to errors.py and holds its own deadlines.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from app.domain.actions import DeviceAction, Receipt
from app.domain.events import Event
from app.domain.memory import RecallQuery, RecallResult, SearchEntry
from app.domain.messages import ModelReply, ModelRequest
from app.domain.screens import ArtifactRef, DeviceView, PictureText, Screenshot
from app.domain.tasks import Ability, TaskHistory


class Device(Protocol):
    """One phone, used by one task at a time.

    `open` and `close` bracket a task. `perform` never raises for what the device said:
    a refusal is a receipt with outcome `error`, a time-out or a session lost in mid-action
    one with outcome `unknown`. `observe` gives what could be had, each missing part with
    its reason. Both raise only SessionLost or DeviceUnreachable.
    """

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> frozenset[Ability]: ...

    @property
    def description(self) -> str:
        """One line for the prompt and for people: kind, platform, size."""
        ...

    @property
    def apps(self) -> dict[str, str]:
        """Names that launch_app understands, to package, bundle id or URL."""
        ...

    async def open(self) -> None:
        """Opens a session; raises DeviceUnreachable or DeviceError."""
        ...

    async def close(self) -> None:
        """Ends the session and cleans up; never raises."""
        ...

    async def observe(self) -> DeviceView: ...

    async def glance(self) -> Screenshot | None:
        """A picture alone, as cheap as possible, for settle detection; None when refused."""
        ...

    async def perform(self, action: DeviceAction) -> Receipt:
        """Performs all actions but `wait` and `scroll_to`."""
        ...

    async def shell(self, command: Sequence[str]) -> str:
        """Runs a command on the device; raises AbilityMissing where the driver has none."""
        ...

    async def keep_alive(self) -> None:
        """Cheap traffic that keeps a paused session from timing out; never raises."""
        ...


class Model(Protocol):
    """Answers one request.

    Raises ModelError subclasses when no answer could be had after all retries; an
    unusable answer (empty, blocked, cut) is a reply with its `finish` word.
    """

    async def generate(self, request: ModelRequest) -> ModelReply: ...


class Recorder(Protocol):
    """Keeps what happens in one task."""

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        """Writes events, the rows they change and the search texts in one transaction."""
        ...

    async def history(self) -> TaskHistory:
        """Everything needed to go on after a restart."""
        ...


class Artifacts(Protocol):
    """Content-addressed store for large things."""

    async def put(self, data: bytes, media_type: str) -> ArtifactRef: ...

    async def get(self, ref: ArtifactRef) -> bytes:
        """Raises NotFound."""
        ...


class SearchIndex(Protocol):
    """Full-text search over one task's recorded texts."""

    async def search(self, query: RecallQuery) -> RecallResult:
        """Any text is a legal query; nothing found is an empty result."""
        ...


class Ocr(Protocol):
    """Reads text from a picture."""

    @property
    def problem(self) -> str:
        """Why no text can be read; empty while it can."""
        ...

    async def read(self, screenshot: Screenshot, *, urgent: bool = False) -> PictureText:
        """Reads a picture once, whoever asks; an urgent one goes before all that wait.

        Raises PictureUnread.
        """
        ...


class Background(Protocol):
    """Takes background work and returns at once."""

    def submit(self, name: str, work: Callable[[], Awaitable[None]]) -> None: ...


class Clock(Protocol):
    """Time as the program sees it, so that tests can set it."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    async def sleep(self, seconds: float) -> None: ...
