"""What a compaction writes: appended lines, chunks in their place, ledgers, eras."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from app.domain.config import MemoryConfig
from app.domain.summaries import Capsule, ChunkState
from app.memory.pieces import PieceKind
from app.memory.tokens import Counter
from app.memory.transcript import Transcript
from app.memory.zones import Frozen, Prompt, Stable
from tests.unit.memory.histories import ELEMENTS, written
from tests.unit.memory.steps import step, tail, transcript

Each = Callable[[Transcript, int], None]


def nothing(held: Transcript, number: int) -> None:
    """No background writes anything."""


def summarised(held: Transcript, number: int) -> None:
    held.summaries[number] = f"I looked at screen {number} and tapped its button. " * 4


def with_capsules(held: Transcript, number: int) -> None:
    for at, chunk in enumerate(held.chunks):
        if chunk.state is ChunkState.PENDING:
            held.chunks[at] = written(chunk, Random(chunk.start_step))


def with_short_capsules(held: Transcript, number: int) -> None:
    for at, chunk in enumerate(held.chunks):
        if chunk.state is ChunkState.PENDING:
            text = f"I walked from screen {chunk.start_step} to screen {chunk.end_step}."
            update = {"state": ChunkState.READY, "capsule": Capsule(doing=text), "digest": text}
            held.chunks[at] = chunk.model_copy(update=update)


def walk(held: Transcript, count: int, each: Each = nothing) -> list[Prompt]:
    prompts = []
    for number in range(1, count + 1):
        prompts.append(held.build(tail(number), element_tokens=ELEMENTS, trouble=False))
        done = step(number)
        held.close_chunks(done)
        held.add(done)
        each(held, number)
    return prompts


def kinds(frozen: Frozen) -> list[PieceKind]:
    return [p.kind for p in frozen.pieces]


def test_a_chunk_takes_the_place_of_its_lines_once_all_of_it_left_the_turns() -> None:
    held = transcript()
    prompts = [p for p in walk(held, 120, with_capsules) if p.compaction is not None]
    for prompt in prompts:
        assert prompt.compaction is not None
        frozen = prompt.compaction.frozen
        for piece in frozen.pieces:
            if piece.kind is PieceKind.CHUNK:
                assert piece.end <= frozen.through
        lines = {p.start for p in frozen.pieces if p.kind is PieceKind.LINE}
        told = {
            n
            for p in frozen.pieces
            if p.kind in (PieceKind.CHUNK, PieceKind.LEDGER)
            for n in range(p.start, p.end + 1)
        }
        assert not lines & told
    assert any(PieceKind.CHUNK in kinds(p.compaction.frozen) for p in prompts if p.compaction)
    assert any("their chunk is ready" in d.why for p in prompts for d in p.figures.departures)


def test_a_pending_chunk_keeps_its_lines_with_their_summaries_while_there_is_room() -> None:
    held = transcript()
    first = next(p for p in walk(held, 60, summarised) if p.compaction is not None)
    assert first.compaction is not None
    assert set(kinds(first.compaction.frozen)) == {PieceKind.LINE}
    assert "I looked at screen 3 and tapped its button." in first.messages[0].text


def test_ledgers_alone_stand_in_for_chunks_that_never_come_and_are_counted() -> None:
    held = transcript()
    prompts = walk(held, 300, summarised)
    assert max(p.figures.estimated for p in prompts) <= 12_000
    assert all(p.compaction.after.total <= 9_500 for p in prompts if p.compaction)
    counted = [f for p in prompts for f in p.fallbacks]
    assert {f.kind for f in counted} == {"ledger_only"}
    marked = [p for p in held.frozen.pieces if p.kind is PieceKind.LEDGER]
    assert marked
    assert all("ledger alone, capsule pending" in p.text for p in marked)
    assert len({f.detail for f in counted}) == len(counted)


def test_a_late_capsule_still_takes_the_place_of_its_ledger() -> None:
    held = transcript()
    walk(held, 150, summarised)
    ledgers = [p.start for p in held.frozen.pieces if p.kind is PieceKind.LEDGER]
    assert ledgers
    with_capsules(held, 150)
    for number in range(151, 260):
        prompt = held.build(tail(number), element_tokens=ELEMENTS, trouble=False)
        if prompt.compaction is not None:
            break
        held.add(step(number))
    told = [p.start for p in held.frozen.pieces if p.kind is PieceKind.CHUNK]
    assert set(told) & set(ledgers)


def test_old_chunks_merge_into_an_era_and_then_a_period_with_the_way_back() -> None:
    held = transcript()
    walk(held, 700, with_capsules)
    period, era = held.frozen.pieces[:2]
    assert (period.kind, era.kind) == (PieceKind.PERIOD, PieceKind.ERA)
    # A valuable chunk may have stayed longer than its neighbours: the two may overlap.
    assert period.start == 1
    assert era.start <= period.end + 1 <= era.end
    assert f"recall_history with words or step_range=[1,{period.end}]" in period.text
    assert "T+00:07 – " in period.text
    assert "I was walking from screen" in era.text
    assert "  verified: " in era.text
    assert "more by recall" in era.text
    numbers = [int(v.split()[1]) for v in era.sets.verified]
    assert all(era.start <= n <= era.end for n in numbers)


def test_a_fold_is_rare_and_large() -> None:
    prompts = walk(transcript(), 600, with_short_capsules)
    folds = [p for p in prompts if any(d.why.startswith("folded") for d in p.figures.departures)]
    compactions = [p for p in prompts if p.compaction is not None]
    assert 1 <= len(folds) <= len(compactions) / 2


def test_an_append_leaves_the_bytes_before_it() -> None:
    held = transcript()
    before = ""
    appended = 0
    for prompt in walk(held, 250):
        if prompt.compaction is not None:
            folded = any(d.why.startswith("folded") for d in prompt.figures.departures)
            text = prompt.compaction.frozen.text
            if before and not folded:
                assert text.startswith(before)
                appended += 1
            before = text
    assert appended > 2


def test_a_record_without_pieces_is_gone_on_with() -> None:
    held = transcript()
    walk(held, 90)
    old = Frozen("# GOAL\nWalk.\n\n# HISTORY\nSteps 1-80: older.", through=80, step=82)
    again = transcript()
    again.restore(f'{{"text": {old.text!r}, "through": 80, "step": 82}}'.replace("'", '"'))
    for number in range(1, 200):
        if number > 90:
            prompt = again.build(tail(number), element_tokens=ELEMENTS, trouble=False)
            assert prompt.figures.estimated <= 12_000
        again.add(step(number))
    assert again.frozen.pieces[0].start == 1


def recompiling() -> Transcript:
    return Transcript(
        goal="Walk.",
        stable=Stable("rule " * 2_400, ()),
        config=MemoryConfig(preserve_operator_message_tail=False),
        counter=Counter(2_064),
    )


def test_without_the_tail_every_prompt_is_written_anew_within_the_same_budget() -> None:
    held = recompiling()
    prompts = walk(held, 200, with_capsules)
    for number, prompt in enumerate(prompts, 1):
        assert prompt.compaction is None
        assert prompt.figures.estimated <= 12_000
        assert [f.kind for f in prompt.fallbacks] == ["recompiled_prompt"]
        assert all(m.role == "user" for m in prompt.messages)
        if number > 1:
            before = prompt.messages[-2].text
            assert before.startswith(f"[Step {number - 1} · ")
            assert "I called tap" in before
    assert "\n# HISTORY\n" in prompts[-1].messages[0].text


def test_a_prompt_that_is_written_anew_depends_on_the_records_alone() -> None:
    held = recompiling()
    for number in range(1, 121):
        prompt = held.build(tail(number), element_tokens=ELEMENTS, trouble=number % 5 == 0)
        if number % 13 == 0:
            again = recompiling()
            again.restore("", tuple(held.chunks))
            for old in range(1, number):
                again.close_chunks(step(old), again=True)
                again.add(step(old))
            now = again.build(tail(number), element_tokens=ELEMENTS, trouble=number % 5 == 0)
            assert now.messages == prompt.messages
        held.close_chunks(step(number))
        held.add(step(number))
        with_capsules(held, number)


def test_a_record_of_another_form_is_left_aside_and_counted() -> None:
    old = "<short_term_memory>I opened the app and saw a list.</short_term_memory>"
    held = transcript()
    held.restore(old)
    for number in range(1, 90):
        held.add(step(number))
    prompt = held.build(tail(90), element_tokens=ELEMENTS, trouble=False)
    assert [f.kind for f in prompt.fallbacks].count("frozen_unreadable") == 1
    assert prompt.figures.estimated <= 12_000
    assert prompt.compaction is not None
    assert "short_term_memory" not in prompt.messages[0].text
    again = held.build(tail(91), element_tokens=ELEMENTS, trouble=False)
    assert "frozen_unreadable" not in [f.kind for f in again.fallbacks]


def test_the_last_exit_state_is_said_where_its_chunk_is_not_shown() -> None:
    held = transcript()
    prompts = walk(held, 40, with_capsules)
    assert '- exit state (step 12): "screen 12 was shown"' in prompts[13].messages[-1].text
    for prompt in prompts:
        text = "\n".join(m.text for m in prompt.messages)
        assert text.count("screen 12 was shown") <= 1


def test_chunks_can_be_switched_off() -> None:
    held = transcript()
    held.config = MemoryConfig(history_chunks=False)
    walk(held, 100)
    assert held.chunks == []
