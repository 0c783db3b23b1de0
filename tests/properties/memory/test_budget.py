"""Whatever a task's history is, its prompt keeps the hard limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.messages import Call, Response
from tests.unit.memory.steps import step, tail, transcript

TEXT = st.text(max_size=3_000) | st.sampled_from(
    ["很" * 4_000, "x" * 30_000, "\n" * 500, '"' * 900]
)


@settings(max_examples=40, deadline=None)
@given(
    goal=st.text(min_size=1, max_size=20_000),
    system=st.integers(500, 4_500),
    steps=st.lists(
        st.tuples(TEXT, TEXT, st.booleans(), st.dictionaries(st.text(max_size=20), TEXT)),
        min_size=1,
        max_size=40,
    ),
    ratio=st.floats(0.5, 2.0),
)
def test_the_hard_limit_is_never_exceeded(
    goal: str,
    system: int,
    steps: list[tuple[str, str, bool, dict[str, str]]],
    ratio: float,
) -> None:
    held = transcript(goal, system_tokens=system)
    for number, (thinking, result, effect, values) in enumerate(steps, 1):
        held.counter.learn(1_000, round(1_000 * ratio))
        held.kept.remember(values, number)
        prompt = held.build(tail(number), element_tokens=1_400, trouble=effect)
        assert prompt.figures.estimated <= held.config.hard_tokens
        calls = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Call)]
        results = [p.name for m in prompt.messages for p in m.parts if isinstance(p, Response)]
        assert calls == results
        held.add(step(number, thinking=thinking, tool_result=result, irreversible=effect))
