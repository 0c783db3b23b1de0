"""Turns one raw look at a device into all that an observation says, stored references aside."""

from __future__ import annotations

from typing import NamedTuple

from app.domain.config import PerceptionConfig
from app.domain.screens import DeviceView, Screenshot, Size, TreeStatus, UiTree
from app.perception import picture, screen
from app.perception.listing import is_bare
from app.perception.picture import ModelImage
from app.perception.text import tidy
from app.perception.tree import parse


class Seen(NamedTuple):
    """What the picture alone gave."""

    image_size: Size | None
    model_image: ModelImage | None
    dhash: str
    black: bool
    problem: str


class Interpreted(NamedTuple):
    """Everything of an Observation that needs no store. Pure: the same view, the same result."""

    tree: UiTree
    dhash: str
    signature: str
    content_hash: str
    model_image: ModelImage | None
    """JPEG for the model; None without a picture or when it is one plain colour."""
    image_size: Size | None
    """Pixels of the captured screenshot."""
    black: bool
    problems: tuple[str, ...]
    bare: bool
    """The tree names nothing in view: text can only be had from the picture."""


def interpret(view: DeviceView, config: PerceptionConfig) -> Interpreted:
    """Parses, hashes and shrinks. Costs CPU: call it in a thread."""
    tree = read_tree(view, config)
    seen = see(view.screenshot, view.screenshot_problem, config)
    return Interpreted(
        tree=tree,
        dhash=seen.dhash,
        signature=screen.signature(
            tree,
            view.window,
            package=view.package,
            activity=view.activity,
            url=view.url,
            title=view.title,
        ),
        content_hash=screen.content_hash(tree, view.window),
        model_image=seen.model_image,
        image_size=seen.image_size,
        black=seen.black,
        problems=tuple(p for p in (seen.problem, *tree_problems(tree, view)) if p),
        bare=is_bare(tree),
    )


def read_tree(view: DeviceView, config: PerceptionConfig) -> UiTree:
    if view.source is None:
        reason = tidy(view.source_problem, 300) or "the device gave no UI source"
        return UiTree(status=TreeStatus.FAILED, reason=reason)
    return parse(view.source, view.window, config)


def see(screenshot: Screenshot | None, problem: str, config: PerceptionConfig) -> Seen:
    if screenshot is None:
        return Seen(None, None, "", False, tidy(problem, 300) or "there is no screenshot")
    opened = picture.open_picture(screenshot.data)
    image = opened.image
    if image is None:
        return Seen(None, None, "", False, opened.problem)
    size = Size(width=image.width, height=image.height)
    if picture.is_uniform(image):
        dark = picture.is_dark(image)
        told = "the screen is black (secure or off)" if dark else "the picture is one plain colour"
        return Seen(size, None, picture.dhash(image), True, told)
    shown = picture.model_jpeg(image, config.image_short_side, config.jpeg_quality)
    return Seen(size, shown, picture.dhash(image), False, tidy(problem, 300))


def tree_problems(tree: UiTree, view: DeviceView) -> list[str]:
    """What a reader of the tree must know before trusting it."""
    match tree.status:
        case TreeStatus.FAILED:
            return [f"the UI tree could not be read: {tree.reason}"]
        case TreeStatus.EMPTY:
            return ["screen unsettled: empty hierarchy"]
        case TreeStatus.PARTIAL:
            problems = [f"the UI tree is incomplete: {tree.reason}"]
        case TreeStatus.OK:
            problems = []
    packages = {element.package for element in tree.elements if element.package}
    if view.package and packages and view.package not in packages:
        problems.append(
            f"the UI tree belongs to another app ({tree.package}) than the one in front"
            f" ({view.package}); its elements may be stale"
        )
    if is_bare(tree):
        problems.append("the UI tree names nothing in view (a canvas or a custom view)")
    return problems
