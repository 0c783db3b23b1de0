"""What memory and recall exchange with the rest; figures of a prompt."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from app.domain.screens import ArtifactRef
from app.domain.values import Value


class Zone(StrEnum):
    """A part of the prompt with its own rule of change."""

    STABLE = "S"
    FROZEN = "F"
    ACTIVE = "A"
    TAIL = "T"


class ZoneTokens(Value):
    """Estimated tokens by zone; the tail's image and element list are part of it, and apart."""

    stable: int = 0
    frozen: int = 0
    active: int = 0
    tail: int = 0
    image: int = 0
    """Part of the tail."""
    elements: int = 0
    """Part of the tail."""

    @property
    def total(self) -> int:
        return self.stable + self.frozen + self.active + self.tail


class Departure(Value):
    """Something that left the prompt or was shortened, and why."""

    what: str
    why: str
    tokens: int


class PromptFigures(Value):
    """Figures of one operator prompt, kept with its call."""

    zones: ZoneTokens = ZoneTokens()
    estimated: int = 0
    """After correction by the provider's own figures."""
    ratio: float = 1.0
    """Real tokens per estimated one, as the correction stood."""
    shared_prefix: int = 0
    """Tokens in common with the previous request, from the first byte."""
    images: int = 0
    turns_in_active: int = 0
    frozen_lines: int = 0
    compacted: bool = False
    departures: tuple[Departure, ...] = ()
    waits: int = 0
    """Times the task waited for background work since the prompt before: 0."""


class BackgroundState(Value):
    """What is still being written about earlier steps, as the operator's prompt counts it."""

    summaries: int = 0
    """Steps that wait for a summary."""
    chunks: int = 0
    """Chunks that wait for a capsule."""
    halted: tuple[str, ...] = ()
    """Kinds of work that are paused or stopped."""
    conflicts: tuple[int, ...] = ()
    """Newest steps whose summary contradicts the validator."""
    waits: int = 0
    """Times so far that the task waited for it: 0."""

    def line(self) -> str:
        """Only what there is; empty where nothing waits but the newest step's summary."""
        summaries = self.summaries if self.summaries > 1 else 0
        waiting = ((summaries, "summary", "summaries"), (self.chunks, "chunk", "chunks"))
        parts = [f"{n} {one if n == 1 else many} pending" for n, one, many in waiting if n]
        return ", ".join((*parts, *(f"{kind} halted" for kind in self.halted)))


class TextKind(StrEnum):
    """What kind of recorded text a search entry holds."""

    ACTION = "action"
    SCREEN = "screen"
    THINKING = "thinking"
    VERDICT = "verdict"
    RECOVERY = "recovery"
    NOTE = "note"
    REMEMBERED = "remembered"
    INSTRUCTION = "instruction"
    TOOL = "tool"
    APP = "app"
    OCR = "ocr"
    SUMMARY = "summary"
    CHUNK = "chunk"
    PLAN = "plan"
    ANSWER = "answer"


class SearchEntry(Value):
    """One text to be found later."""

    step_number: int
    kind: TextKind
    text: str


class RecallQuery(Value):
    """`recall_history` as asked for. Any text is legal."""

    query: str = Field(default="", max_length=20_000)
    step_range: tuple[int, int] | None = None
    include_details: bool = False
    include_images: bool = False
    max_results: int = Field(default=5, ge=1, le=50)
    max_tokens: int = Field(default=2_000, ge=100, le=20_000)


class RecallHit(Value):
    """One step that matched, with the excerpt around the match."""

    step_number: int
    kind: TextKind
    excerpt: str
    score: float
    details: str = ""
    image: ArtifactRef | None = None


class RecallResult(Value):
    """Hits best first."""

    results: tuple[RecallHit, ...] = ()
    tokens: int = 0
    truncated: bool = False


class WorldEvent(Value):
    """One entry of the believed history."""

    step_number: int
    page: str
    action: str
    success: bool | None
    """None where the outcome is unknown."""


class WorldState(Value):
    """What the runtime believes about one task; advisory, never a fact."""

    current_app: str | None = None
    current_page: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    history: tuple[WorldEvent, ...] = ()
    """The last 10 events, oldest first."""
