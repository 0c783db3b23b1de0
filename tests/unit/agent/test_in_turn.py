"""The tools served within a turn."""

import asyncio
from typing import Any

import pytest

from app.agent.control import Reply
from app.agent.tools.in_turn import serve
from app.domain.config import DeviceConfig, Platform
from app.domain.events import FallbackUsed, NoteWritten, QuestionAnswered, Remembered, ToolServed
from app.domain.memory import TextKind
from app.domain.messages import Call, Response
from app.domain.screens import TreeStatus, UiTree
from app.domain.tasks import TaskState
from tests.unit.agent.home import Home, Talker, call, element, observation


async def use(home: Home, name: str, **args: Any) -> dict[str, Any]:
    [part] = await serve(home.run, Call(name=name, args=args))
    assert isinstance(part, Response) and part.name == name
    return part.response


async def test_notes_are_saved_extended_read_and_listed() -> None:
    home = Home()
    home.in_turn()
    assert "error" in await use(home, "notes", op="read", key="a")
    assert await use(home, "notes", op="list") == {"result": "no notes yet"}
    assert await use(home, "notes", op="save", key="a\n<b>", text="one") == {
        "result": "note 'a b' kept"
    }
    await use(home, "notes", op="append", key="a b", text="two")
    assert await use(home, "notes", op="read", key="a b") == {"result": "one\ntwo"}
    assert await use(home, "notes", op="list") == {"result": "a b (7 characters)"}
    await use(home, "notes", op="save", key="a b", text="anew")
    await home.run.write()
    assert [n.note.text for n in home.record.of(NoteWritten)] == ["one", "one\ntwo", "anew"]
    assert {e.kind for e in home.record.index} == {TextKind.NOTE}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"op": "burn", "key": "a"}, "op is save, append, read or list"),
        ({"op": "save", "key": "a"}, "a note needs text"),
        ({"op": "save", "key": "\n\t", "text": "x"}, "a key needs letters or digits"),
        ({"key": "a"}, "op: Field required"),
        ({"op": "save", "key": "a", "text": "x" * 20_001}, "text: String should have at most"),
        ({"op": "append", "key": "full", "text": "y"}, "a note holds at most 20,000"),
    ],
)
async def test_what_a_note_cannot_be(args: dict[str, Any], told: str) -> None:
    home = Home()
    home.in_turn()
    await use(home, "notes", op="save", key="full", text="x" * 20_000)
    answer = await use(home, "notes", **args)
    assert told in answer["error"]


async def test_remembered_values_stay_in_view_and_in_the_believed_state() -> None:
    home = Home()
    turn = home.in_turn()
    values = [{"key": "phone", "value": "555-0142"}, {"key": "pin", "value": 'a "b" \\'}]
    assert await use(home, "remember", values=values) == {"result": "kept: phone, pin"}
    await home.run.write()
    assert home.record.of(Remembered)[0].values == {"phone": "555-0142", "pin": 'a "b" \\'}
    assert home.run.world.state.variables["phone"] == "555-0142"
    assert home.run.transcript.kept.remembered["pin"] == ('a "b" \\', 1)
    assert turn.remembered["phone"] == "555-0142"
    assert "error" in await use(home, "remember", values=[])
    assert "values.0.key" in (await use(home, "remember", values=[{"value": "x"}]))["error"]


async def test_explore_ui_finds_what_the_list_does_not_show() -> None:
    home = Home()
    rows = tuple(element(i, f"Row {i}") for i in range(200))
    home.in_turn(observation(*rows))
    assert '"Row 187"' in (await use(home, "explore_ui", query="Row 187"))["result"]
    assert "no element" in (await use(home, "explore_ui", query="zebra"))["result"]
    home.in_turn(observation(tree=UiTree(status=TreeStatus.FAILED, reason="refused")))
    told = await use(home, "explore_ui", query="Row")
    assert told["error"] == "this screen has no element tree: refused"


async def test_a_long_result_is_an_envelope_with_the_whole_behind_it() -> None:
    home = Home()
    home.in_turn()
    text = "\n".join(f"line {n}" for n in range(1_500)) + "\nFATAL: disk full"
    await use(home, "notes", op="save", key="log", text=text)
    answer = await use(home, "notes", op="read", key="log")
    await home.run.write()
    assert answer["truncated"] and answer["errors"] == ["FATAL: disk full"]
    assert answer["original_chars"] == len(text) and answer["tail"][-1] == "FATAL: disk full"
    served = home.record.of(ToolServed)[-1]
    assert await home.shelf.get(served.result_ref) == text.encode()
    assert len(served.result) == 2_000 and served.tokens < 1_300
    assert home.record.of(FallbackUsed)[0].kind == "tool_envelope"


async def test_shell_needs_the_device_and_its_policy() -> None:
    home = Home()
    home.in_turn()
    assert await use(home, "shell", command=["uptime"]) == {"error": "this device has no shell"}
    assert "shell" not in {t.name for t in home.run.transcript.stable.tools}
    device = DeviceConfig(name="phone", platform=Platform.ANDROID, shell=True)
    allowed = Home(device=device)
    allowed.in_turn()
    assert await use(allowed, "shell", command=["uptime"]) == {"result": "uptime: 1 day"}
    assert allowed.phone.shells == [("uptime",)]
    assert "shell" in {t.name for t in allowed.run.transcript.stable.tools}


async def test_ask_user_waits_and_keeps_the_answer() -> None:
    home = Home(Talker(call("ask_user", question="Which one?")))
    running = asyncio.create_task(home.to_end())
    async with asyncio.timeout(5):
        while home.control.open_question is None:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)
    assert home.record.state is TaskState.WAITING
    home.control.reply(home.control.open_question[0], Reply("r1", "the blue one", None, "Ann"))
    end = await running
    assert end.state is TaskState.COMPLETED
    assert home.record.of(QuestionAnswered)[0].answer == "the blue one"
    assert home.run.transcript.kept.answers == [("Which one?", "the blue one", 1)]
    assert "the blue one" in home.talker.prompt(1)


async def test_arguments_that_cannot_be_read_are_named() -> None:
    home = Home()
    home.in_turn()
    broken = Call(name="notes", problem="not an object: list")
    [part] = await serve(home.run, broken)
    assert isinstance(part, Response)
    assert part.response == {"error": "the arguments could not be read: not an object: list"}
    assert "give a query" in (await use(home, "recall_history"))["error"]
    assert "Nothing recorded matches" in (await use(home, "recall_history", query="x"))["result"]
