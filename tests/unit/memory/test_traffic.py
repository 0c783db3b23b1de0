"""The same turn after its first call: whatever comes, a request keeps the hard limit."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.config import MemoryConfig
from app.domain.messages import Call, Image, Message, Part, Response, Text, user
from app.domain.screens import ArtifactRef
from app.memory.envelopes import envelope
from app.memory.tokens import Counter
from app.memory.traffic import Traffic

REF = ArtifactRef(sha256="a" * 64, media_type="text/plain", size=1)
FIRST = 12_000


def traffic(ratio: float = 1.0, first: int = FIRST) -> Traffic:
    counter = Counter(2_064)
    counter.resume(ratio)
    return Traffic(MemoryConfig(), counter, first)


def exchange(turn: Traffic, *results: object, said: str = "I look further.") -> None:
    calls = tuple(Call(id=f"c{i}", name="notes", args={"op": "read"}) for i in range(len(results)))
    turn.add(Message(role="model", parts=(Text(text=said), *calls)))
    parts: list[Part] = []
    for i, result in enumerate(results):
        answer = result if isinstance(result, dict) else {"result": result}
        parts.append(Response(id=f"c{i}", name="notes", response=answer))
    turn.add(Message(role="user", parts=tuple(parts)))


def paired(messages: tuple[Message, ...]) -> bool:
    names = [[type(p) for p in m.parts if isinstance(p, Call | Response)] for m in messages]
    flat = [kind for kinds in names for kind in kinds]
    return flat.count(Call) == flat.count(Response) and all(
        kinds[0] is Response for before, kinds in pairwise(names) if before and before[0] is Call
    )


def test_below_the_soft_limit_nothing_changes() -> None:
    turn = traffic()
    exchange(turn, "found " * 900)
    assert turn.fit() == ()
    assert turn.sent == turn.whole == tuple(turn.messages)
    assert not turn.decision_due


def test_above_the_soft_limit_older_results_shrink_and_the_newest_stays() -> None:
    turn = traffic()
    for _ in range(7):
        exchange(turn, "found " * 900)
    assert turn.fit() == ("older results of this turn were shortened",)
    assert "(shortened; recall_history has it all)" in json.dumps(
        turn.messages[1].model_dump(mode="json"), ensure_ascii=False
    )
    assert turn.messages[-1].parts[0].response == {"result": "found " * 900}  # type: ignore[union-attr]
    assert turn.tokens <= 20_000
    assert not turn.decision_due
    assert turn.fit() == ()


def test_envelopes_shrink_too_and_keep_their_errors() -> None:
    turn = traffic(first=15_000)
    text = (
        "\n".join(f"line {n} " + "x" * 280 for n in range(4_000))
        + "\nFATAL: disk full at sector 99"
    )
    for _ in range(12):
        exchange(turn, envelope(text, 1_200, REF, matching="sector"))
    assert turn.tokens > 20_000
    assert turn.fit()
    shown = turn.messages[1].parts[0].response  # type: ignore[union-attr]
    assert shown["errors"] == ["FATAL: disk full at sector 99"]
    assert shown["full_result_ref"] == f"artifact:{'a' * 64}"
    assert "head" not in shown


def test_twelve_results_in_one_reply_keep_the_hard_limit() -> None:
    turn = traffic()
    exchange(turn, *["found " * 1_450] * 12)
    assert turn.tokens > 28_000
    assert turn.fit() == ("the newest results of this turn were shortened",)
    assert turn.tokens <= 28_000
    assert turn.decision_due
    assert paired(turn.sent)


def test_pictures_that_were_recalled_before_are_not_sent_again() -> None:
    turn = traffic()
    for _ in range(5):
        exchange(turn, "found")
        picture = Image(ref=REF, width=1, height=1)
        last = turn.messages[-1]
        turn.messages[-1] = last.model_copy(update={"parts": (*last.parts, picture)})
    turn.fit()
    pictures = [p for m in turn.sent for p in m.parts if isinstance(p, Image)]
    assert len(pictures) == 1


def test_a_model_that_talks_without_end_loses_old_calls_and_the_record_none() -> None:
    turn = traffic()
    for number in range(9):
        exchange(turn, f"result {number}", said="I think about it. " * 1_500)
        turn.fit()
        assert turn.tokens <= 28_000
        assert turn.decision_due or number < 2
    assert len(turn.whole) == 18
    assert turn.gone
    told = turn.sent[0].text
    assert told.startswith("Earlier in this turn")
    assert "I called notes" in told
    assert 'Result of notes: {"result": "result 0"}' in told
    assert paired(turn.sent[1:])


def test_one_enormous_reply_becomes_a_few_words() -> None:
    turn = traffic(first=15_900)
    exchange(turn, "ok", said="very long " * 30_000)
    turn.add(user("Call one function."))
    turn.fit()
    assert turn.messages == []
    assert turn.tokens <= 28_000
    assert len(turn.whole) == 3


RESULTS = st.lists(
    st.sampled_from(["x" * 9_000, "很" * 3_000, "\x01" * 4_000, "ok", '"' * 4_000]),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=25)
@given(
    replies=st.lists(st.tuples(RESULTS, st.sampled_from([5, 400, 9_000])), max_size=12),
    ratio=st.floats(0.5, 1.25),
)
def test_any_turn_keeps_the_hard_limit_and_its_pairs(
    replies: list[tuple[list[str], int]], ratio: float
) -> None:
    turn = traffic(ratio)
    count = 0
    for results, words in replies:
        exchange(turn, *results, said="word " * words)
        count += 2
        turn.fit()
        assert turn.tokens <= 28_000
        assert len(turn.whole) == count
        assert paired(turn.sent)
