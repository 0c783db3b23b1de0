"""What makes two screens the same page, the same content, or different."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from app.domain.screens import Element, ElementSource, Observation, ScreenDiff, Size, UiTree
from app.perception.listing import candidates, has_boxes, is_bare
from app.perception.picture import distance
from app.perception.render import known_window
from app.perception.text import shorten

COLUMNS = 12
"""Grid on which places are compared across the window; finer would tell values apart."""
TOP = 0.3
"""Share of the window in which a page writes its title."""
BAR = 0.12
"""Share in which the first words are the title where nothing says so."""
STATUS_BAR = 0.06
SYSTEM = "com.android.systemui"

PICTURE_THRESHOLD = 3
"""Differing hash bits that a blinking cursor or a clock may cause."""
ALIKE = 0.5
"""Share of equal structure below which two trees are different pages."""
MAX_TEXTS = 20
MAX_DIFF_TEXT = 100

TITLE_ID = re.compile(
    r"(?:^|[_/:.])(?:action_bar_title|toolbar_title|collapsing_toolbar|page_title)$"
)
DIGITS = re.compile(r"\d+")

Shape = frozenset[tuple[str, str, int, int]]


def page_key(package: str, activity: str, url: str, title: str) -> str:
    """What names a page from outside its tree, numbers left out."""
    try:
        parts = urlsplit(url)
        address = f"{parts.netloc}{parts.path}#{parts.fragment.split('?')[0]}"
    except ValueError:
        address = url
    return DIGITS.sub("#", "\n".join((package, activity, address, title)))


def signature(
    tree: UiTree,
    window: Size,
    *,
    package: str = "",
    activity: str = "",
    url: str = "",
    title: str = "",
) -> str:
    """Hash of a page's structure: other values, same signature. Empty without any element."""
    if not tree.elements:
        return ""
    window = known_window(tree, window)
    lines = [page_key(package or tree.package, activity, url, title), heading(tree, window)]
    lines += sorted("|".join(map(str, item)) for item in shape(tree, window))
    return digest("\n".join(lines))


def shape(tree: UiTree, window: Size) -> Shape:
    """Kinds of elements in view with their columns, each once, however often it is repeated."""
    width = window.width or 1
    return frozenset(
        (
            element.role,
            DIGITS.sub("#", element.resource_id),
            element.bounds.left * COLUMNS // width,
            element.bounds.width * COLUMNS // width,
        )
        for element in seen(tree, window)
        # Small words without an id move with their neighbours' length.
        if element.resource_id or element.role not in ("text", "image")
    )


def seen(tree: UiTree, window: Size) -> list[Element]:
    """Elements in view, without the system's status bar and its clock."""
    found = candidates(tree, visible_only=True)
    low = window.height * STATUS_BAR
    return [e for e in found if not (e.package == SYSTEM and e.bounds.bottom <= low)]


def heading(tree: UiTree, window: Size) -> str:
    """The title that a page writes at its top, numbers left out; empty when there is none."""
    guess = ""
    for element in sorted(
        (
            e
            for e in tree.elements
            if e.text and e.source is not ElementSource.OCR and (e.visible or not has_boxes(tree))
        ),
        key=lambda e: (e.bounds.top, e.index),
    ):
        if element.bounds.top > window.height * TOP:
            break
        title = DIGITS.sub("#", shorten(element.text, 80))
        if element.role in ("heading", "toolbar") or TITLE_ID.search(element.resource_id):
            return title
        if not guess and element.role == "text" and element.bounds.top <= window.height * BAR:
            guess = "" if element.package == SYSTEM else title
    return guess


def content_hash(tree: UiTree, window: Size) -> str:
    """Hash of everything in view with its values and states. Empty without any element."""
    if not tree.elements:
        return ""
    window = known_window(tree, window)
    return digest("\n".join(state(element) for element in seen(tree, window)))


def state(element: Element) -> str:
    return "\x1f".join(
        (
            element.role,
            element.text,
            element.value,
            element.hint,
            str(element.checked),
            str(element.enabled),
            str(element.selected),
            str(element.focused),
        )
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def messages(observation: Observation) -> dict[str, None]:
    """What the device says beside the tree: an open alert, toasts."""
    alert = [observation.alert.text] if observation.alert is not None else []
    return dict.fromkeys(shorten(text, MAX_DIFF_TEXT) for text in (*alert, *observation.toasts))


def texts(observation: Observation, *, drawn: bool = True) -> dict[str, None]:
    """Everything a person could read, in order, each once; what is drawn only where asked."""
    window = known_window(observation.tree, observation.window)
    found = messages(observation)
    for element in seen(observation.tree, window):
        if element.source is ElementSource.OCR and not drawn:
            continue
        for text in (element.text, "" if element.password else element.value):
            if text:
                found[shorten(text, MAX_DIFF_TEXT)] = None
    return found


def diff(before: Observation, after: Observation) -> ScreenDiff:
    """The mechanical difference; what could not be seen on either side counts as no difference."""
    apart = distance(before.dhash, after.dhash)
    app_changed = bool(before.app() and after.app()) and in_front(before) != in_front(after)
    page_changed = app_changed or is_other_page(before, after)
    both_read = before.tree.usable and after.tree.usable
    # A tree that could not be read has neither lost nor won anything.
    # One page whose picture was read in time only once has neither lost nor won its words.
    once = not page_changed and has_drawn(before.tree) != has_drawn(after.tree)
    earlier, later = (
        texts(o, drawn=not once) if both_read else messages(o) for o in (before, after)
    )
    added = [text for text in later if text not in earlier]
    removed = [text for text in earlier if text not in later] if both_read else []
    changed = (
        page_changed
        or bool(added or removed)
        or before.alert != after.alert
        or before.orientation != after.orientation
        or before.windows != after.windows
        or (both_read and not once and before.content_hash != after.content_hash)
        or (apart is not None and apart > picture_threshold(before, after))
    )
    return ScreenDiff(
        changed=changed,
        screenshot_distance=apart,
        app_changed=app_changed,
        page_changed=page_changed,
        added=tuple(added[:MAX_TEXTS]),
        removed=tuple(removed[:MAX_TEXTS]),
    )


def has_drawn(tree: UiTree) -> bool:
    """Whether any element was read from the picture."""
    return any(element.source is ElementSource.OCR for element in tree.elements)


def in_front(observation: Observation) -> str:
    """The app: a package, or for the web the origin."""
    if observation.package:
        return observation.package
    try:
        return urlsplit(observation.url).netloc
    except ValueError:
        return observation.url


def is_other_page(before: Observation, after: Observation) -> bool:
    named = [page_key(o.package, o.activity, o.url, o.title) for o in (before, after)]
    if named[0] != named[1]:
        return True
    if not (before.tree.usable and after.tree.usable) or before.signature == after.signature:
        return False
    windows = [known_window(o.tree, o.window) for o in (before, after)]
    titles = [heading(o.tree, w) for o, w in zip((before, after), windows, strict=True)]
    if titles[0] and titles[1] and titles[0] != titles[1]:
        return True
    first, second = (shape(o.tree, w) for o, w in zip((before, after), windows, strict=True))
    every = first | second
    return bool(every) and len(first & second) / len(every) < ALIKE


def picture_threshold(before: Observation, after: Observation) -> int:
    """Where the trees can tell, the picture is a weak witness; without them it is the only one."""
    told = all(o.tree.usable and not is_bare(o.tree) for o in (before, after))
    return PICTURE_THRESHOLD if told else 0
