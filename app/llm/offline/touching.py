"""How the offline operator carries out the commands that act on the device."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.messages import JsonObject
from app.llm.offline.commands import Command, Verb
from app.llm.offline.elements import CHOICE_ROLES, Shown, find, find_field, find_switch, same
from app.llm.offline.seeking import scroll_on, seek
from app.llm.offline.turn import MAX_TRIES, GivesUp, Moves, Turn

MAX_WAIT = 60.0
"""Seconds of one wait action."""


def _target(element: Shown) -> JsonObject:
    return {"element": element.index}


def _point(element: Shown) -> JsonObject:
    return {"x": element.x, "y": element.y}


def _press(turn: Turn, command: Command) -> Moves:
    """Tap, long press, double tap: by element; by point when the element was refused."""
    name = str(command.verb).replace(" ", "_")
    element = yield from seek(turn, command.text, lambda e: find(e, command.text, command.nth))
    if "disabled" in element.flags and turn.place.stage != "held":
        yield from turn.act("wait", {"seconds": 1}, stage="held")
    more: JsonObject = {"seconds": command.seconds} if command.seconds else {}
    by_point = (name, {**_point(element), **more}) if element.on_screen else None
    if turn.place.tries > 1 and by_point:
        yield from turn.act(name, by_point[1])
    yield from turn.act(name, {**_target(element), **more}, instead=by_point)


def _tap_at(turn: Turn, command: Command) -> Moves:
    yield from turn.act("tap", {"x": command.x, "y": command.y})


def _open(turn: Turn, command: Command) -> Moves:
    """By name; when that is refused, by its icon on the screen."""
    icon = find([e for e in turn.view.elements if e.interactive], command.text)
    instead = ("tap", _target(icon)) if icon else None
    yield from turn.act("launch_app", {"app": command.text}, instead=instead)


def _type(turn: Turn, command: Command) -> Moves:
    args: JsonObject = {"text": command.text}
    if command.verb is Verb.APPEND:
        args["mode"] = "append"
    if command.submit:
        args["submit"] = True
    instead = None
    if command.target:
        element = yield from seek(turn, command.target, lambda e: find_field(e, command.target))
        if element.on_screen:
            instead = ("input_text", {**args, **_point(element)})
        args |= _target(element)
    yield from turn.act("input_text", args, instead=instead)


def _clear(turn: Turn, command: Command) -> Moves:
    args: JsonObject = {}
    if command.text:
        args = _target((yield from seek(turn, command.text, lambda e: find_field(e, command.text))))
    yield from turn.act("clear_text", args)


def _select(turn: Turn, command: Command) -> Moves:
    """A choice field takes the option's text; else it is opened and the option tapped."""
    if turn.place.stage == "opened":
        yield from _pick_option(turn, command)
        return
    field = yield from seek(turn, command.target, lambda e: find_field(e, command.target))
    if same(field.value, command.text):
        return
    if turn.place.stage != "typed" and field.role in CHOICE_ROLES:
        args = {"text": command.text, **_target(field)}
        yield from turn.act("input_text", args, stage="typed")
    yield from turn.act("tap", _target(field), stage="opened")


def _pick_option(turn: Turn, command: Command) -> Moves:
    """The field was opened and may be covered by its own options."""
    field = find_field(turn.view.elements, command.target)
    if field is not None and same(field.value, command.text):
        return
    options = [e for e in turn.view.elements if field is None or e.index != field.index]
    option = find(options, command.text)
    if option is None:
        raise GivesUp(f"I cannot find the option “{command.text}” of “{command.target}”.")
    yield from turn.act("tap", _target(option))


def _switch(turn: Turn, command: Command) -> Moves:
    """Looks before and after: a switch that stands right is left alone."""
    wanted = command.verb is Verb.TURN_ON
    element = yield from seek(turn, command.text, lambda e: find_switch(e, command.text))
    if element.checked is wanted:
        return
    if turn.place.stage == "switched" and turn.place.tries > MAX_TRIES:
        raise GivesUp(f"“{command.text}” does not turn {'on' if wanted else 'off'}.")
    turn.place = turn.place.again()
    yield from turn.act("tap", _target(element), stage="switched")


def _drag(turn: Turn, command: Command) -> Moves:
    start = yield from seek(turn, command.text, lambda e: find(e, command.text))
    end = yield from seek(turn, command.target, lambda e: find(e, command.target))
    args = {"element": start.index, "to_element": end.index}
    yield from turn.act("drag", args)


def _scroll_to(turn: Turn, command: Command) -> Moves:
    element = find(turn.view.elements, command.text)
    if element is not None and element.on_screen:
        return
    yield from scroll_on(turn, command.text)
    raise GivesUp(f"I cannot scroll to “{command.text}” on “{turn.view.page}”.")


def _wait(turn: Turn, command: Command) -> Moves:
    """Long waits are taken in parts of a minute, counted as tries."""
    left = command.seconds - (turn.place.tries - 1) * MAX_WAIT
    if left <= MAX_WAIT:
        yield from turn.act("wait", {"seconds": max(0.1, left)})
    turn.place = turn.place.again()
    yield from turn.act("wait", {"seconds": MAX_WAIT}, stage="waiting")


def _accept(turn: Turn, command: Command) -> Moves:
    yield from _await_alert(turn)
    args = {"text": command.text} if command.text else {}
    yield from turn.act("accept_alert", args)


def _dismiss(turn: Turn, command: Command) -> Moves:
    yield from _await_alert(turn)
    yield from turn.act("dismiss_alert", {})


def _await_alert(turn: Turn) -> Moves:
    if turn.view.alert is not None:
        return
    if turn.place.stage == "":
        yield from turn.act("wait", {"seconds": 1}, stage="waited")
    raise GivesUp("No alert is open.")


def _simple(name: str, **fields: str) -> Callable[[Turn, Command], Moves]:
    """An action whose parameters are fields of the command."""

    def act(turn: Turn, command: Command) -> Moves:
        yield from turn.act(name, {key: getattr(command, own) for key, own in fields.items()})

    return act


TOUCHING: dict[Verb, Callable[[Turn, Command], Moves]] = {
    Verb.OPEN: _open,
    Verb.CLOSE: _simple("terminate_app", app="text"),
    Verb.VISIT: _simple("open_url", url="text"),
    Verb.TAP: _press,
    Verb.LONG_PRESS: _press,
    Verb.DOUBLE_TAP: _press,
    Verb.TAP_AT: _tap_at,
    Verb.DRAG: _drag,
    Verb.TYPE: _type,
    Verb.APPEND: _type,
    Verb.CLEAR: _clear,
    Verb.SELECT: _select,
    Verb.TURN_ON: _switch,
    Verb.TURN_OFF: _switch,
    Verb.SCROLL_TO: _scroll_to,
    Verb.SWIPE: _simple("swipe", direction="direction"),
    Verb.PRESS_KEY: _simple("press_key", key="direction"),
    Verb.BACK: _simple("back"),
    Verb.HOME: _simple("home"),
    Verb.HIDE_KEYBOARD: _simple("hide_keyboard"),
    Verb.ROTATE: _simple("set_orientation", orientation="direction"),
    Verb.ACCEPT_ALERT: _accept,
    Verb.DISMISS_ALERT: _dismiss,
    Verb.WAIT: _wait,
}
