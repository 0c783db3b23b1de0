"""`artemis bench memory-faults`: a walk beside summarisers that do not do their work."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bench.faults_arm import ArmRun, OpenWorker, walk_all
from app.bench.faults_verdict import RATIO, ArmReport, judge, measure_of
from app.bench.servers.arms import Arm, Plan
from app.bench.servers.process import Outside
from app.domain.config import MemoryConfig, ModelsConfig
from app.domain.values import Value
from app.errors import InvalidInput

LEAST_STEPS, MOST_STEPS = 12, 5_000
QUOTA_SHARE = 3
"""A day's quota lasts for one in so many steps."""


class Report(Value):
    """The benchmark's answer."""

    steps: int
    arms: dict[Arm, ArmReport]
    mixed: bool
    """An arm stood still for so long that the order of turns was given up."""

    @property
    def kept(self) -> bool:
        """Whether every arm shows what it must."""
        fine = all(arm.in_time and not arm.problems for arm in self.arms.values())
        return fine and not self.mixed


async def main(memory: MemoryConfig, open_worker: OpenWorker, steps: int, *, as_json: bool) -> int:
    """Walks and prints; exit code 0 when every arm shows what it must."""
    report = await measure(memory, open_worker, plan(steps))
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.kept else 1


def plan(steps: int) -> Plan:
    """Raises InvalidInput."""
    if not LEAST_STEPS <= steps <= MOST_STEPS:
        hint = f"give {LEAST_STEPS} to {MOST_STEPS:,}"
        raise InvalidInput(f"{steps} steps cannot be walked", hint=hint)
    return Plan(screens=steps, quota=steps // QUOTA_SHARE)


async def measure(
    memory: MemoryConfig,
    open_worker: OpenWorker,
    plan: Plan,
    models: ModelsConfig | None = None,
) -> Report:
    """All arms over the same walk, in turns; `memory` is what the workers use."""
    models = models or ModelsConfig(provider="gemini")
    with TemporaryDirectory(prefix="artemis-bench-") as folder:
        async with Outside(plan) as outside:
            runs = [
                ArmRun(arm, outside.arms[arm], Path(folder) / arm.value, plan, models, open_worker)
                for arm in Arm
            ]
            kept = await walk_all(runs)
            seen = await outside.report()
    by = measure_of(memory, models, plan.screens, seen.arms[Arm.HEALTHY])
    return Report(
        steps=plan.screens,
        arms={arm: judge(arm, kept[arm], seen.arms[arm], by) for arm in Arm},
        mixed=seen.mixed,
    )


def lines(report: Report) -> list[str]:
    """The report as a table, and below it what happened in each arm."""
    head = ("", "median ms", "P95 ms", "ratio", "largest", "P95", "waits")
    rows = [
        (
            arm.value,
            f"{r.median_ms:.1f}",
            f"{r.p95_ms:.1f}",
            f"{r.ratio:.2f}",
            f"{r.first_call_max:,}",
            f"{r.first_call_p95:,}",
            f"{r.waits}",
        )
        for arm, r in report.arms.items()
    ]
    out = [f"{report.steps} steps an arm, in turns; from observation to request", ""]
    out += ["".join(f"{cell:>12}" for cell in row) for row in (head, *rows)]
    out += ["", f"targets: ratio {RATIO}, largest 16,000, P95 12,000, waits 0"]
    for arm, r in report.arms.items():
        out += ["", f"{arm.value}: {r.asked} background requests, {r.compactions} compactions"]
        out += [f"  {name:<11}{told}" for name, told in _told(r) if told]
        out += [f"  PROBLEM: {problem}" for problem in r.problems]
    if report.mixed:
        out += ["", "PROBLEM: an arm stood still, and others were let on out of turn"]
    out += ["", f"targets: {'kept' if report.kept else 'NOT KEPT'}"]
    return out


def _told(r: ArmReport) -> tuple[tuple[str, str], ...]:
    calls = "; ".join(f"{kind}: {_counts(found)}" for kind, found in r.calls.items() if found)
    moves = "; ".join(f"{kind}: {', '.join(m)}" for kind, m in r.background.items() if m)
    return (
        ("summaries", _counts(r.summaries)),
        ("chunks", _counts(r.chunks)),
        ("calls", calls),
        ("background", moves),
        ("refused by", _counts(r.refusals)),
        ("fallbacks", _counts(r.fallbacks)),
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
