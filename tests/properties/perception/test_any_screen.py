"""Whatever a screen is made of: no exception, no bound broken, no password shown."""

import json
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.config import PerceptionConfig
from app.domain.screens import Dialect, Size, TreeStatus, UiSource, UiTree
from app.perception import screen
from app.perception.hit import centre, hit_test, resolve_element, target_problem
from app.perception.picture import open_picture
from app.perception.render import estimate_tokens, find, render
from app.perception.text import MAX_TEXT, decode, tidy
from app.perception.tree import parse, sniff

DATA = Path(__file__).resolve().parents[2] / "data" / "ui"
SOURCES = {
    path.name: decode(path.read_bytes())
    for path in sorted(DATA.rglob("*"))
    if path.is_file() and path.suffix not in (".md", ".jpg") and path.stat().st_size < 40_000
}
CONFIG = PerceptionConfig(max_elements=50)
WINDOW = Size(width=1080, height=2340)
SECRET = "s3cr3t-swordfish"

pytestmark = pytest.mark.filterwarnings("error")

any_text = st.text(st.characters(), max_size=60)
"""Half characters and control characters included."""
sizes = st.builds(Size, width=st.integers(0, 3_000), height=st.integers(0, 3_000))
coordinates = st.integers(-3_000, 3_000)


def check(tree: UiTree, window: Size) -> None:
    """All that must hold of any tree."""
    assert len(tree.elements) <= CONFIG.max_elements
    assert bool(tree.reason) == (tree.status is not TreeStatus.OK)
    assert bool(tree.elements) == (tree.status in (TreeStatus.OK, TreeStatus.PARTIAL))
    for at, element in enumerate(tree.elements):
        assert element.index == at
        assert max(len(element.text), len(element.value), len(element.hint)) <= MAX_TEXT
        point = centre(element, window, tree.keyboard)
        assert 0 <= point.x <= 1000 and 0 <= point.y <= 1000
        target_problem(element, tree, window)
    tree.model_dump_json().encode("utf-8")
    for bound in (0, 30, 200):
        listed = render(tree, window, bound, 40)
        assert estimate_tokens(listed.text) <= bound
        assert listed.shown == len(listed.lines) <= listed.total
        assert all(resolve_element(tree, index) for index in listed.lines)
        assert len(listed.text.splitlines()) <= listed.shown + 1
    screen.signature(tree, window)
    screen.content_hash(tree, window)
    hit_test(tree, window.width / 2, window.height / 2)


def read(text: str, dialect: Dialect = Dialect.UNKNOWN, window: Size = WINDOW) -> UiTree:
    return parse(UiSource(dialect=dialect, text=text), window, CONFIG)


@given(any_text, st.sampled_from(Dialect), sizes)
def test_any_text_is_survived(text: str, dialect: Dialect, window: Size) -> None:
    sniff(text)
    check(read(text, dialect, window), window)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    check(read(decode(data)), WINDOW)
    for signature in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"):
        assert open_picture(signature + data).problem


@settings(deadline=None)
@given(
    st.sampled_from(sorted(SOURCES)),
    st.floats(0, 1),
    st.floats(0, 1),
    st.one_of(
        any_text, st.sampled_from(['"', "<", ">", "&", "]", "}", "\0", "</node>", "<?xml?>"])
    ),
    st.sampled_from([Dialect.UNKNOWN, Dialect.UIAUTOMATOR2, Dialect.DOM]),
)
def test_a_real_dump_cut_or_damaged_anywhere_is_survived(
    name: str, first: float, second: float, put: str, dialect: Dialect
) -> None:
    text = SOURCES[name]
    start, end = sorted((int(first * len(text)), int(second * len(text))))
    for damaged in (text[:start], text[end:], text[:start] + put + text[end:], put + text + put):
        check(read(damaged, dialect), WINDOW)


