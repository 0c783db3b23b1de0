"""Refuses what must not run, asks for approval where the policy says so; touches no device."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.agent import stepping
from app.agent.flow import EndTask, failed
from app.agent.graph import Signal
from app.agent.run import Run, Turn
from app.agent.tools.actions import Unreadable, read_action
from app.domain.actions import (
    IRREVERSIBLE_WORDS,
    AcceptAlert,
    Action,
    Back,
    ClearText,
    DismissAlert,
    DoubleTap,
    Finish,
    GiveUp,
    HideKeyboard,
    Home,
    InputText,
    LaunchApp,
    LongPress,
    OpenUrl,
    PressKey,
    SetOrientation,
    Tap,
    TerminateApp,
    Verdict,
    Wait,
    describe,
)
from app.domain.config import Platform
from app.domain.events import ActionRefused
from app.domain.messages import Call, JsonObject, Message, Part, Response
from app.domain.tasks import Ability, Approval, TaskState
from app.memory.ledger import PENDING

_NEEDS: tuple[tuple[type[Action], Ability], ...] = (
    (InputText, Ability.TEXT),
    (ClearText, Ability.TEXT),
    (PressKey, Ability.KEYS),
    (Back, Ability.BACK),
    (Home, Ability.HOME),
    (LaunchApp, Ability.APPS),
    (TerminateApp, Ability.APPS),
    (OpenUrl, Ability.URLS),
    (HideKeyboard, Ability.KEYBOARD),
    (SetOrientation, Ability.ORIENTATION),
    (AcceptAlert, Ability.ALERTS),
    (DismissAlert, Ability.ALERTS),
)
_ALERT_ACTIONS = (AcceptAlert, DismissAlert, Wait, Finish, GiveUp)


async def run(run: Run) -> Signal:
    """Reads the proposed call as an action and lets it through, refuses it, or ends the turn."""
    turn = run.current_turn()
    call = turn.proposal
    if call is None:
        raise RuntimeError("the operator proposed nothing")
    turn.action = None
    try:
        action = read_action(call, turn.observation)
        turn.action = action
        reason = _objection(run, turn, action)
    except Unreadable as unreadable:
        reason = str(unreadable)
    if reason:
        return await _refuse(run, turn, call, reason)
    if turn.action is None:
        raise RuntimeError("an action that was read is missing")
    turn.irreversible = is_irreversible(turn.action)
    if refusal := await _ask_approval(run, turn):
        return await _refuse(run, turn, call, refusal)
    return await _pass(run, turn.action)


async def _pass(run: Run, action: Action) -> Signal:
    match action:
        case Finish():
            await stepping.finish_without_device(run, Verdict.EXECUTED, "the answer was given")
            return Signal.FINISHED
        case GiveUp(reason=reason):
            await stepping.finish_without_device(run, Verdict.EXECUTED, "the operator gave up")
            raise EndTask(TaskState.FAILED, reason, code="gave_up")
        case _:
            return Signal.ALLOWED


def _objection(run: Run, turn: Turn, action: Action) -> str:
    """Why the action must not run, or an empty string."""
    if isinstance(action, Finish):
        return _unfinished(run)
    if turn.observation.alert is not None and not isinstance(action, _ALERT_ACTIONS):
        return "an alert is open; accept or dismiss it first"
    for kind, ability in _NEEDS:
        if isinstance(action, kind) and ability not in run.ports.device.abilities:
            return f"this device cannot do {action.type} ({ability.value})"
    return _not_allowed(run, action) or _repeated(run, turn, action)


def _unfinished(run: Run) -> str:
    listed = _still_open(run)
    if not listed:
        return ""
    run.finish_refusals += 1
    return (
        f"still open: {listed}. Tick what is done with update_plan; a check closes when a screen "
        "shows its text; give_up if it cannot be done"
    )


def _still_open(run: Run) -> str:
    open_milestones = run.plan.open if run.plan else ()
    open_checks = tuple(c for c in run.checks if c.closed_by_step is None)
    if not open_milestones and not open_checks:
        return ""
    items = [f"milestone {m.number} “{m.text}”" for m in open_milestones]
    items += [f"check “{c.text}”" for c in open_checks]
    return "; ".join(items[:8]) + (f"; and {len(items) - 8} more" if len(items) > 8 else "")


def _not_allowed(run: Run, action: Action) -> str:
    allowed = run.rules.device.allowed_apps
    match action:
        case LaunchApp(app=name):
            wanted = run.ports.device.apps.get(name, name)
        case OpenUrl(url=url):
            wanted = url
            if not re.match(r"https?://", url) and run.rules.device.platform is Platform.CHROMIUM:
                return "only http and https addresses can be opened"
        case _:
            return ""
    if allowed and not any(wanted.startswith(prefix) for prefix in allowed):
        return f"{wanted} is not among the apps allowed on this device"
    return ""


def _repeated(run: Run, turn: Turn, action: Action) -> str:
    """The same action again and again on the same screen, without any change."""
    times = run.rules.agent.identical_actions - 1
    last = list(run.recent)[-times:]
    if isinstance(action, Wait) or len(last) < times:
        return ""
    text = describe(action)
    same = all(
        s.action_text == text
        and s.verdict is Verdict.NO_VISIBLE_CHANGE
        and s.observation.content_hash == turn.observation.content_hash
        for s in last
    )
    return f"{text} brought no change {times} times; do something else" if same else ""


def is_irreversible(action: Action) -> bool:
    """Whether the target's words name an effect outside the phone."""
    match action:
        case Tap(target=target) | LongPress(target=target) | DoubleTap(target=target):
            return bool(_words([target.text, target.resource_id]) & IRREVERSIBLE_WORDS)
        case InputText(submit=True, target=target):
            return bool(target and _words([target.text, target.role]) & {"message", "send", "post"})
        case _:
            return False


