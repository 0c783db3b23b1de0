"""The kept block: every kind has its share, and what has no line is counted."""

from __future__ import annotations

import re

import pytest

from app.domain.actions import Verdict
from app.domain.tasks import Instruction, Recovery
from app.memory.kept import SAID_TOKENS, Block, Item, KeptFacts, Kind, OpenPoints, bounded
from app.memory.tokens import count_text
from tests.unit.memory.steps import step

GROUP = re.compile(r"^- and (\d+) more kept items of steps (\d+)-(\d+): recall_history")


def instructed(*texts: str) -> KeptFacts:
    kept = KeptFacts()
    kept.instructions = [
        Instruction(number=n, text=text, step_number=n) for n, text in enumerate(texts, 1)
    ]
    return kept


def size(block: Block) -> int:
    return sum(count_text(line) + 1 for line in block.lines)


def grouped(block: Block) -> tuple[int, int, int]:
    found = GROUP.match(block.lines[-1])
    assert found is not None
    count, first, last = map(int, found.groups())
    assert count == block.grouped
    return count, first, last


def test_instructions_leave_the_newest_values_their_lines() -> None:
    kept = instructed(*("say " * 100 + str(n) for n in range(30)))
    for n in range(1, 41):
        kept.remember({f"key {n}": f"value {n}"}, n)
    block = kept.block(2_500)
    said = [line for line in block.lines if line.startswith("- I")]
    values = [line for line in block.lines if line.startswith("- key")]
    assert len(said) >= 12
    assert '- key 40 = "value 40" (step 40)' in values
    assert len(values) >= 30
    assert size(block) <= 2_500
    assert len(said) + len(values) + grouped(block)[0] == 70


def test_instructions_take_all_the_room_that_nothing_else_needs() -> None:
    kept = instructed(*("say " * 100 + str(n) for n in range(40)))
    kept.remember({"only": "one"}, 3)
    block = kept.block(2_500)
    assert '- only = "one" (step 3)' in block.lines
    assert sum(line.startswith("- I") for line in block.lines) >= 20


def test_of_each_kind_the_newest_have_lines_whatever_waits() -> None:
    kept = instructed(*("say " * 300 + str(n) for n in range(1, 60)))
    kept.answers = [(f"question {n}?", "answer " * 200, n) for n in range(1, 60)]
    for n in range(1, 301):
        kept.remember({f"key {n}": "value " * 40 + str(n)}, n)
        kept.note_step(step(n, irreversible=n % 2 == 0, verdict=Verdict.ERROR))
    points = tuple(Item(300 - n, f"- unresolved (steps {n}): point", Kind.OPEN) for n in range(9))
    block = kept.block(2_100, OpenPoints(points, 40, 12))
    text = "\n".join(block.lines)
    assert "- I59 (step 59)" in text
    assert "- key 300 = " in text
    assert "- outside effect: Step 300 " in text
    assert "- trouble: Step 299 " in text
    assert "- unresolved (steps 0): point" in text
    assert size(block) <= 2_100
    count, first, last = grouped(block)
    assert len(block.lines) - 1 + count == 59 + 59 + 300 + 150 + 150 + 40
    without = [n for n in range(1, 301) if f"- key {n} = " not in text]
    assert first == 1
    assert last >= max(without)


def test_what_a_person_said_last_is_there_as_far_as_there_is_room() -> None:
    kept = instructed("old " * 1_000, "word " * 900)
    whole = kept.block(2_000).lines
    assert any("word " * 900 in line for line in whole)
    cut = kept.block(400).lines
    assert cut[0].startswith('- I2 (step 2): "word word')
    assert cut[0].endswith("… (recall_history has it all)")
    assert count_text(cut[0]) < 400


@pytest.mark.parametrize("tokens", [0, 1, 20, 45, 60])
def test_a_block_without_room_still_counts(tokens: int) -> None:
    kept = instructed("say something", "say more")
    kept.remember({"a": "b"}, 7)
    block = kept.block(tokens)
    assert len(block.lines) - bool(block.grouped) + block.grouped == 3
    if block.grouped:
        assert grouped(block)[1:] in {(1, 7), (1, 2), (1, 1)}


def test_new_lines_come_in_the_same_order_and_keep_a_long_instruction() -> None:
    kept = instructed("w" * 4_900)
    kept.remember({"a": "1"}, 1)
    kept.remember({"b": "2"}, 2)
    items = kept.since(0, 0)
    lines = bounded(items, SAID_TOKENS + 200)
    assert lines[0].startswith('- I1 (step 1): "www')
    assert lines[0].endswith('w"')
    assert lines[1:] == ('- a = "1" (step 1)', '- b = "2" (step 2)')


def test_an_instruction_is_new_by_its_number_not_by_its_step() -> None:
    kept = instructed("first")
    kept.instructions.append(Instruction(number=2, text="second", step_number=1))
    assert [i.line for i in kept.since(1, 1)] == ['- I2 (step 1): "second"']
    assert (kept.heard, kept.heard_by(0), kept.heard_by(1)) == (2, 0, 2)


def test_a_character_that_no_store_takes_reads_as_it_will_be_read_back() -> None:
    kept = instructed("a\0b")
    kept.answers = [("q\0", "a\0", 1)]
    kept.remember({"k": "v\0"}, 1)
    assert "\\u0000" not in "\n".join(kept.block(500).lines)
    assert sum(line.count("\ufffd") for line in kept.block(500).lines) == 4


def test_a_recovered_step_is_kept_as_trouble_and_a_blocked_effect_is_none() -> None:
    kept = KeptFacts()
    recovered = step(1).model_copy(
        update={"recoveries": (Recovery(trigger="error", diagnosis="x"),)}
    )
    kept.note_step(recovered)
    kept.note_step(step(2, irreversible=True, verdict=Verdict.BLOCKED))
    assert [i.kind for i in kept.failures] == [Kind.TROUBLE, Kind.TROUBLE]
    assert kept.effects == []