@settings(deadline=None)
@given(st.sampled_from(sorted(SOURCES)), st.floats(0, 1))
def test_a_cut_dump_gives_the_beginning_of_the_whole_one(name: str, share: float) -> None:
    if not name.endswith(".xml") or "\ufeff" in SOURCES[name]:
        return
    config = PerceptionConfig()
    whole = parse(UiSource(dialect=Dialect.UNKNOWN, text=SOURCES[name]), WINDOW, config)
    cut = SOURCES[name][: int(share * len(SOURCES[name]))]
    part = parse(UiSource(dialect=Dialect.UNKNOWN, text=cut), WINDOW, config)
    if whole.status is TreeStatus.OK and part.status is TreeStatus.PARTIAL:
        boxes = [element.bounds for element in part.elements]
        # The view in which the cut lies may be read half.
        assert boxes[:-1] == [element.bounds for element in whole.elements][: len(boxes) - 1]


@st.composite
def views(draw: st.DrawFn, inside: st.SearchStrategy[str] | None = None) -> str:
    """A UiAutomator view with any attributes and children."""
    left, top = draw(coordinates), draw(coordinates)
    right, bottom = left + draw(st.integers(-50, 2_000)), top + draw(st.integers(-50, 2_000))
    password = draw(st.booleans())
    flags = st.sampled_from(["true", "false", "", "maybe"])
    names = ("clickable", "checkable", "checked", "enabled", "focused", "scrollable", "selected")
    attributes = {
        "class": draw(
            st.sampled_from(["android.widget.EditText", "android.widget.Switch", "V", ""])
        ),
        "text": SECRET if password else draw(any_text),
        "content-desc": draw(st.sampled_from(["", "Label", SECRET if password else "x"])),
        "resource-id": draw(any_text),
        "package": draw(st.sampled_from(["com.app", "com.android.inputmethod.latin", ""])),
        "bounds": f"[{left},{top}][{right},{bottom}]",
        "password": str(password).lower(),
        **{name: draw(flags) for name in names if draw(st.booleans())},
    }
    written = " ".join(f"{name}={quoteattr(legal(value))}" for name, value in attributes.items())
    children = draw(st.lists(inside, max_size=4)) if inside is not None else []
    return f"<node {written}>{''.join(children)}</node>"


def legal(text: str) -> str:
    """What may stand in XML: this test is about trees, not about broken sources."""
    return "".join(c for c in text if " " <= c < "\ud800" or "\ue000" <= c <= "\ufffd")


forests = st.lists(views(views(views())), max_size=6).map(
    lambda nodes: f"<hierarchy rotation='0'>{''.join(nodes)}</hierarchy>"
)


@settings(deadline=None)
@given(forests, sizes, any_text)
def test_any_tree_keeps_its_bounds_and_its_secrets(text: str, window: Size, query: str) -> None:
    tree = read(text, Dialect.UIAUTOMATOR2, window)
    check(tree, window)
    assert SECRET not in tree.model_dump_json()
    assert SECRET not in render(tree, window, 10_000, 1_000).text
    found = find(tree, query, 5, window)
    assert len(found) <= 5
    assert SECRET not in "".join((*found, *find(tree, SECRET, 5, window)))
    assert all(len(line.splitlines()) == 1 for line in found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=8,
)
KEYS = (
    "i role text value hint id x y w h enabled checked focused selected password clickable "
    "editable scrollable visible bounds children class content-desc temp_id parent coordinates"
).split()
items = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=12) | json_values


@settings(deadline=None)
@given(st.lists(items, max_size=8), sizes, st.floats(0, 1))
@example([{"children": [{"children": [{"text": "deep"}]}]}], WINDOW, 1.0)
@example([{"parent": 5, "temp_id": 5}, {"parent": 5, "temp_id": True}], WINDOW, 1.0)
def test_any_json_is_survived(found: list[object], window: Size, share: float) -> None:
    for value in ({"v": 1, "elements": found}, {"views": found}, found, {"value": found}):
        text = json.dumps(value)
        for cut in (text, text[: int(share * len(text))]):
            for dialect in (Dialect.UNKNOWN, Dialect.DOM, Dialect.DROIDBOT, Dialect.ELEMENTS):
                check(read(cut, dialect, window), window)
        check(read("Found: " + text, Dialect.TEXT, window), window)


@given(st.text(st.characters(), max_size=300), st.integers(1, 50))
def test_tidy_text_is_one_bounded_line_that_can_be_stored(text: str, limit: int) -> None:
    clean = tidy(text, limit)
    assert len(clean) <= limit
    assert len(clean.splitlines()) <= 1
    assert clean == clean.strip()
    clean.encode("utf-8")
    assert tidy(clean, limit) == clean
