"""Step summaries, chunks and capsules: what is written about steps after they happened."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from app.domain.values import Value


class SummaryStatus(StrEnum):
    """States of a step's summary; `SUMMARY_TRANSITIONS` says which may follow which."""

    PENDING = "pending"
    VISUAL_READY = "visual_ready"
    """A version that passed every check is there (also one made without a picture)."""
    VISUAL_FAILED = "visual_failed"
    """No version passed within the bounds; an earlier one goes on serving."""
    STALE = "stale"
    """The prompt or the evidence moved on, or a reviewer rejected it."""


SUMMARY_TRANSITIONS: dict[SummaryStatus, frozenset[SummaryStatus]] = {
    SummaryStatus.PENDING: frozenset({SummaryStatus.VISUAL_READY, SummaryStatus.VISUAL_FAILED}),
    SummaryStatus.VISUAL_FAILED: frozenset({SummaryStatus.VISUAL_READY}),
    SummaryStatus.VISUAL_READY: frozenset({SummaryStatus.STALE}),
    SummaryStatus.STALE: frozenset({SummaryStatus.VISUAL_READY}),
}


class Refusal(Value):
    """Why a machine check refused a text."""

    rule: str
    """Name of the rule: `judging_word`, `third_person`, `value_without_source`, …"""
    detail: str
    """What in the text broke it."""


class SummaryEvidenceMetadata(Value):
    """What a summary was really made from; never written by a model."""

    step_id: str
    decision_image_name: str | None = None
    """Content hash of the picture that was really sent."""
    post_image_name: str | None = None
    used_ui_diff: bool = False
    model: str
    prompt_version: int
    summary_version: int
    seconds_to_ready: float = 0.0
    """From the step's end to this version."""


class StepSummary(Value):
    """One version of one step's summary; versions append and are never overwritten."""

    step_id: str
    step_number: int
    version: int
    """1, 2, 3 … per step; an older one that arrives late loses."""
    text: str
    evidence: SummaryEvidenceMetadata
    image_only: tuple[str, ...] = ()
    """Values that stand only in the pictures."""
    conflict: str = ""
    """Where it contradicts the validator; for reviewers."""
    lite: bool = False
    """Made by the lite model; redone when idle if a check or an omission says so."""


class Interval(Value):
    """One entry of band ②: what a run of steps was doing and what was seen."""

    start_step: int
    end_step: int
    text: str


class Capsule(Value):
    """The two bands that a model writes."""

    doing: str = ""
    did: str = ""
    effect: str = ""
    entry_state: str = ""
    exit_state: str = ""
    verified_facts: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    failed_paths: tuple[str, ...] = ()
    important_entities: tuple[str, ...] = ()
    intervals: tuple[Interval, ...] = ()


class ChunkState(StrEnum):
    """States of a closed chunk's capsule."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"
    """Summaries and ledger go on serving; retried when idle."""


class Boundary(StrEnum):
    """Why a chunk was closed."""

    STEPS = "steps"
    TOKENS = "tokens"
    APP = "app"
    """Another package or site is in front."""
    GOAL = "goal"
    """A person gave an instruction."""
    RECOVERY = "recovery"
    STRATEGY = "strategy"
    PAUSE = "pause"
    EFFECT = "effect"
    """An irreversible side effect."""
    RESULT = "result"
    """An important external result."""
    MILESTONE = "milestone"
    """The subgoal hash stamped on executed steps changed."""
    END = "end"


class HistoryChunk(Value):
    """A closed, contiguous range of steps. Its identity is its range; versions append."""

    chunk_id: str
    session_id: str
    """The task's id."""
    start_step: int
    end_step: int
    start_step_id: str
    end_step_id: str
    source_step_ids: tuple[str, ...]
    boundary: Boundary
    state: ChunkState = ChunkState.PENDING
    version: int = 0
    """Version of the capsule; 0 while there is none."""
    capsule: Capsule | None = None
    digest: str = ""
    """Bands ① and ② as rendered for the prompt."""
    image_only: tuple[str, ...] = ()
    model: str = ""
    prompt_version: int = 0
    attempts: int = 0
    refusals: tuple[Refusal, ...] = ()
    over_length: bool = Field(default=False)
    """Bands ① and ② are longer than about a third of their source (recorded, not refused)."""
    seconds_to_ready: float = 0.0
