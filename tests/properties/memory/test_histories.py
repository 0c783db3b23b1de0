"""Whatever happens in a long task: its budget, its kept items, and its bytes after a restart."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.memory.zones import Prompt
from tests.unit.memory.histories import ELEMENTS, History, paired
from tests.unit.memory.steps import tail

SEEDS = st.integers(0, 10_000)
LAGS = st.sampled_from((-1, 0, 2, 5, 40))


def zones(prompt: Prompt) -> list[str]:
    """F and A as bytes."""
    return [m.model_dump_json() for m in prompt.messages[:-1]]


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, lag=LAGS, length=st.integers(20, 260))
def test_budget_pairs_and_kept_items_hold_at_every_step(seed: int, lag: int, length: int) -> None:
    task = History(seed, lag)
    before: Prompt | None = None
    for prompt in task.turns(length):
        assert prompt.figures.estimated <= 16_000
        assert paired(prompt)
        assert task.unaccounted(prompt) == []
        assert task.exit_state_told(prompt)
        if prompt.compaction is not None:
            assert prompt.compaction.after.total <= 9_500
        elif before is not None:
            assert zones(prompt)[: len(before.messages) - 1] == zones(before)
        before = prompt


@settings(max_examples=2, deadline=None)
@given(seed=SEEDS, lag=st.sampled_from((-1, 3)))
def test_a_task_of_two_thousand_steps_keeps_what_one_of_fifty_keeps(seed: int, lag: int) -> None:
    task = History(seed, lag)
    totals = []
    for number, prompt in enumerate(task.turns(2_000), 1):
        totals.append(prompt.figures.estimated)
        if number % 29 == 0 or prompt.compaction is not None:
            assert paired(prompt)
            assert task.unaccounted(prompt) == []
    assert max(totals) <= 16_000
    assert sorted(totals)[int(0.95 * len(totals))] <= 12_000


@settings(max_examples=6, deadline=None)
@given(
    seed=SEEDS,
    lag=LAGS,
    length=st.integers(5, 160),
    ratios=st.lists(st.floats(0.5, 1.6), min_size=1, max_size=4),
)
def test_a_restart_at_any_step_changes_no_byte(
    seed: int, lag: int, length: int, ratios: list[float]
) -> None:
    task = History(seed, lag)
    for number, prompt in enumerate(task.turns(length), 1):
        # The prompt just built is that of step `number`; its step is not taken in yet.
        if length <= 60 or number % 7 == 0:
            again = task.again()
            assert again.frozen == task.held.frozen
            assert again.history == task.held.history == prompt.messages[:-1]
            # Whatever was learned since, these zones stand; the next prompt needs it as well.
            again.counter.resume(task.held.counter.ratio)
            second = again.build(tail(number), element_tokens=ELEMENTS, trouble=False)
            assert second.compaction is None
            assert second.messages == prompt.messages
        task.held.counter.learn(1_000, round(1_000 * ratios[number % len(ratios)]))


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, lag=LAGS, length=st.integers(30, 200))
def test_chunks_are_contiguous_and_named_by_their_range(seed: int, lag: int, length: int) -> None:
    task = History(seed, lag)
    for _ in task.turns(length):
        pass
    chunks = task.held.chunks
    assert [c.start_step for c in chunks[:1]] in ([], [1])
    assert all(a.end_step + 1 == b.start_step for a, b in pairwise(chunks))
    assert len({c.chunk_id for c in chunks}) == len(chunks)
    for chunk in chunks:
        steps = task.steps[chunk.start_step - 1 : chunk.end_step]
        assert chunk.source_step_ids == tuple(s.step_id for s in steps)
        assert 1 <= len(steps) <= 12
