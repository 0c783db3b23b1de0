"""`artemis bench context`: what a long walk's prompts cost, and whether its values come back."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from app.bench.stand import Prompted, Sections, Stand
from app.bench.walk import LABELS, Walk
from app.domain.memory import RecallQuery, ZoneTokens
from app.domain.values import Value
from app.errors import InvalidInput
from app.memory.recall import render

SAMPLES = 300
"""Values asked for at the end, drawn over all ages."""
REBUILDS = 20
"""Steps, spread over the walk, at which a restart is compared; the last step is another."""
MAX_STEPS = 20_000
SCALE = 12
"""The walk's pictures are small: only that they are there counts."""


class Targets(NamedTuple):
    """What a walk of 300 steps or more must keep to."""

    first_call_p95: int = 12_000
    first_call_max: int = 16_000
    stable_tokens: int = 5_000
    uncached_beyond_screen: float = 450
    prefix_share: float = 0.70


class Reach(Value):
    """Where the sampled values were found."""

    sampled: int
    shown: int
    """In the last prompt itself."""
    recalled: int
    """By one recall_history with the row's label and the screen's title."""
    missing: tuple[str, ...] = ()
    """Some of those that were not found."""


class Report(Value):
    """The benchmark's answer."""

    steps: int
    first_call_median: int
    first_call_p95: int
    first_call_max: int
    historical_images: int
    """Pictures in a first request besides the current one, over all requests."""
    stable_tokens: int
    zones_mean: ZoneTokens
    prefix_share: float
    """Of a request's tokens, those it has in common with the request before."""
    uncached_per_step: float
    uncached_beyond_screen: float
    """Without the current picture and the element list."""
    compactions: int
    compacted_max: int
    """Most tokens after a compaction."""
    folds: int
    """Compactions that folded old parts into an era."""
    chunks: int
    chunks_ready: int
    summaries: int
    fallbacks: dict[str, int]
    values_reachable: float
    values: Reach
    waits: int
    """Times the operator's turn stood still until background work was done."""
    rebuilds: int
    """Requests compared with one that a restarted process would send."""
    rebuild_identical: int
    """Of these, those with the same bytes of S, F and A."""

    @property
    def kept(self) -> bool:
        """Whether the targets are kept."""
        target = Targets()
        return (
            self.first_call_p95 <= target.first_call_p95
            and self.first_call_max <= target.first_call_max
            and self.historical_images == 0
            and self.stable_tokens <= target.stable_tokens
            and self.uncached_beyond_screen <= target.uncached_beyond_screen
            and self.prefix_share >= target.prefix_share
            and self.values_reachable == 1.0
            and self.waits == 0
            and self.rebuild_identical == self.rebuilds > 0
        )


async def main(settings: Sections, steps: int, *, as_json: bool) -> int:
    """Walks and prints; exit code 0 when every target is kept."""
    report = await measure(settings, steps)
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.kept else 1


