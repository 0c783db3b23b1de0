"""The task language, sentence by sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.llm.offline.commands import Command, Verb, filled, names_in, render
from app.llm.offline.language import MAX_COMMANDS, USAGES, goal_program, parse

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "task-language.md"

RIGHT: list[tuple[str, Command]] = [
    ('open "Settings"', Command(Verb.OPEN, "Settings")),
    ("OPEN the app “Settings”", Command(Verb.OPEN, "Settings")),
    ("open Settings", Command(Verb.OPEN, "Settings")),
    ("Launch Demo Shop", Command(Verb.OPEN, "Demo Shop")),
    ('1. open "Settings".', Command(Verb.OPEN, "Settings")),
    ('- then please open "Settings"', Command(Verb.OPEN, "Settings")),
    ('close "Shop"', Command(Verb.CLOSE, "Shop")),
    ("go to http://127.0.0.1:8000/a?b=1", Command(Verb.VISIT, "http://127.0.0.1:8000/a?b=1")),
    ("open https://example.org", Command(Verb.VISIT, "https://example.org")),
    ('go to "example.org"', Command(Verb.VISIT, "example.org")),
    ('open url "example.org"', Command(Verb.VISIT, "example.org")),
    ('tap "Save"', Command(Verb.TAP, "Save")),
    ('Tap on the "Save" button', Command(Verb.TAP, "Save")),
    ('press "OK"', Command(Verb.TAP, "OK")),
    ('tap the 2nd "Delete"', Command(Verb.TAP, "Delete", nth=2)),
    ('tap "Delete" 12th', Command(Verb.TAP, "Delete", nth=12)),
    ('tap the last "Delete" icon', Command(Verb.TAP, "Delete", nth=-1)),
    ("tap „Größe“", Command(Verb.TAP, "Größe")),
    ("tap «Да»", Command(Verb.TAP, "Да")),
    ('tap "say \\"hi\\"; # now"', Command(Verb.TAP, 'say "hi"; # now')),
    ("tap at 500,250.5", Command(Verb.TAP_AT, x=500, y=250.5)),
    ("tap at (10, 20)", Command(Verb.TAP_AT, x=10, y=20)),
    ('long press "File"', Command(Verb.LONG_PRESS, "File")),
    ('press and hold "File" for 2 s', Command(Verb.LONG_PRESS, "File", seconds=2)),
    ('double-tap "Photo"', Command(Verb.DOUBLE_TAP, "Photo")),
    ('drag "A" to "B"', Command(Verb.DRAG, "A", "B")),
    ('type "x" into "Name"', Command(Verb.TYPE, "x", "Name")),
    ('enter "x" in the "Name" field', Command(Verb.TYPE, "x", "Name")),
    ('type "x" into "Name" and submit', Command(Verb.TYPE, "x", "Name", submit=True)),
    ('type "x" and press enter', Command(Verb.TYPE, "x", submit=True)),
    ('type ""', Command(Verb.TYPE, "")),
    ('type "secret:PIN" into "PIN"', Command(Verb.TYPE, "secret:PIN", "PIN")),
    ('append "x" to "Name"', Command(Verb.APPEND, "x", "Name")),
    ('clear "Name"', Command(Verb.CLEAR, "Name")),
    ("clear the field", Command(Verb.CLEAR)),
    ('select "Large" in "Size"', Command(Verb.SELECT, "Large", "Size")),
    ('choose "Large" from the "Size" menu', Command(Verb.SELECT, "Large", "Size")),
    ('turn on "Wi-Fi"', Command(Verb.TURN_ON, "Wi-Fi")),
    ('switch the "Wi-Fi" off', Command(Verb.TURN_OFF, "Wi-Fi")),
    ('disable "Wi-Fi"', Command(Verb.TURN_OFF, "Wi-Fi")),
    ('scroll to "Row 400"', Command(Verb.SCROLL_TO, "Row 400")),
    ('scroll down to "Row 400"', Command(Verb.SCROLL_TO, "Row 400")),
    ("swipe left", Command(Verb.SWIPE, direction="left")),
    ("scroll down", Command(Verb.SWIPE, direction="up")),
    ("back", Command(Verb.BACK)),
    ("Go back!", Command(Verb.BACK)),
    ("home", Command(Verb.HOME)),
    ("go to the home screen", Command(Verb.HOME)),
    ("hide the keyboard", Command(Verb.HIDE_KEYBOARD)),
    ("press key enter", Command(Verb.PRESS_KEY, direction="enter")),
    ("press ENTER", Command(Verb.PRESS_KEY, direction="enter")),
    ("press the volume_up key", Command(Verb.PRESS_KEY, direction="volume_up")),
    ("rotate to landscape", Command(Verb.ROTATE, direction="landscape")),
    ("accept alert", Command(Verb.ACCEPT_ALERT)),
    ('accept the alert with "Ada"', Command(Verb.ACCEPT_ALERT, "Ada")),
    ("dismiss the alert", Command(Verb.DISMISS_ALERT)),
    ("wait 2 s", Command(Verb.WAIT, seconds=2)),
    ("wait for 1.5 minutes", Command(Verb.WAIT, seconds=90)),
    ("wait 300 ms", Command(Verb.WAIT, seconds=0.3)),
    ("wait", Command(Verb.WAIT, seconds=1)),
    ('wait for "Done"', Command(Verb.WAIT_FOR, "Done")),
    ('wait until "Done" up to 30 s', Command(Verb.WAIT_FOR, "Done", seconds=30)),
    ('check "Paid"', Command(Verb.CHECK, "Paid")),
    ('Check that "Paid" is shown', Command(Verb.CHECK, "Paid")),
    ('read "Phone" as phone', Command(Verb.READ, "Phone", name="phone")),
    ('read the value of "Phone" as Phone_1', Command(Verb.READ, "Phone", name="phone_1")),
    ('read the number in "Total" as total', Command(Verb.READ_NUMBER, "Total", name="total")),
    ('read number beside "Total" as total', Command(Verb.READ_NUMBER, "Total", name="total")),
    ('note "a": "b"', Command(Verb.NOTE, "a", "b")),
    ('remember pin = "12"', Command(Verb.REMEMBER, "12", name="pin")),
    ("remember pin = 12", Command(Verb.REMEMBER, "12", name="pin")),
    ('recall "order number" as order', Command(Verb.RECALL, "order number", name="order")),
    ('plan "look again"', Command(Verb.PLAN, "look again")),
    ('ask "Which?" as which', Command(Verb.ASK, "Which?", name="which")),
    ('answer "It is {pin}."', Command(Verb.ANSWER, "It is {pin}.")),
    ('give up "no shop"', Command(Verb.GIVE_UP, "no shop")),
]

WRONG: list[tuple[str, str]] = [
    ("Order a pizza", "cannot read “Order a pizza” (unknown: Order, pizza)"),
    ("tap", 'I understand tap "Label" [2nd]'),
    ('tap ""', "cannot read"),
    ('tap "never closed', "quotation mark is never closed"),
    ("tap at 2000, 3", "cannot read"),
    ("open Settings and turn on Wi-Fi", "cannot read"),
    ('read "Phone"', 'I understand read "Label" as name'),
    ('read "Phone" as 12', "cannot read"),
    ('type "a" into "b" and dance', "unknown: dance"),
    ("swipe sideways", "I understand swipe up|down|left|right"),
    ('select "Large"', 'I understand select "Option" in "Field"'),
    ("repeat 3 times { tap “A”", "never closed by “}”"),
    ('repeat 3 times: tap "A"', "never closed by “end”"),
    ("end", "“end” without its “repeat n times”"),
    ("}", "“}” without its “repeat n times”"),
    ('tap "A" {', "“{” may only follow"),
    ("repeat 99999 times { back }", "more than 20,000 instructions"),
    ("", "there is no instruction"),
    ("# only a comment", "there is no instruction"),
    ("{" * 50, "“{” may only follow"),
    ("repeat 2 times { " * 12, "repetitions inside each other"),
]


@pytest.mark.parametrize(("text", "command"), RIGHT, ids=[text for text, _ in RIGHT])
def test_a_sentence_is_read(text: str, command: Command) -> None:
    program = parse(text)
    assert program.problems == ()
    assert program.commands == (command,)


@pytest.mark.parametrize(("text", "command"), RIGHT, ids=[text for text, _ in RIGHT])
def test_a_command_is_written_so_that_it_reads_back(text: str, command: Command) -> None:
    assert parse(render(command)).commands == (command,)


@pytest.mark.parametrize(("text", "told"), WRONG, ids=[repr(text[:40]) for text, _ in WRONG])
def test_a_sentence_is_not_read_and_the_reason_is_told(text: str, told: str) -> None:
    program = parse(text)
    assert not program.readable
    assert told in "\n".join(map(str, program.problems))


def test_lines_semicolons_and_comments() -> None:
    program = parse('back; home # not this; home\n\n# nor this\n  tap "a;b"  ;;\n')
    assert [render(c) for c in program.commands] == ["back", "home", 'tap "a;b"']


def test_a_problem_names_its_line() -> None:
    program = parse("back\nfly away\nhome\nrepeat 2 times: back\ndance\nend")
    assert [problem.line for problem in program.problems] == [2, 5]
    assert str(program.problems[0]).startswith("line 2: I cannot read “fly away”")


def test_repetitions_are_written_out_inside_each_other() -> None:
    program = parse('repeat 2 times {\n tap "R{round}"\n repeat 2 times: wait {\n')
    assert not program.readable
    program = parse('repeat 2 times {\n tap "R{round}"; repeat 2 times: back; end\n}; home')
    assert [render(c) for c in program.commands] == [
        'tap "R1"', "back", "back", 'tap "R2"', "back", "back", "home",
    ]  # fmt: skip


def test_the_largest_program_is_read_quickly() -> None:
    assert len(parse(f"repeat {MAX_COMMANDS} times {{ back }}").commands) == MAX_COMMANDS
    assert not parse(f"repeat {MAX_COMMANDS} times {{ back; home }}").readable


def test_values_are_put_in() -> None:
    command = Command(Verb.TYPE, "{a} {{a}} {b}", "{A}")
    assert names_in(command) == ("a", "b", "A")
    assert filled(command, {"a": "1"}) == Command(Verb.TYPE, "1 {a} {b}", "1")


def test_a_value_is_never_read_as_a_sentence() -> None:
    command = filled(Command(Verb.TAP, "{a}"), {"a": '"; give up "x'})
    assert parse(render(command)).commands == (command,)


def test_a_program_without_an_end_gets_an_answer() -> None:
    assert goal_program("back").commands == (Command(Verb.BACK), Command(Verb.ANSWER))
    assert len(goal_program('answer "x"').commands) == 1


def test_every_sentence_of_the_language_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [usage for usage in USAGES if f"`{usage}`" not in text.replace("\\|", "|")] == []


def test_every_verb_is_among_the_sentences_shown_to_people() -> None:
    shown = " ".join(USAGES)
    assert [v for v in Verb if v.value not in shown] == []


def test_the_examples_of_the_document_are_readable() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        assert parse(block).problems == ()
