"""How the offline operator carries out the commands that look, remember, ask and end."""

from __future__ import annotations

from collections.abc import Callable, Generator

from app.domain.messages import JsonObject
from app.llm.offline.commands import Command, Verb
from app.llm.offline.elements import Shown, find, plain
from app.llm.offline.seeking import seek
from app.llm.offline.turn import GivesUp, Move, Moves, Turn
from app.llm.offline.values import read_value, recalled_value

DEFAULT_PATIENCE = 20.0
"""Seconds that `wait for` waits when it names none."""


def _shows(turn: Turn, text: str) -> bool:
    return any(plain(text) in plain(shown) for shown in turn.view.shown_texts if shown)


def _check(turn: Turn, command: Command) -> Moves:
    """The text must stand on the screen; scrolls for it before it gives up."""
    if not _shows(turn, command.text):
        yield from seek(turn, command.text, lambda e: find(e, command.text))


def _wait_for(turn: Turn, command: Command) -> Moves:
    if _shows(turn, command.text):
        return
    patience = command.seconds or DEFAULT_PATIENCE
    if turn.place.tries - 1 >= patience:
        raise GivesUp(f"“{command.text}” did not appear within {patience:g} s.")
    turn.place = turn.place.again()
    yield from turn.act("wait", {"seconds": 1}, stage="waiting")


def _read(turn: Turn, command: Command) -> Moves:
    """Looks at the screen first, then in the full tree, then scrolls to the label."""
    number = command.verb is Verb.READ_NUMBER
    shown = (*_message_lines(turn), *turn.view.elements)
    value = read_value(shown, command.text, number=number)
    if not value:
        further = yield from turn.explore(command.text)
        value = read_value((*shown, *further), command.text, number=number)
    if not value:
        # Finding the label alone is not enough: what belongs to it may be below the edge.
        if turn.place.stage == "scrolled" and find(turn.view.elements, command.text):
            raise GivesUp(f"I see no value for “{command.text}” on “{turn.view.page}”.")
        yield from seek(turn, command.text, lambda e: None)
    yield from turn.remember(command.name, value)


def _message_lines(turn: Turn) -> list[Shown]:
    """The alert and toasts, line by line, as if they were elements without a place."""
    lines = (line for message in turn.view.messages for line in message.split("\n"))
    return [Shown(index=-1, role="text", text=line) for line in lines]


def _note(turn: Turn, command: Command) -> Moves:
    args = {"op": "save", "key": command.text, "text": command.target}
    answer = yield from turn.tool("notes", args)
    if "error" in answer:
        raise GivesUp(f"The note “{command.text}” could not be saved: {answer['error']}")


def _remember(turn: Turn, command: Command) -> Moves:
    yield from turn.remember(command.name, command.text)


def _recall(turn: Turn, command: Command) -> Moves:
    value = recalled_value((yield from turn.recall(command.text)), command.text)
    if not value:
        raise GivesUp(f"recall_history found nothing for “{command.text}”.")
    yield from turn.remember(command.name, value)


def _plan(turn: Turn, command: Command) -> Moves:
    yield from turn.tool("update_plan", {"request": command.text})


def _ask(turn: Turn, command: Command) -> Moves:
    answer = turn.view.answers.get(command.text)
    if answer is None:
        answer = yield from _asked(turn, command.text)
    yield from turn.remember(command.name, answer)


def _asked(turn: Turn, question: str) -> Generator[Move, JsonObject, str]:
    told = yield from turn.tool("ask_user", {"question": question})
    if "error" in told:
        raise GivesUp(f"My question was not answered: {told['error']}")
    return str(told.get("result", ""))


def _answer(turn: Turn, command: Command) -> Moves:
    """Ticks the plan, then ends; a refused end is tried once more with the whole plan ticked."""
    yield from turn.close_plan()
    args: JsonObject = {"answer": command.text or _default_answer(turn)}
    turn.place = turn.place.at_stage("")
    refused = yield Move(turn.place.line(turn.total, "all is done."), "finish", args)
    yield from turn.close_plan(all_of_it=True)
    refused = yield Move(turn.place.line(turn.total, "all is done."), "finish", args)
    why = refused.get("error") or "no reason given"
    raise GivesUp(f"All instructions are carried out, but the end was refused: {why}")


def _default_answer(turn: Turn) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in turn.values.items())
    told = f"All {turn.total - 1} instructions are carried out."
    return f"{told} {values}".strip()[:5_000]


def _give_up(turn: Turn, command: Command) -> Moves:
    yield from ()
    raise GivesUp(command.text)


READING: dict[Verb, Callable[[Turn, Command], Moves]] = {
    Verb.WAIT_FOR: _wait_for,
    Verb.CHECK: _check,
    Verb.READ: _read,
    Verb.READ_NUMBER: _read,
    Verb.NOTE: _note,
    Verb.REMEMBER: _remember,
    Verb.RECALL: _recall,
    Verb.PLAN: _plan,
    Verb.ASK: _ask,
    Verb.ANSWER: _answer,
    Verb.GIVE_UP: _give_up,
}