def _words(texts: Iterable[str]) -> frozenset[str]:
    split = (re.sub(r"([a-z])([A-Z])", r"\1 \2", t) for t in texts)
    return frozenset(w for t in split for w in re.findall(r"[a-z]+", t.casefold()))


async def _ask_approval(run: Run, turn: Turn) -> str:
    policy, action = run.task.spec.approval, turn.action
    if action is None or isinstance(action, Finish | GiveUp | Wait):
        return ""
    wanted = policy is Approval.ALWAYS or (policy is Approval.IRREVERSIBLE and turn.irreversible)
    if not wanted:
        return ""
    reply = await run.ask_person("approval", describe(action))
    if reply.approved:
        turn.approved_by = reply.by or "a person"
        return ""
    return f"a person denied it: {reply.text}" if reply.text else "a person denied it"


async def _refuse(run: Run, turn: Turn, call: Call, reason: str) -> Signal:
    """Answers the call with the reason; the last refusal of a turn writes a blocked step."""
    turn.refusals += 1
    run.note(
        ActionRefused(
            step_number=run.step_number,
            name=call.name,
            args=_bounded(call.args),
            reason=reason,
            refusal=turn.refusals,
        )
    )
    unfinished = run.finish_refusals >= run.rules.agent.max_finish_refusals
    if unfinished and isinstance(turn.action, Finish):
        await stepping.finish_without_device(run, Verdict.BLOCKED, f"refused: {reason}")
        told = f"finish was refused {run.finish_refusals} times; still open: {_still_open(run)}"
        raise failed(told, "finish_refused")
    if turn.refusals >= run.rules.agent.max_refusals:
        await stepping.finish_without_device(run, Verdict.BLOCKED, f"refused: {reason}")
        return Signal.BLOCKED
    _answer_pending(turn, {"error": f"refused: {reason}"})
    turn.proposal = turn.action = None
    return Signal.REFUSED


def _answer_pending(turn: Turn, answer: JsonObject) -> None:
    last = turn.traffic.messages[-1]
    parts: tuple[Part, ...] = tuple(
        p.model_copy(update={"response": answer})
        if isinstance(p, Response) and p.response == PENDING
        else p
        for p in last.parts
    )
    turn.traffic.messages[-1] = Message(role="user", parts=parts)


def _bounded(args: JsonObject) -> JsonObject:
    """Arguments as asked for, long texts cut: a model may send anything."""
    return {
        str(k)[:100]: v if isinstance(v, int | float | bool) else str(v)[:500]
        for k, v in list(args.items())[:20]
    }
