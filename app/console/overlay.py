"""Where an action is drawn on its screenshot, in picture coordinates for an SVG."""

from __future__ import annotations

from typing import NamedTuple

from app.domain import actions as act
from app.domain.actions import Action, Point, Target
from app.domain.screens import Observation

SHOWN_TEXT = 32
DEFAULT_WIDTH, DEFAULT_HEIGHT = 360, 780


class Spot(NamedTuple):
    """A place in picture units."""

    x: float
    y: float


class Box(NamedTuple):
    """The outline of the element an action was meant for."""

    x: float
    y: float
    width: float
    height: float


class Overlay(NamedTuple):
    """What is drawn; every number is in the units of `width` × `height`."""

    width: int
    height: int
    point: Spot | None = None
    """Where the finger came down."""
    path: tuple[Spot, Spot] | None = None
    box: Box | None = None
    text: str = ""
    """What was typed, drawn beside the field."""
    held: bool = False
    """A long press or a double tap: two rings."""

    @property
    def unit(self) -> float:
        """One hundredth of the picture's width: line widths and radii follow the picture."""
        return self.width / 100


def overlay(observation: Observation, action: Action | None) -> Overlay:
    """The drawing for one step; empty where the action has no place on the screen."""
    size = observation.image_size
    width = size.width if size and size.width else observation.window.width or DEFAULT_WIDTH
    height = size.height if size and size.height else observation.window.height or DEFAULT_HEIGHT
    blank = Overlay(width, height)

    def spot(point: Point) -> Spot:
        return Spot(point.x * width / act.NORMAL, point.y * height / act.NORMAL)

    def box(target: Target) -> Box | None:
        return _box(observation, target, width, height)

    match action:
        case act.Tap(target=target):
            return blank._replace(point=spot(target.point), box=box(target))
        case act.LongPress(target=target) | act.DoubleTap(target=target):
            return blank._replace(point=spot(target.point), box=box(target), held=True)
        case act.InputText(text=text, target=target):
            shown = text if len(text) <= SHOWN_TEXT else text[: SHOWN_TEXT - 1] + "…"
            if target is None:
                return blank._replace(text=shown)
            return blank._replace(point=spot(target.point), box=box(target), text=shown)
        case act.ClearText(target=target) if target:
            return blank._replace(point=spot(target.point), box=box(target))
        case act.Swipe(start=start, end=end):
            return blank._replace(path=(spot(start), spot(end)))
        case act.Drag(start=start, end=end):
            return blank._replace(path=(spot(start.point), spot(end.point)), box=box(start))
        case _:
            return blank


def _box(observation: Observation, target: Target, width: int, height: int) -> Box | None:
    window = observation.window
    if target.element is None or not window.width or not window.height:
        return None
    for element in observation.tree.elements:
        if element.index == target.element and not element.bounds.empty:
            across, down = width / window.width, height / window.height
            bounds = element.bounds
            return Box(
                bounds.left * across, bounds.top * down, bounds.width * across, bounds.height * down
            )
    return None
