"""Every real dump gives the outcome that a person who looked at it wrote down."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from app.domain.config import PerceptionConfig
from app.domain.screens import Dialect, Size, TreeStatus, UiSource, UiTree
from app.perception.render import estimate_tokens, find, render
from app.perception.text import decode
from app.perception.tree import parse, sniff

DATA = Path(__file__).resolve().parents[2] / "data" / "ui"
NO_SIZE = Size(width=0, height=0)
CONFIG = PerceptionConfig()
SKIP = {".md", ".jpg"}

FILES = sorted(p for p in DATA.rglob("*") if p.is_file() and p.suffix not in SKIP)

# Everything that is not here is whole: status ok, no reason.
EXPECTED: dict[str, tuple[TreeStatus, str]] = {
    "dom-mozilla.html": (TreeStatus.PARTIAL, "no boxes"),
    "dom-rtl-1.html": (TreeStatus.PARTIAL, "no boxes"),
    "dom-rtl-2.html": (TreeStatus.PARTIAL, "no boxes"),
    "dom-svg.html": (TreeStatus.PARTIAL, "no boxes"),
    "dom-wikipedia-1mb.html": (TreeStatus.PARTIAL, "no boxes"),
    "ios-node-for-root-element-not-found.xml": (TreeStatus.EMPTY, "no element"),
    "malformed/empty.xml": (TreeStatus.FAILED, "the source is empty"),
    "malformed/error-idle.txt": (TreeStatus.FAILED, "ERROR: could not get idle state."),
    "malformed/leading-banner.xml": (TreeStatus.PARTIAL, "[DeviceManager] Found USB device"),
    "malformed/no-children.xml": (TreeStatus.EMPTY, "no element"),
    "malformed/python-repr.xml": (TreeStatus.PARTIAL, "quoted string"),
    "malformed/trailing-text.xml": (TreeStatus.PARTIAL, "dumped to: /dev/tty"),
    "malformed/utf16-bom-trailer.xml": (TreeStatus.PARTIAL, "dumped to: /dev/tty"),
}

# One sentence of each kind of screen that must be readable in the list.
SAID = {
    "android-network-and-internet-screen.xml": 'switch "Airplane mode" unchecked',
    "android-login-form.xml": "password",
    "android-app-is-not-responding.xml": 'button "Close app"',
    "ios-settings-top-screen.xml": 'listitem "General"',
    "ios-keyboard-screen.xml": 'switch "Smart Punctuation" checked',
    "nku-triage.xml": 'button "Run Triage Assessment"',
    "nku-keyboard-open.xml": 'value="Patient experiencing high fever',
    "zh-douyin-following.xml": 'tab "关注 4981" selected',
    "zh-quick-settings.xml": 'switch "蓝牙, 已关闭" value="关闭" unchecked',
    "fractal-controls.xml": 'button "Randomize"',
    "lynx-min.xml": 'button "Search [video] for \\"O\'Reilly\\""',
    "selendroid-list.xml": 'button "Image 0, John"',
    "settings-shadowstep.xml": "scroll",
    "theapp-login-android.xml": 'field "username" value="alice"',
    "droidbot-state-0.json": 'button "Privacy Policy"',
    "recorded/mobilemcp-home.txt": 'text "Checkout"',
    "recorded/droidrun-leave.json": 'button "请休假"',
    "malformed/python-repr.xml": "Nku Sentinel",
    "dom-rtl-1.html": 'heading "Lorem"',
}


def read(name: str | Path, dialect: Dialect = Dialect.UNKNOWN, window: Size = NO_SIZE) -> UiTree:
    text = decode((DATA / name).read_bytes())
    return parse(UiSource(dialect=dialect, text=text), window, CONFIG)


def short(path: Path) -> str:
    return path.relative_to(DATA).as_posix()


def test_the_corpus_is_there_and_the_table_names_only_files_of_it() -> None:
    names = {short(path) for path in FILES}
    assert len(names) >= 80
    assert set(EXPECTED) | set(SAID) <= names


@pytest.mark.parametrize("path", FILES, ids=short)
def test_a_dump_gives_its_outcome(path: Path) -> None:
    tree = read(path)
    status, reason = EXPECTED.get(short(path), (TreeStatus.OK, ""))
    assert (tree.status, tree.usable) == (
        status,
        status in (TreeStatus.OK, TreeStatus.PARTIAL),
    ), tree.reason
    assert reason in tree.reason
    assert (tree.reason == "") == (status is TreeStatus.OK)
    assert [element.index for element in tree.elements] == list(range(len(tree.elements)))


@pytest.mark.parametrize("path", FILES, ids=short)
def test_the_list_of_a_dump_stays_inside_its_bound(path: Path) -> None:
    tree = read(path)
    for bound in (0, 40, 300, 1_500):
        listed = render(tree, NO_SIZE, bound)
        assert estimate_tokens(listed.text) <= bound
        assert listed.shown == len(listed.lines) <= listed.total
        for index, line in listed.lines.items():
            assert line in listed.text
            assert tree.elements[index].index == index
            assert line.startswith(f"[{index}] ")


@pytest.mark.parametrize("name", SAID)
def test_a_screen_says_what_a_person_reads_on_it(name: str) -> None:
    assert SAID[name] in render(read(name), NO_SIZE, 5_000).text


def well_formed() -> list[Path]:
    return [p for p in FILES if p.suffix == ".xml" and short(p) not in EXPECTED]


@pytest.mark.parametrize("path", well_formed(), ids=short)
def test_no_view_is_lost_or_invented(path: Path) -> None:
    """Counted by another parser: one element per node below the root."""
    root = ElementTree.fromstring(path.read_bytes())
    nodes = [node for node in root.iter() if node.tag not in ("hierarchy", "AppiumAUT")]
    tree = read(path)
    assert len(tree.elements) == len(nodes)
    assert tree.truncated == 0
    for element, node in zip(tree.elements, nodes, strict=True):
        box = element.bounds
        if "bounds" in node.attrib:
            written = f"[{box.left},{box.top}][{box.right},{box.bottom}]"
            assert node.attrib["bounds"] == written
        elif "x" not in node.attrib:
            assert box.empty
        else:
            assert (box.left, box.top) == (int(node.attrib["x"]), int(node.attrib["y"]))
            assert box.width == int(node.attrib["width"])
        if not element.password and (said := node.attrib.get("text", "")):
            kept = re.sub("[\x80-\x84\x86-\x9f]", "\ufffd", said.replace("\ufffc", ""))
            kept = " ".join(kept.split())
            assert kept in (element.text, element.value, element.hint) or element.role == "switch"
        assert element.focused == (node.attrib.get("focused") == "true")
        assert element.enabled == (node.attrib.get("enabled", "true") == "true")


@pytest.mark.parametrize("path", well_formed(), ids=short)
def test_every_text_of_a_visible_view_can_be_read_or_found(path: Path) -> None:
    """Words may move into their row, but none that is in view may vanish."""
    tree = read(path)
    everything = render(tree, NO_SIZE, 1_000_000, 10_000).text
    for element in tree.elements:
        if element.visible and element.text:
            quoted = element.text.replace("\\", "\\\\").replace('"', '\\"')
            assert quoted in everything, element


@pytest.mark.parametrize("name", ["android-login-form.xml", "hermes-settings.xml"])
def test_a_password_of_a_real_form_is_only_a_place(name: str) -> None:
    tree = read(name)
    fields = [element for element in tree.elements if element.password]
    assert fields
    for field in fields:
        assert (field.text, field.value) == ("", "")
    assert "•" not in render(tree, NO_SIZE).text


def test_the_same_dump_in_its_broken_framings_gives_the_same_elements() -> None:
    whole = read("nku-result.xml")
    assert whole.status is TreeStatus.OK
    for framing in ("utf16-bom-trailer", "trailing-text", "leading-banner", "python-repr"):
        assert read(f"malformed/{framing}.xml").elements == whole.elements, framing


@pytest.mark.parametrize(
    ("suffix", "dialect"),
    [
        ("ios-app-form.xml", Dialect.XCUITEST),
        ("settings-shadowstep.xml", Dialect.UIAUTOMATOR2),
        ("compose-min.xml", Dialect.UIAUTOMATOR2),
        ("malformed/leading-banner.xml", Dialect.UIAUTOMATOR2),
        ("droidbot-state-1.json", Dialect.DROIDBOT),
        ("recorded/droidrun-leave.json", Dialect.ELEMENTS),
        ("recorded/mobilemcp-home.txt", Dialect.TEXT),
        ("dom-wikipedia-1mb.html", Dialect.HTML),
        ("malformed/error-idle.txt", Dialect.TEXT),
    ],
)
def test_the_dialect_is_told_from_the_text(suffix: str, dialect: Dialect) -> None:
    assert sniff(decode((DATA / suffix).read_bytes())) is dialect


def test_a_long_page_lists_what_is_in_view_and_finds_the_rest() -> None:
    tree = read("chrome-long-page-447.xml")
    listed = render(tree, NO_SIZE)
    assert f"{listed.total - listed.shown} off screen" in listed.text
    assert not any("offscreen" in line for line in listed.lines.values())
    (first, *_) = find(tree, "nexus security bulletin", 3) or ("",)
    below = [line for line in find(tree, "bulletin", 50) if " offscreen" in line]
    assert below and "@" not in below[0].rsplit('"', 1)[-1]
    assert first


def test_several_windows_in_one_tree_are_all_kept() -> None:
    tree = read("ko-landscape-split.xml")
    packages = {element.package for element in tree.elements}
    assert len(packages) > 1
    assert tree.package in packages
