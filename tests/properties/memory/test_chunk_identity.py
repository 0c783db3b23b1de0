"""A plan that is rewritten, renamed or rolled back changes no chunk that is closed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.actions import Verdict
from app.domain.summaries import HistoryChunk
from app.domain.tasks import StepRecord
from app.memory.chunks import Chunker
from tests.unit.memory.steps import observation, step

KINDS = st.tuples(
    st.sampled_from(("a", "b", "")),
    st.sampled_from(("org.one", "org.two")),
    st.booleans(),
    st.sampled_from((Verdict.EXECUTED, Verdict.ERROR)),
)


def built(number: int, kind: tuple[str, str, bool, Verdict]) -> StepRecord:
    subgoal, package, effect, verdict = kind
    seen = observation(number).model_copy(update={"package": package})
    done = step(number, verdict=verdict, irreversible=effect)
    return done.model_copy(update={"observation": seen, "subgoal_hash": subgoal})


def chunks(steps: list[StepRecord]) -> list[HistoryChunk]:
    chunker = Chunker("task")
    return [c for one in steps for c in chunker.feed(one, {})]


@given(kinds=st.lists(KINDS, max_size=80), cut=st.integers(0, 80), other=st.text(max_size=8))
def test_what_comes_later_changes_no_closed_chunk(
    kinds: list[tuple[str, str, bool, Verdict]], cut: int, other: str
) -> None:
    steps = [built(n, kind) for n, kind in enumerate(kinds, 1)]
    closed = chunks(steps[:cut])
    assert chunks(steps)[: len(closed)] == closed
    rewritten = [
        s.model_copy(update={"subgoal_hash": other, "plan_revision": 9}) for s in steps[cut:]
    ]
    assert chunks(steps[:cut] + rewritten)[: len(closed)] == closed


@given(kinds=st.lists(KINDS, max_size=60), revisions=st.lists(st.integers(0, 99), min_size=60))
def test_revisions_and_a_hash_renamed_everywhere_change_nothing(
    kinds: list[tuple[str, str, bool, Verdict]], revisions: list[int]
) -> None:
    steps = [built(n, kind) for n, kind in enumerate(kinds, 1)]
    renamed = [
        s.model_copy(
            update={
                "plan_revision": revision,
                "subgoal_hash": f"renamed {s.subgoal_hash}" if s.subgoal_hash else "",
            }
        )
        for s, revision in zip(steps, revisions, strict=False)
    ]
    assert chunks(renamed) == chunks(steps)


@given(edits=st.sets(st.integers(1, 40)))
def test_an_edit_for_one_step_leaves_no_boundary(edits: set[int]) -> None:
    alone = {n for n in edits if n - 1 not in edits and n + 1 not in edits}
    kinds = [("b" if n in alone else "a", "org.one", False, Verdict.EXECUTED) for n in range(1, 41)]
    plain = [("a", *rest) for _, *rest in kinds]
    steps = [built(n, kind) for n, kind in enumerate(kinds, 1)]
    assert chunks(steps) == chunks([built(n, kind) for n, kind in enumerate(plain, 1)])  # type: ignore[arg-type]


@given(kinds=st.lists(KINDS, max_size=80))
def test_chunks_follow_each_other_without_gap(kinds: list[tuple[str, str, bool, Verdict]]) -> None:
    closed = chunks([built(n, kind) for n, kind in enumerate(kinds, 1)])
    numbers = [n for c in closed for n in range(c.start_step, c.end_step + 1)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(kinds) - len(numbers) < 12
