"""Serves the tools an operator may call within a turn; none of them touches the screen."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.agent import planning
from app.agent.run import Run
from app.agent.tools.triggers import Asked, trigger
from app.domain.events import NoteWritten, Remembered, ToolServed
from app.domain.memory import RecallQuery, TextKind
from app.domain.messages import Call, Image, JsonObject, Part, Response
from app.domain.tasks import Ability, Note
from app.errors import DeviceError, ModelError
from app.memory import recall
from app.memory.envelopes import envelope, fits
from app.memory.tokens import count_text
from app.perception import render

SHOWN = 2_000
"""Characters of a result kept in its event; the whole of a longer one is an artifact."""
EXPLORED = 30
"""Element lines that explore_ui gives."""
_KEY = re.compile(r"[^\w .:/#&+-]+")


class ToolRefused(Exception):
    """The tool cannot do this; the text tells the model what to change."""


class _Args(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Recall(_Args):
    query: str = Field(default="", max_length=20_000)
    step_range: tuple[int, int] | None = None
    include_details: bool = False
    include_images: bool = False
    max_results: int | None = Field(default=None, ge=1, le=20)


class _Notes(_Args):
    op: str
    key: str = Field(default="", max_length=100)
    text: str = Field(default="", max_length=20_000)


class _Pair(_Args):
    key: str = Field(min_length=1, max_length=100)
    value: str = Field(max_length=2_000)


class _Remember(_Args):
    values: tuple[_Pair, ...] = Field(min_length=1, max_length=50)


class _Explore(_Args):
    query: str = Field(min_length=1, max_length=500)


class _Ask(_Args):
    question: str = Field(min_length=1, max_length=2_000)


class _Shell(_Args):
    command: tuple[str, ...] = Field(min_length=1, max_length=50)


async def serve(run: Run, call: Call) -> tuple[Part, ...]:
    """Answers one call: a response part, and a picture when a recall asked for one."""
    turn = run.current_turn()
    turn.tools.append(call.name)
    turn.tool_calls += 1
    pictures: tuple[Part, ...] = ()
    held = ""
    try:
        if call.problem:
            raise ToolRefused(f"the arguments could not be read: {call.problem}")
        if call.name == "recall_history":
            read = _Recall.model_validate(call.args)
            held = trigger(run, Asked(read.query, read.step_range))
            text, pictures = await _recall(run, read)
        else:
            text = await _SERVED[call.name](run, call.args)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(p) for p in fault["loc"]) or "arguments"
        return (await _answered(run, call, {"error": f"{place}: {fault['msg']}"}),)
    except ToolRefused as refusal:
        return (await _answered(run, call, {"error": str(refusal)}),)
    return (await _answered(run, call, {"result": text}, held), *pictures)


async def _answered(run: Run, call: Call, answer: JsonObject, held: str = "") -> Part:
    """Bounds the answer, records it, and gives it the form of a function response.

    `held`: the trigger that a recall had.
    """
    whole = str(answer.get("result") or answer.get("error"))
    ref = None
    limit = run.rules.memory.tool_result_tokens
    if call.name == "recall_history":
        limit = max(limit, run.rules.memory.recall_tokens + 200)
    if not fits(whole, limit):
        ref = await run.ports.artifacts.put(whole.encode(), "text/plain")
        answer = envelope(whole, limit, ref, matching=str(call.args.get("query", "")))
        run.fallback("tool_envelope", f"{call.name}: {len(whole):,} characters shown in part")
    run.note(
        ToolServed(
            step_number=run.step_number,
            name=call.name,
            args=call.args,
            result=whole[:SHOWN],
            result_ref=ref,
            tokens=count_text(str(answer)),
            trigger=held,
        )
    )
    if call.name not in ("recall_history", "explore_ui", "remember", "notes"):
        run.index(TextKind.TOOL, f"{call.name}: {whole}")
    return Response(id=call.id, name=call.name, response=answer)


async def _recall(run: Run, read: _Recall) -> tuple[str, tuple[Part, ...]]:
    if not read.query.strip() and read.step_range is None:
        raise ToolRefused("give a query, a step_range, or both")
    await run.write()
    result = await run.ports.search.search(
        RecallQuery(
            query=read.query,
            step_range=read.step_range,
            include_details=read.include_details,
            include_images=read.include_images,
            max_results=read.max_results or run.rules.memory.recall_results,
            max_tokens=run.rules.memory.recall_tokens,
        )
    )
    text = recall.render(result)
    pictured = next((hit for hit in result.results if hit.image is not None), None)
    if not read.include_images or pictured is None or pictured.image is None:
        return text, ()
    data = await run.ports.artifacts.get(pictured.image)
    image = Image(ref=pictured.image, width=0, height=0, data=data)
    return f"{text}\n(the picture of step {pictured.step_number} follows)", (image,)


async def _notes(run: Run, args: JsonObject) -> str:
    read = _Notes.model_validate(args)
    if read.op == "list":
        lines = (f"{n.key} ({len(n.text)} characters)" for n in run.notes.values())
        return "\n".join(lines) or "no notes yet"
    key = _clean_key(read.key)
    if read.op == "read":
        if key not in run.notes:
            raise ToolRefused(f"there is no note {key!r}; notes: {', '.join(run.notes) or 'none'}")
        return run.notes[key].text
    if read.op not in ("save", "append"):
        raise ToolRefused("op is save, append, read or list")
    if not read.text:
        raise ToolRefused("a note needs text")
    before = run.notes[key].text + "\n" if read.op == "append" and key in run.notes else ""
    text = before + read.text
    if len(text) > 20_000:
        raise ToolRefused("a note holds at most 20,000 characters; use another key")
    note = Note(key=key, text=text, step_number=run.step_number)
    run.notes[key] = note
    run.current_turn().notes.append(key)
    run.note(NoteWritten(note=note))
    run.index(TextKind.NOTE, f"{key}: {text}")
    return f"note {key!r} kept"


async def _remember(run: Run, args: JsonObject) -> str:
    read = _Remember.model_validate(args)
    values = {_clean_key(p.key): p.value for p in read.values}
    run.world.remember(values)
    run.transcript.kept.remember(values, run.step_number)
    run.current_turn().remembered.update(values)
    run.note(Remembered(values=values, step_number=run.step_number))
    for key, value in values.items():
        run.index(TextKind.REMEMBERED, f"{key} = {value}")
    return "kept: " + ", ".join(values)


async def _update_plan(run: Run, args: JsonObject) -> str:
    try:
        return await planning.update(run, args)
    except planning.PlanRefused as refusal:
        raise ToolRefused(str(refusal)) from None
    except ModelError as error:
        raise ToolRefused(f"the planner could not answer: {error.message}") from None


async def _explore(run: Run, args: JsonObject) -> str:
    read = _Explore.model_validate(args)
    seen = run.current_turn().observation
    tree = seen.tree
    if not tree.usable:
        raise ToolRefused(f"this screen has no element tree: {tree.reason or tree.status.value}")
    lines = render.find(tree, read.query, EXPLORED, seen.window)
    return "\n".join(lines) or "no element of this screen matches"


async def _ask_user(run: Run, args: JsonObject) -> str:
    read = _Ask.model_validate(args)
    reply = await run.ask_person("question", read.question)
    if reply.text:
        run.transcript.kept.answers.append((read.question, reply.text, run.step_number))
    run.index(TextKind.ANSWER, f"{read.question}\n{reply.text}")
    return reply.text or "(no text)"


async def _shell(run: Run, args: JsonObject) -> str:
    read = _Shell.model_validate(args)
    if not run.rules.device.shell or Ability.SHELL not in run.ports.device.abilities:
        raise ToolRefused("this device has no shell")
    try:
        return await run.ports.device.shell(read.command) or "(no output)"
    except DeviceError as error:
        raise ToolRefused(str(error)) from None


def _clean_key(key: str) -> str:
    clean = " ".join(_KEY.sub(" ", key).split())[:100]
    if not clean:
        raise ToolRefused("a key needs letters or digits")
    return clean


_SERVED: dict[str, Callable[[Run, JsonObject], Awaitable[str]]] = {
    "notes": _notes,
    "remember": _remember,
    "update_plan": _update_plan,
    "explore_ui": _explore,
    "ask_user": _ask_user,
    "shell": _shell,
}

IN_TURN_NAMES = frozenset({"recall_history", *_SERVED})
