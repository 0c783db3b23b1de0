"""Any text at all before the offline model's readers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.messages import Message, ModelRequest, Role, Text, ToolSpec, user
from app.errors import ArtemisError
from app.llm.gemini_replies import read_reply
from app.llm.offline.commands import Command, Verb, filled, render
from app.llm.offline.elements import find, read_elements
from app.llm.offline.language import MAX_COMMANDS, MAX_PROBLEMS, parse
from app.llm.offline.model import JSON_ROLES, answer
from app.llm.offline.values import kept_value, read_value, recalled_value
from app.llm.provider import TryFailed

WORDS = st.sampled_from(
    [*'tap type "x" “y” into repeat 3 times { } ; end wait read as \\ # : {n} open "'.split(), "\n"]
)
SENTENCES = st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join))
LABELS = st.text(
    st.characters(exclude_characters="\r\ue000\ue001", exclude_categories=("Cs",)), max_size=40
)
FILLED_LABELS = LABELS.filter(lambda text: bool(text.strip()))
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(SENTENCES)
def test_the_parser_never_raises_and_stays_bounded(text: str) -> None:
    program = parse(text)
    assert len(program.commands) <= MAX_COMMANDS
    assert len(program.problems) <= MAX_PROBLEMS
    assert program.commands or program.problems


@given(
    st.one_of(
        st.builds(Command, st.just(Verb.TAP), FILLED_LABELS, nth=st.integers(-1, 200)),
        st.builds(Command, st.just(Verb.TYPE), LABELS, FILLED_LABELS, submit=st.booleans()),
        st.builds(Command, st.just(Verb.NOTE), FILLED_LABELS, FILLED_LABELS),
        st.builds(Command, st.just(Verb.READ), FILLED_LABELS, name=NAMES),
        st.builds(Command, st.just(Verb.REMEMBER), LABELS, name=NAMES),
        st.builds(Command, st.just(Verb.ANSWER), LABELS),
        st.builds(Command, st.just(Verb.WAIT_FOR), FILLED_LABELS, seconds=st.integers(0, 600)),
        st.builds(Command, st.just(Verb.TAP_AT), x=st.integers(0, 1000), y=st.integers(0, 1000)),
    )
)
def test_what_is_written_reads_back_equal(command: Command) -> None:
    assert parse(render(command)).commands == (command,)


@given(st.dictionaries(NAMES, st.text(max_size=20), max_size=3), st.text(max_size=60))
def test_filling_in_never_raises(values: dict[str, str], text: str) -> None:
    filled(Command(Verb.TAP, text), values)


@given(st.text(max_size=300), st.text(max_size=30))
def test_the_readers_of_the_screen_never_raise(text: str, label: str) -> None:
    elements = read_elements(text)
    find(elements, label)
    read_value(elements, label)
    read_value(elements, label, number=True)
    kept_value(text, label)
    recalled_value(text, label)


@given(st.text(max_size=100), st.text(max_size=30))
def test_an_element_line_is_read_as_it_was_written(text: str, value: str) -> None:
    quoted, shown = json.dumps(text, ensure_ascii=False), json.dumps(value, ensure_ascii=False)
    [element] = read_elements(f"[7] field {quoted} value={shown} focused @12,34")
    assert (element.index, element.text, element.value) == (7, text, value)
    assert (element.x, element.y, element.flags) == (12, 34, {"focused"})


TOOLS = tuple(
    ToolSpec(name=name, description="", parameters={})
    for name in ("tap", "wait", "finish", "give_up", "recall_history", "remember", "explore_ui")
)


@settings(max_examples=60)
@given(SENTENCES, st.lists(st.text(max_size=120), max_size=3), st.text(max_size=300))
def test_any_prompt_gets_exactly_one_call(goal: str, earlier: list[str], tail: str) -> None:
    active = tuple(Message(role="model", parts=(Text(text=text),)) for text in earlier)
    messages = (user(f"# GOAL\n{goal}"), *active, user(f"# NOW [Step 3 · T+00:01]\n{tail}"))
    request = ModelRequest(role=Role.OPERATOR, system="", messages=messages, tools=TOOLS)
    assert len(answer(request).calls) == 1


@given(st.sampled_from(sorted(JSON_ROLES)), st.text(max_size=400))
def test_the_other_roles_always_answer_with_json(role: Role, text: str) -> None:
    request = ModelRequest(role=role, system="", messages=(user(text),))
    assert isinstance(json.loads(answer(request).text), dict)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                "candidates content parts text functionCall args name finishReason promptFeedback "
                "thoughtSignature blockReason usageMetadata promptTokenCount safetyRatings".split()
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=15,
)


@given(st.one_of(JSON.map(json.dumps), st.text(max_size=100)))
def test_any_body_is_a_reply_or_one_known_failure(body: str) -> None:
    try:
        reply: Any = read_reply(body, "m")
    except TryFailed as failed:
        assert isinstance(failed.error, ArtemisError)
    else:
        assert reply.model_dump_json()
