"""Builds the prompt, calls the model, serves in-turn tools, and ends in one action.

What a reply may be and what is done then stands in docs/outcomes.md.
"""

from __future__ import annotations

from app.agent.calls import after_cut, call_model
from app.agent.flow import failed
from app.agent.graph import Signal
from app.agent.run import Run, Turn
from app.agent.tools.declarations import ACTION_NAMES
from app.agent.tools.in_turn import IN_TURN_NAMES, serve
from app.domain.events import Compacted, ToolServed
from app.domain.messages import (
    Call,
    Finish,
    Image,
    Message,
    ModelReply,
    ModelRequest,
    Part,
    Response,
    Role,
    user,
)
from app.domain.screens import Observation
from app.errors import ModelError
from app.memory.ledger import PENDING
from app.memory.markers import in_trouble, unsettled
from app.memory.tail import Elements, TailFacts
from app.memory.zones import Compaction
from app.perception import render

LESS_ELEMENT_TOKENS = 400
"""Element list after an answer was blocked: fewer words that could offend a filter."""

_NUDGES = {
    Finish.STOP: "That was no function call. Call exactly one function now.",
    Finish.EMPTY: "Your answer was empty. Call exactly one function now.",
    Finish.LENGTH: "Your answer was cut at its limit. Be brief: one function call.",
    Finish.MALFORMED_CALL: "Your function call could not be read. Call one function, valid JSON.",
    Finish.OTHER: "Your answer was not usable. Call exactly one function now.",
}


async def run(run: Run) -> Signal:
    """Goes on until the model proposes an action."""
    turn = run.current_turn()
    if not turn.prompt:
        await _build(run, turn)
    while True:
        try:
            reply = await _call(run, turn)
        except ModelError as error:
            raise failed(f"the model gave no answer: {error}", error.code) from error
        if await _take(run, turn, reply):
            return Signal.DECIDED


async def _build(run: Run, turn: Turn) -> None:
    """The turn's first prompt, within its budget; a compaction is written at once."""
    prompt = run.transcript.build(
        await _tail(run, turn),
        element_tokens=LESS_ELEMENT_TOKENS
        if turn.less_screen
        else run.rules.perception.element_list_tokens,
        trouble=in_trouble(run.recent),
    )
    turn.prompt = prompt.messages
    turn.figures = prompt.figures.model_copy(update={"waits": run.waits()})
    turn.traffic.first_tokens = prompt.figures.zones.total
    for fallback in prompt.fallbacks:
        run.fallback(fallback.kind, fallback.detail)
    if prompt.compaction is not None:
        await _keep_compaction(run, prompt.compaction)
    # Before the model sees it: a restart in this turn must find the same bytes.
    await run.write()


async def _keep_compaction(run: Run, done: Compaction) -> None:
    ref = await run.ports.artifacts.put(done.frozen.to_json().encode(), "application/json")
    run.note(
        Compacted(
            step_number=run.step_number,
            before=done.before,
            after=done.after,
            departures=done.departures,
            frozen_ref=ref,
            frozen_through=done.frozen.through,
        )
    )


async def _tail(run: Run, turn: Turn) -> TailFacts:
    seen = turn.observation
    turn.remarks, run.remarks = (*turn.remarks, *run.remarks), []
    return TailFacts(
        step_number=turn.step_number,
        offset=turn.offset,
        observation=seen,
        elements=_elements(run, seen),
        plan=run.plan,
        checks=run.checks,
        note_keys=tuple(run.notes),
        world=run.world.state if run.rules.memory.world else None,
        hint=turn.hint,
        remarks=turn.remarks,
        image=await _image(run, seen),
        background=run.background_state().line(),
        unsettled=unsettled(run.recent),
    )


def _elements(run: Run, seen: Observation) -> Elements:
    done: dict[int, render.RenderedElements] = {}

    def rendered(tokens: int) -> render.RenderedElements:
        if tokens not in done:
            longest = run.rules.perception.max_text
            done[tokens] = render.render(seen.tree, seen.window, tokens, longest)
        return done[tokens]

    def counts(tokens: int) -> tuple[int, int]:
        return rendered(tokens).shown, rendered(tokens).total

    return Elements(render=lambda tokens: rendered(tokens).text, counts=counts)


async def _image(run: Run, seen: Observation) -> Image | None:
    """The current picture; a black one says nothing and is not sent."""
    if seen.model_image is None or seen.black:
        return None
    data = await run.ports.artifacts.get(seen.model_image)
    size = seen.image_size
    return Image(
        ref=seen.model_image,
        width=size.width if size else 0,
        height=size.height if size else 0,
        data=data,
    )


