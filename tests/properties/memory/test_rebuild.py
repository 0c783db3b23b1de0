"""Zones S, F and A have the same bytes after a rebuild from the store, at any step of any task."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.domain.config import MemoryConfig
from app.domain.tasks import TaskState
from tests.unit.agent.wandering import SMALL, Wandering

SWITCHES = (
    "pro_memory_enabled",
    "preserve_operator_message_tail",
    "history_chunks",
    "operator_history_recall",
    "similarity_hint",
    "world",
    "visual_step_summary",
)


def config(*off: str, shadow: bool = False) -> MemoryConfig:
    switches = dict.fromkeys(off, False)
    return MemoryConfig.model_validate({**SMALL, **switches, "visual_step_summary_shadow": shadow})


async def wander(
    seed: int, memory: MemoryConfig, steps: int, kills: frozenset[int], lag: int, factor: float
) -> Wandering:
    with TemporaryDirectory() as folder:
        task = Wandering(
            Path(folder),
            seed,
            memory,
            steps,
            kills,
            lag,
            goal="Wander about. " * (1 + seed % 3 * 200),
            factor=factor,
        )
        state = await task.to_end()
    assert state is TaskState.COMPLETED
    return task


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(
    seed=st.integers(0, 10_000),
    off=st.sets(st.sampled_from(SWITCHES), max_size=2),
    shadow=st.booleans(),
    steps=st.integers(3, 30),
    kills=st.frozensets(st.integers(1, 30), max_size=5),
    lag=st.sampled_from((-1, 0, 2, 9)),
    factor=st.sampled_from((0.5, 1.0, 1.3, 1.6)),
)
def test_a_task_is_taken_up_with_the_same_bytes(
    seed: int,
    off: set[str],
    shadow: bool,
    steps: int,
    kills: frozenset[int],
    lag: int,
    factor: float,
) -> None:
    memory = config(*off, shadow=shadow)
    task = asyncio.run(wander(seed, memory, steps, kills, lag, factor))
    assert task.differing == []
    assert task.compared >= steps


@pytest.mark.parametrize("off", ["", *SWITCHES])
def test_whatever_is_switched_off_a_death_in_every_turn_changes_no_byte(off: str) -> None:
    memory = config(*([off] if off else []))
    kills = frozenset(range(1, 13))
    task = asyncio.run(wander(7, memory, 12, kills, 1, 1.3))
    assert task.differing == []
    assert task.compared >= 24
