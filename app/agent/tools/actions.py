"""Reads a model's call as an action on the present screen, or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.actions import (
    NORMAL,
    AcceptAlert,
    Action,
    Back,
    ClearText,
    Coordinate,
    DismissAlert,
    DoubleTap,
    Drag,
    Finish,
    GiveUp,
    HideKeyboard,
    Home,
    InputText,
    LabelSource,
    LaunchApp,
    LongPress,
    OpenUrl,
    Point,
    PressKey,
    ScrollTo,
    SetOrientation,
    Swipe,
    Tap,
    Target,
    TerminateApp,
    Wait,
)
from app.domain.messages import Call
from app.domain.screens import Element, ElementSource, Observation
from app.perception import hit

SWIPES: dict[str, tuple[Point, Point]] = {
    "up": (Point(x=500, y=750), Point(x=500, y=250)),
    "down": (Point(x=500, y=300), Point(x=500, y=800)),
    "left": (Point(x=850, y=500), Point(x=150, y=500)),
    "right": (Point(x=150, y=500), Point(x=850, y=500)),
}


class Unreadable(Exception):
    """The call cannot be an action here; the text tells the model what to change."""


class _Args(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Place(_Args):
    element: int | None = None
    x: Coordinate | None = None
    y: Coordinate | None = None


class _Press(_Place):
    seconds: float = Field(default=1.0, gt=0, le=10)


class _Type(_Place):
    text: str = Field(max_length=10_000)
    mode: Literal["replace", "append"] = "replace"
    submit: bool = False


class _Swipe(_Args):
    direction: Literal["up", "down", "left", "right"] | None = None
    x: Coordinate | None = None
    y: Coordinate | None = None
    x2: Coordinate | None = None
    y2: Coordinate | None = None
    seconds: float = Field(default=0.3, gt=0, le=10)


class _Drag(_Place):
    to_element: int | None = None
    to_x: Coordinate | None = None
    to_y: Coordinate | None = None


_A = TypeVar("_A", bound=BaseModel)


def read_action(call: Call, seen: Observation) -> Action:
    """The action a call means on this observation; raises Unreadable."""
    if call.problem:
        raise Unreadable(f"the arguments of {call.name} could not be read: {call.problem}")
    reader = _READERS.get(call.name)
    if reader is None:
        raise Unreadable(f"there is no action {call.name!r}")
    return reader(call.args, seen)


def _tap(args: Mapping[str, object], seen: Observation) -> Action:
    return Tap(target=_target(_read(_Place, args), seen))


def _double_tap(args: Mapping[str, object], seen: Observation) -> Action:
    return DoubleTap(target=_target(_read(_Place, args), seen))


def _long_press(args: Mapping[str, object], seen: Observation) -> Action:
    read = _read(_Press, args)
    return LongPress(target=_target(read, seen), seconds=read.seconds)


def _input_text(args: Mapping[str, object], seen: Observation) -> Action:
    read = _read(_Type, args)
    target = _optional_target(read, seen)
    return InputText(text=read.text, target=target, mode=read.mode, submit=read.submit)


def _clear_text(args: Mapping[str, object], seen: Observation) -> Action:
    return ClearText(target=_optional_target(_read(_Place, args), seen))


def _swipe(args: Mapping[str, object], seen: Observation) -> Action:
    read = _read(_Swipe, args)
    if read.x is not None and read.y is not None and read.x2 is not None and read.y2 is not None:
        start, end = Point(x=read.x, y=read.y), Point(x=read.x2, y=read.y2)
    elif read.direction is not None:
        start, end = SWIPES[read.direction]
    else:
        raise Unreadable("swipe needs a direction, or x, y, x2 and y2")
    return Swipe(start=start, end=end, seconds=read.seconds)


def _drag(args: Mapping[str, object], seen: Observation) -> Action:
    read = _read(_Drag, args)
    end = _Place(element=read.to_element, x=read.to_x, y=read.to_y)
    return Drag(start=_target(read, seen), end=_target(end, seen))


def _plain(action: type[Action]) -> Callable[[Mapping[str, object], Observation], Action]:
    def read(args: Mapping[str, object], seen: Observation) -> Action:
        known = {k: v for k, v in args.items() if k in action.model_fields and k != "type"}
        return _read(action, known)

    return read


_READERS: dict[str, Callable[[Mapping[str, object], Observation], Action]] = {
    "tap": _tap,
    "double_tap": _double_tap,
    "long_press": _long_press,
    "input_text": _input_text,
    "clear_text": _clear_text,
    "swipe": _swipe,
    "drag": _drag,
    "scroll_to": _plain(ScrollTo),
    "press_key": _plain(PressKey),
    "back": _plain(Back),
    "home": _plain(Home),
    "launch_app": _plain(LaunchApp),
    "terminate_app": _plain(TerminateApp),
    "open_url": _plain(OpenUrl),
    "hide_keyboard": _plain(HideKeyboard),
    "set_orientation": _plain(SetOrientation),
    "accept_alert": _plain(AcceptAlert),
    "dismiss_alert": _plain(DismissAlert),
    "wait": _plain(Wait),
    "finish": _plain(Finish),
    "give_up": _plain(GiveUp),
}


def _read(model: type[_A], args: Mapping[str, object]) -> _A:
    try:
        return model.model_validate(args)
    except ValidationError as error:
        faults = (
            f"{'.'.join(str(p) for p in fault['loc']) or 'arguments'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)[:3]
        )
        raise Unreadable("wrong arguments: " + "; ".join(faults)) from None


def _optional_target(place: _Place, seen: Observation) -> Target | None:
    if place.element is None and place.x is None and place.y is None:
        return None
    return _target(place, seen)


def _target(place: _Place, seen: Observation) -> Target:
    if place.element is not None:
        element = hit.resolve_element(seen.tree, place.element)
        if element is None:
            raise Unreadable(
                f"element {place.element} is not on this screen; indexes are valid for the "
                "present element list only"
            )
        if problem := hit.target_problem(element, seen.tree, seen.window):
            raise Unreadable(f"element {place.element} cannot be touched: {problem}")
        return element_target(element, seen, LabelSource.INDEX)
    if place.x is None or place.y is None:
        raise Unreadable("a target is an element index, or x and y (0-1000)")
    found = hit.hit_test(
        seen.tree, place.x / NORMAL * seen.window.width, place.y / NORMAL * seen.window.height
    )
    point = Point(x=place.x, y=place.y)
    if found is None:
        return Target(point=point)
    return element_target(found, seen, LabelSource.HIT_TEST).model_copy(update={"point": point})


def element_target(element: Element, seen: Observation, source: LabelSource) -> Target:
    """The middle of an element with its meaning."""
    return Target(
        point=hit.centre(element, seen.window, seen.tree.keyboard),
        element=element.index,
        text=element.text or element.hint,
        role=element.role,
        resource_id=element.resource_id,
        password=element.password,
        label_source=LabelSource.OCR if element.source is ElementSource.OCR else source,
    )