async def measure(settings: Sections, steps: int) -> Report:
    """The real runner and store over a walk of so many steps."""
    if not 2 <= steps <= MAX_STEPS:
        raise InvalidInput(f"{steps} steps cannot be walked", hint=f"give 2 to {MAX_STEPS:,}")
    walk = Walk(screens=steps, pictures=True, scale=SCALE, wordy=True)
    with TemporaryDirectory(prefix="artemis-bench-") as folder:
        sampled = {1 + (steps - 1) * i // REBUILDS for i in range(REBUILDS + 1)}
        async with Stand(settings, walk, Path(folder), rebuild_at=sampled) as stand:
            await stand.walk_on()
            reach = await _reach(stand, walk)
            return _report(stand, walk, reach)


async def _reach(stand: Stand, walk: Walk) -> Reach:
    """Looks for values drawn over all ages: in the last prompt, else by one recall."""
    draw = random.Random(walk.seed)
    shown = recalled = 0
    missing: list[str] = []
    last = stand.model.last_text
    for sample in range(SAMPLES):
        # One screen from each of as many equal stretches, so that every age is asked for.
        low, high = sample * walk.screens // SAMPLES, (sample + 1) * walk.screens // SAMPLES
        number = draw.randint(low + 1, max(low + 1, high))
        row = walk.rows(number)[draw.randrange(len(LABELS))]
        if row.value in last:
            shown += 1
            continue
        query = f"{row.label} {walk.title(number)}"
        found = await stand.search.search(RecallQuery(query=query))
        if row.value in render(found):
            recalled += 1
        elif len(missing) < 10:
            missing.append(query)
    return Reach(sampled=SAMPLES, shown=shown, recalled=recalled, missing=tuple(missing))


def _report(stand: Stand, walk: Walk, reach: Reach) -> Report:
    prompts = stand.recorder.prompts
    totals = sorted(p.total for p in prompts)
    later = prompts[1:]
    return Report(
        steps=len(prompts),
        first_call_median=totals[len(totals) // 2],
        first_call_p95=totals[min(len(totals) - 1, int(0.95 * len(totals)))],
        first_call_max=totals[-1],
        historical_images=sum(max(0, p.images - 1) for p in prompts),
        stable_tokens=max(p.zones.stable for p in prompts),
        zones_mean=_mean(prompts),
        prefix_share=round(sum(p.shared for p in later) / sum(p.total for p in later), 4),
        uncached_per_step=round(mean(p.total - p.shared for p in later), 1),
        uncached_beyond_screen=round(
            mean(p.total - p.shared - p.zones.image - p.zones.elements for p in later), 1
        ),
        compactions=sum(p.compacted for p in prompts),
        compacted_max=max((p.total for p in prompts if p.compacted), default=0),
        folds=sum(p.folded for p in prompts),
        chunks=len(stand.run.transcript.chunks),
        chunks_ready=sum(c.capsule is not None for c in stand.run.transcript.chunks),
        summaries=len(stand.run.transcript.summaries),
        fallbacks=dict(stand.recorder.fallbacks),
        values_reachable=round((reach.shown + reach.recalled) / reach.sampled, 4),
        values=reach,
        waits=stand.model.waits,
        rebuilds=stand.rebuilds.compared,
        rebuild_identical=stand.rebuilds.compared - len(stand.rebuilds.differing),
    )


def _mean(prompts: Sequence[Prompted]) -> ZoneTokens:
    names = tuple(ZoneTokens.model_fields)
    return ZoneTokens(**{n: round(mean(getattr(p.zones, n) for p in prompts)) for n in names})


def lines(report: Report) -> list[str]:
    """The report as a table."""
    target, zones = Targets(), report.zones_mean
    rows = (
        ("first call, median", f"{report.first_call_median:,}", ""),
        ("first call, P95", f"{report.first_call_p95:,}", f"at most {target.first_call_p95:,}"),
        ("first call, maximum", f"{report.first_call_max:,}", f"at most {target.first_call_max:,}"),
        ("historical images", f"{report.historical_images}", "0"),
        ("S", f"{report.stable_tokens:,}", f"at most {target.stable_tokens:,}"),
        ("F, A, T, mean", f"{zones.frozen:,}  {zones.active:,}  {zones.tail:,}", ""),
        ("  picture, elements", f"{zones.image:,}  {zones.elements:,}", ""),
        ("prefix share", f"{report.prefix_share:.3f}", f"at least {target.prefix_share}"),
        ("uncached a step", f"{report.uncached_per_step:,.0f}", ""),
        (
            "  beyond the screen",
            f"{report.uncached_beyond_screen:,.0f}",
            f"at most {target.uncached_beyond_screen:g}",
        ),
        ("compactions, of them folds", f"{report.compactions}, {report.folds}", ""),
        ("largest after a compaction", f"{report.compacted_max:,}", ""),
        ("chunks, of them ready", f"{report.chunks}, {report.chunks_ready}", ""),
        ("summaries", f"{report.summaries}", ""),
        ("waits for background work", f"{report.waits}", "0"),
        ("rebuilt, of them identical", f"{report.rebuilds}, {report.rebuild_identical}", "all"),
        (
            "values shown, recalled",
            f"{report.values.shown}, {report.values.recalled} of {report.values.sampled}",
            "all",
        ),
    )
    out = [f"{report.steps} steps over numbered screens", ""]
    out += [f"{name:<28}{value:>20}   {goal}".rstrip() for name, value, goal in rows]
    out += [f"  not found: {query}" for query in report.values.missing]
    out += [f"  fallback {kind}: {count}" for kind, count in sorted(report.fallbacks.items())]
    out += ["", f"targets: {'kept' if report.kept else 'NOT KEPT'}"]
    return out
