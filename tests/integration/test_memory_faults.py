"""A short walk beside each broken summariser: the benchmark's own arms, without its times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.bench.faults import lines, measure
from app.bench.servers.arms import Arm, Plan
from app.cli.benches import opener
from app.domain.config import MemoryConfig, ModelsConfig, PerceptionConfig, RoleModel
from app.domain.messages import Role
from app.settings import load_settings

STEPS, QUOTA = 14, 6
"""Enough steps for a chunk to close."""
PLAN = Plan(screens=STEPS, scale=6, block=2, thinks=0.01, slow=5.0, quota=QUOTA)
WRITER = RoleModel(model="gemini-3.8-flash", timeout=2.0)
MODELS = ModelsConfig(
    provider="gemini",
    gemini_api_key=SecretStr("unused"),
    roles={**ModelsConfig().roles, Role.SUMMARIZER: WRITER, Role.CHUNK_WRITER: WRITER},
    max_attempts=2,
    first_delay=0.05,
)
MEMORY = MemoryConfig(
    background_deadline=20, background_pause=0.5, background_failures=2, background_flush=3
)
PERCEPTION = PerceptionConfig(settle_interval=0.01)


async def test_every_arm_says_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings(data_dir=tmp_path, memory=MEMORY, perception=PERCEPTION)
    report = await measure(MEMORY, opener(settings), PLAN, MODELS)
    told = "\n".join(lines(report))
    assert not report.mixed
    assert {arm: r.problems for arm, r in report.arms.items() if r.problems} == {}, told

    arms = report.arms
    assert arms[Arm.HEALTHY].summaries == {"visual_ready": STEPS}
    assert set(arms[Arm.HEALTHY].chunks) == {"ready"}
    assert {a for a, r in arms.items() if "visual_ready" in r.summaries} == {
        Arm.HEALTHY,
        Arm.QUOTA,
    }
    for arm in (Arm.SILENT, Arm.SLOW):
        assert set(arms[arm].calls["summaries"]) == {"model_timeout"}
    assert set(arms[Arm.UNAVAILABLE].calls["summaries"]) == {"model_unavailable"}
    assert arms[Arm.GARBAGE].summaries == {"visual_failed": STEPS}
    assert {"judging_word", "third_person", "json"} <= set(arms[Arm.GARBAGE].refusals)
    quota = arms[Arm.QUOTA]
    assert 0 < quota.summaries["visual_ready"] <= QUOTA
    assert quota.background["summaries"][:2] == ("lite", "paused")
    assert all(r.first_call_max <= 16_000 and r.waits == 0 for r in arms.values())
    assert all(arm.value in told for arm in Arm)
    assert set(json.loads(report.model_dump_json())["arms"]) == {arm.value for arm in Arm}
