"""The offline operator: carries out a program by the same function calls as a real model."""

from __future__ import annotations

from collections.abc import Callable, Generator

from app.domain.messages import Call, JsonObject, Message, ModelRequest, Text
from app.llm.offline.commands import Command, Verb, filled, names_in
from app.llm.offline.language import USAGES, goal_program
from app.llm.offline.prompt import PromptView, read_prompt
from app.llm.offline.reading import READING
from app.llm.offline.touching import TOUCHING
from app.llm.offline.turn import GivesUp, Move, Moves, Turn
from app.llm.offline.values import kept_value

Handler = Callable[[Turn, Command], Moves]

HANDLERS: dict[Verb, Handler] = {**TOUCHING, **READING}
MAX_REASON = 2_000
CUT = "(cut; the rest comes back by recall_history with words of the goal)"
"""How the memory ends a goal that is too long for the prompt."""


def answer_operator(request: ModelRequest) -> Message:
    """The next move of the turn that the request stands in."""
    view = read_prompt(request)
    move = _next_move(view)
    call = Call(id=f"offline-{view.step}-{len(view.exchanges)}", name=move.name, args=move.args)
    return Message(role="model", parts=(Text(text=move.words), call))


def _next_move(view: PromptView) -> Move:
    """Replays the turn with the answers that the prompt holds, up to the first new move."""
    moves = _turn(view)
    move = next(moves)
    for exchange in view.exchanges:
        if exchange.name == move.name:
            move = moves.send(exchange.response)
    return move


def _turn(view: PromptView) -> Generator[Move, JsonObject, None]:
    """All moves of a turn; never ends, since the last words are repeated as often as asked."""
    program = goal_program(view.goal)
    if not program.readable:
        problems = [str(problem) for problem in program.problems]
        if view.goal.endswith(CUT):
            problems = [
                "the goal is longer than the prompt can show; write repetitions as “repeat”"
            ]
        yield from _last_words(cannot_read(problems))
    turn = Turn(view, program)
    try:
        yield from turn.locate()
        yield from turn.settle_place()
        while True:
            if (command := turn.command) is not None:
                yield from _carry_out(turn, command)
            yield from turn.advance()
    except GivesUp as reason:
        at = turn.place.line(turn.total, "I give up.")
        yield from _last_words(str(reason), at)


def cannot_read(problems: list[str]) -> str:
    """What the offline model says to a goal in plain prose."""
    told = "; ".join(problems) or "there is no instruction"
    return (
        f"The offline model reads a small task language and cannot read this goal: {told}. "
        f"It understands, one a line or separated by “;”: {'; '.join(USAGES)}."
    )


def _last_words(reason: str, words: str = "I give up.") -> Moves:
    while True:
        yield Move(words, "give_up", {"reason": reason[:MAX_REASON]})


def _carry_out(turn: Turn, command: Command) -> Moves:
    """Puts the values in, then does it. Returns when the command needed no action (any more)."""
    yield from _have_values(turn, command)
    yield from HANDLERS[command.verb](turn, filled(command, turn.values))


def _have_values(turn: Turn, command: Command) -> Moves:
    """A value must stand in the prompt or come from the history; it is kept nowhere else."""
    for name in names_in(command):
        key = name.casefold()
        if key in turn.values:
            continue
        value = kept_value((yield from turn.recall(name)), name)
        if value is None:
            raise GivesUp(
                f"The value of {name} is not in my context and recall_history did not find it."
            )
        turn.values[key] = value
