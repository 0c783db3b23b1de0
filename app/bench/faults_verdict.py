"""What each arm must show, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from app.bench.faults_arm import TEXTS, WRITERS, Kept
from app.bench.servers.arms import Arm, Seen
from app.domain.config import MemoryConfig, ModelsConfig
from app.domain.messages import Finish, Role
from app.domain.summaries import ChunkState, SummaryStatus
from app.errors import ModelQuota, ModelTimeout, ModelUnavailable

RATIO = 1.1
"""Times the healthy arm's median."""
LONGEST_STILL = 10.0
"""Seconds before a request that are a wait in any case."""
WARM_UP = 5
"""First steps, left out of the times: imports, connections and caches."""
RULES = 5
"""Different rules that garbage must break at least."""
READY, FAILED = SummaryStatus.VISUAL_READY.value, SummaryStatus.VISUAL_FAILED.value


class Ready(StrEnum):
    """How many summaries and capsules there are."""

    ALL = "all"
    SOME = "some"
    NONE = "none"


class Expected(NamedTuple):
    """What an arm's states and counters say."""

    ready: Ready
    outcomes: frozenset[str]
    """Calls end so, and in no other way."""
    moves: tuple[str, ...] = ()
    """States of background work after calls without an answer, in order."""


EXPECTED = {
    Arm.HEALTHY: Expected(Ready.ALL, frozenset({"ok"})),
    Arm.SILENT: Expected(Ready.NONE, frozenset({ModelTimeout.code}), ("paused",)),
    Arm.SLOW: Expected(Ready.NONE, frozenset({ModelTimeout.code}), ("paused",)),
    Arm.GARBAGE: Expected(Ready.NONE, frozenset({"ok", Finish.EMPTY.value})),
    Arm.UNAVAILABLE: Expected(Ready.NONE, frozenset({ModelUnavailable.code}), ("paused",)),
    Arm.QUOTA: Expected(Ready.SOME, frozenset({"ok", ModelQuota.code}), ("lite", "paused")),
}


class ArmReport(Kept):
    """One arm."""

    median_ms: float
    """From the last answer of a turn's look to the operator's request at the model's server."""
    p95_ms: float
    ratio: float
    """Of the medians, to the healthy arm's."""
    asked: int
    """Requests for summaries and capsules, as the model's server counts them."""
    problems: tuple[str, ...] = ()
    """What does not hold, the times left aside."""

    @property
    def in_time(self) -> bool:
        return self.ratio <= RATIO


class Measure(NamedTuple):
    """What an arm is held against."""

    memory: MemoryConfig
    steps: int
    healthy: float
    """The healthy arm's median, in seconds."""
    still: float
    """A longer time before a request, in seconds, is a wait."""


def measure_of(memory: MemoryConfig, models: ModelsConfig, steps: int, healthy: Seen) -> Measure:
    """An operator that waits for a silent writer waits for half its time-out in the mean."""
    timeout = models.roles[Role.SUMMARIZER].timeout
    return Measure(memory, steps, median(timed(healthy.windows)), min(LONGEST_STILL, timeout))


def judge(arm: Arm, kept: Kept, seen: Seen, by: Measure) -> ArmReport:
    """An arm's figures and its verdict."""
    times = timed(seen.windows)
    waits = kept.waits + sum(window > by.still for window in times)
    kept = kept.model_copy(update={"waits": waits})
    problems = [*_common(kept, seen, by), *_as_expected(EXPECTED[arm], kept, by.memory)]
    if arm is Arm.GARBAGE and len(kept.refusals) < RULES:
        problems.append(f"only {len(kept.refusals)} rules refused garbage")
    return ArmReport(
        **kept.model_dump(),
        median_ms=round(1000 * median(times), 2),
        p95_ms=round(1000 * sorted(times)[int(0.95 * (len(times) - 1))], 2),
        ratio=round(median(times) / by.healthy, 3),
        asked=seen.asked,
        problems=tuple(problems),
    )


def timed(windows: Sequence[float]) -> Sequence[float]:
    """Without the warm-up, as far as there are more."""
    return windows[WARM_UP:] or windows or (0.0,)


def _common(kept: Kept, seen: Seen, by: Measure) -> Iterator[str]:
    """What holds whatever the summariser does."""
    config, steps = by.memory, by.steps
    if kept.ended:
        yield f"the task {kept.ended}"
    if kept.steps != steps or len(seen.windows) != steps:
        yield f"{kept.steps} steps with {len(seen.windows)} looks instead of {steps}"
    if kept.first_call_max > config.hard_tokens:
        yield f"a request of {kept.first_call_max:,} tokens"
    if kept.first_call_p95 > config.target_tokens:
        yield f"P95 of requests {kept.first_call_p95:,} tokens"
    if kept.waits:
        yield f"the operator stood still {kept.waits} times"
    if sum(kept.summaries.values()) != kept.steps:
        yield f"{sum(kept.summaries.values())} summary states for {kept.steps} steps"
    if kept.attempts != seen.answered:
        yield f"{kept.attempts} attempts that led to an answer, {seen.answered} answers given"


def _as_expected(expected: Expected, kept: Kept, config: MemoryConfig) -> Iterator[str]:
    stopped = any("stopped" in moves for moves in kept.background.values())
    ready = kept.summaries.get(READY, 0)
    capsules = kept.chunks.get(ChunkState.READY.value, 0)
    match expected.ready:
        case Ready.ALL if ready < kept.steps or capsules < sum(kept.chunks.values()):
            yield f"{ready} summaries and {capsules} capsules are not all"
        case Ready.SOME if not 0 < ready < kept.steps:
            yield f"{ready} of {kept.steps} summaries are not some"
        case Ready.NONE if ready or capsules:
            yield f"{ready} summaries and {capsules} capsules of nothing"
    if expected.ready is not Ready.ALL and not kept.summaries.get(FAILED) and not stopped:
        yield "no summary is said to have failed"
    if missing := expected.outcomes - set(kept.calls["summaries"]):
        yield f"no call for a summary ended in {', '.join(sorted(missing))}"
    for kind in WRITERS.values():
        yield from _halts(expected, kind, kept, config)


def _halts(expected: Expected, kind: str, kept: Kept, config: MemoryConfig) -> Iterator[str]:
    """Calls end as expected, and work halts when, and only when, there is cause."""
    calls, moves = kept.calls[kind], tuple(m for m in kept.background[kind] if m != "stopped")
    if other := set(calls) - expected.outcomes:
        yield f"calls for {kind} ended in {', '.join(sorted(other))}"
    lost = sum(count for outcome, count in calls.items() if outcome not in TEXTS)
    # Quota halts at the first sign, in two steps; other trouble only when it goes on.
    due = lost if len(expected.moves) > 1 else lost - config.background_failures + 1
    cause = expected.moves[: max(0, due)]
    if moves[: max(1, len(expected.moves))] != cause:
        told = ", ".join(moves) or "nothing"
        yield f"{kind}: {told} after {lost} calls without an answer"