async def _call(run: Run, turn: Turn) -> ModelReply:
    for shortened in turn.traffic.fit():
        run.fallback("turn_shortened", shortened)
    forced = turn.tool_calls >= run.rules.agent.max_tool_calls or turn.traffic.decision_due
    request = ModelRequest(
        role=Role.OPERATOR,
        system=run.transcript.stable.system,
        messages=(*turn.prompt, *turn.traffic.sent),
        tools=run.transcript.stable.tools,
        allowed_tools=ACTION_NAMES if forced else None,
        require_call=True,
        task_id=run.task.task_id,
        step_number=run.step_number,
    )
    first = turn.model_calls == 0
    turn.model_calls += 1
    if turn.cut:
        request = after_cut(request)
    reply = await call_model(run, request, first=first, figures=turn.figures if first else None)
    if first:
        # From these alone: each is stored with its figures, so a restart learns the same.
        run.transcript.counter.learn(turn.traffic.first_tokens, reply.usage.prompt)
    return reply


async def _take(run: Run, turn: Turn, reply: ModelReply) -> bool:
    """Takes one reply; true when an action was proposed."""
    if reply.finish is Finish.SAFETY:
        await _less_screen(run, turn, reply)
        return False
    calls = reply.message.calls
    turn.cut = reply.finish is Finish.LENGTH
    if reply.finish is not Finish.STOP or not calls:
        _nudge(run, turn, reply)
        return False
    run.bad_replies = 0
    turn.thinking.append(reply.message.text)
    turn.native_thinking.append(reply.message.thinking)
    turn.traffic.add(reply.message)
    answers: list[Part] = []
    turn.proposal = None
    for call in calls:
        answers += await _answer(run, turn, call)
    turn.traffic.add(Message(role="user", parts=tuple(answers)))
    return turn.proposal is not None


async def _answer(run: Run, turn: Turn, call: Call) -> tuple[Part, ...]:
    """One call's answer; the first action of a reply is proposed, others are not executed."""
    if call.name in ACTION_NAMES:
        if turn.proposal is not None:
            text = "not executed: one action a turn"
            return (Response(id=call.id, name=call.name, response={"error": text}),)
        turn.proposal = call
        return (Response(id=call.id, name=call.name, response=PENDING),)
    known = [t.name for t in run.transcript.stable.tools]
    if turn.proposal is not None:
        text = "not executed: an action was called before it"
    elif call.name not in IN_TURN_NAMES or call.name not in known:
        text = f"there is no function “{call.name[:60]}”; there are: {', '.join(known)}"
        run.note(
            ToolServed(step_number=run.step_number, name=call.name[:60], args={}, result=text[:200])
        )
    elif turn.tool_calls >= run.rules.agent.max_tool_calls:
        text = "not executed: decide now, with what you have"
    else:
        return await serve(run, call)
    turn.tool_calls += 1
    if turn.tool_calls > 2 * run.rules.agent.max_tool_calls and turn.proposal is None:
        raise failed("the model calls tools without end and decides nothing", "no_decision")
    return (Response(id=call.id, name=call.name, response={"error": text}),)


def _nudge(run: Run, turn: Turn, reply: ModelReply) -> None:
    """Asks again after an answer that holds no usable call, within bounds."""
    run.bad_replies += 1
    if run.bad_replies > run.rules.agent.max_bad_replies:
        raise failed(
            f"the model gave {run.bad_replies} unusable answers in a row; the last one: "
            f"{reply.finish.value} {reply.finish_detail}".strip(),
            "no_usable_answer",
        )
    keepable = reply.finish is Finish.STOP and reply.message.text.strip()
    if keepable:
        turn.thinking.append(reply.message.text)
        turn.traffic.add(reply.message)
    turn.traffic.add(user(_NUDGES.get(reply.finish, _NUDGES[Finish.OTHER])))


async def _less_screen(run: Run, turn: Turn, reply: ModelReply) -> None:
    """A blocked answer is asked for once more with less of the screen, then the task ends."""
    if turn.less_screen:
        raise failed(
            f"the model's service blocked the answer: {reply.finish_detail or 'no reason given'}",
            "model_blocked",
        )
    turn.less_screen = True
    run.fallback("less_screen", f"the answer was blocked: {reply.finish_detail}")
    turn.traffic.restart()
    await _build(run, turn)
