"""Signatures, content hashes and differences, on real dumps where there are some."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.config import PerceptionConfig
from app.domain.screens import (
    Alert,
    Bounds,
    Dialect,
    Element,
    Observation,
    Size,
    TreeStatus,
    UiSource,
    UiTree,
)
from app.perception import screen
from app.perception.text import decode
from app.perception.tree import parse

DATA = Path(__file__).resolve().parents[2] / "data" / "ui"
WINDOW = Size(width=400, height=800)
NO_SIZE = Size(width=0, height=0)


def read(name: str) -> UiTree:
    text = decode((DATA / name).read_bytes())
    return parse(UiSource(dialect=Dialect.UNKNOWN, text=text), NO_SIZE, PerceptionConfig())


def element(index: int, text: str, top: int, **more: object) -> Element:
    return Element(
        index=index,
        text=text,
        bounds=Bounds(left=10, top=top, right=390, bottom=top + 40),
        **{"role": "listitem", **more},  # type: ignore[arg-type]
    )


def tree(title: str, rows: list[str], **more: object) -> UiTree:
    first = element(0, title, 20, role="heading")
    items = (
        element(1 + k, text, 200 + 50 * k, clickable=True, **more) for k, text in enumerate(rows)
    )
    return UiTree(status=TreeStatus.OK, elements=(first, *items), dialect=Dialect.DOM)


def look(given: UiTree, **more: object) -> Observation:
    return Observation(
        observation_id="o",
        taken_at=datetime(2026, 1, 1, tzinfo=UTC),
        tree=given,
        window=WINDOW,
        signature=screen.signature(given, WINDOW),
        content_hash=screen.content_hash(given, WINDOW),
        **more,  # type: ignore[arg-type]
    )


CONTACTS = tree("Contacts", ["Anna", "Ben", "Cleo"])


def test_other_values_are_the_same_page_with_other_content() -> None:
    other = tree("Contacts", ["Dora", "Emil"])
    assert screen.signature(CONTACTS, WINDOW) == screen.signature(other, WINDOW)
    assert screen.content_hash(CONTACTS, WINDOW) != screen.content_hash(other, WINDOW)


def test_a_count_in_a_title_is_a_value() -> None:
    assert screen.signature(tree("Cart (2)", ["a"]), WINDOW) == screen.signature(
        tree("Cart (13)", ["a"]), WINDOW
    )


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Orders"},
        {"url": "http://127.0.0.1:9/orders"},
        {"url": "http://127.0.0.1:9/#/settings"},
        {"activity": ".Other"},
        {"package": "com.other"},
    ],
)
def test_another_name_is_another_page(other: dict[str, str]) -> None:
    assert screen.signature(CONTACTS, WINDOW, **other) != screen.signature(CONTACTS, WINDOW)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("/orders/12", "/orders/13", True),
        ("/list?page=1", "/list?page=2", True),
        ("/app#/note/1?x=2", "/app#/note/2?x=3", True),
        ("/app#/note", "/app#/cart", False),
        ("/orders/12", "/cart/12", False),
    ],
)
def test_an_address_is_compared_without_its_values(one: str, two: str, same: bool) -> None:
    signatures = {screen.signature(CONTACTS, WINDOW, url="http://h" + path) for path in (one, two)}
    assert (len(signatures) == 1) is same


@pytest.mark.parametrize("url", ["http://[", "not a url", "http://[::1", "\ud800", "x" * 10_000])
def test_a_strange_address_is_survived(url: str) -> None:
    assert screen.signature(CONTACTS, WINDOW, url=url)
    assert screen.diff(look(CONTACTS, url=url), look(CONTACTS)).changed


def test_all_real_screens_have_signatures_of_their_own() -> None:
    names = [
        "android-clock-alarm.xml", "android-security-screen.xml", "android-date-and-time-en.xml",
        "android-network-and-internet-screen.xml", "android-settings-top-screen.xml",
        "zh-douyin-profile.xml", "zh-douyin-followers.xml", "nku-triage.xml", "nku-result.xml",
        "simple-calendar-0.xml", "simple-calendar-1.xml", "simple-calendar-2.xml",
        "recorded/appagent-wifi-2.xml", "recorded/appagent-wifi-3.xml",
    ]  # fmt: skip
    signatures = {name: screen.signature(read(name), NO_SIZE) for name in names}
    assert len(set(signatures.values())) == len(names)


def test_a_tree_without_elements_has_no_signature() -> None:
    for status in (TreeStatus.EMPTY, TreeStatus.FAILED):
        assert screen.signature(UiTree(status=status), WINDOW) == ""
        assert screen.content_hash(UiTree(status=status), WINDOW) == ""


@pytest.mark.parametrize(
    "change", [{"checked": True}, {"value": "3"}, {"enabled": False}, {"selected": True}]
)
def test_a_state_is_content(change: dict[str, object]) -> None:
    before, after = (
        tree("T", ["a"], checked=False),
        tree("T", ["a"], **{"checked": False, **change}),
    )
    assert screen.content_hash(before, WINDOW) != screen.content_hash(after, WINDOW)
    assert screen.signature(before, WINDOW) == screen.signature(after, WINDOW)
    found = screen.diff(look(before), look(after))
    assert (found.changed, found.page_changed) == (True, False)


def test_the_clock_of_the_status_bar_changes_nothing() -> None:
    def at(clock: str) -> UiTree:
        bar = Element(
            index=4, role="text", text=clock, package="com.android.systemui",
            bounds=Bounds(left=0, top=0, right=60, bottom=30),
        )  # fmt: skip
        return CONTACTS.model_copy(update={"elements": (*CONTACTS.elements, bar)})

    assert not screen.diff(look(at("12:59")), look(at("13:00"))).changed


def test_nothing_changed() -> None:
    found = screen.diff(look(CONTACTS, dhash="0" * 16), look(CONTACTS, dhash="0" * 15 + "3"))
    assert (found.changed, found.screenshot_distance) == (False, 2)
    assert found.line() == "no visible change"


def test_texts_that_came_and_went_are_named() -> None:
    found = screen.diff(look(CONTACTS), look(tree("Contacts", ["Anna", "Zoe"])))
    assert (found.added, found.removed) == (("Zoe",), ("Ben", "Cleo"))
    assert found.changed and not found.page_changed


def test_another_title_is_another_page() -> None:
    found = screen.diff(look(CONTACTS), look(tree("Orders", ["Anna", "Ben", "Cleo"])))
    assert found.page_changed and not found.app_changed


def test_another_package_or_origin_is_another_app() -> None:
    assert screen.diff(look(CONTACTS, package="a"), look(CONTACTS, package="b")).app_changed
    one, two = (look(CONTACTS, url=f"http://127.0.0.1:{port}/") for port in (1, 2))
    assert screen.diff(one, two).app_changed


def test_alerts_and_toasts_are_changes_that_are_named() -> None:
    found = screen.diff(
        look(CONTACTS), look(CONTACTS, alert=Alert(text="Delete?"), toasts=("Saved",))
    )
    assert found.changed
    assert found.added == ("Delete?", "Saved")


def test_an_unreadable_tree_has_lost_nothing() -> None:
    failed = UiTree(status=TreeStatus.FAILED, reason="refused")
    found = screen.diff(look(CONTACTS), look(failed, toasts=("Saved",)))
    assert (found.added, found.removed) == (("Saved",), ())
    for before, after in ((CONTACTS, failed), (failed, CONTACTS)):
        quiet = screen.diff(look(before), look(after))
        assert (quiet.changed, quiet.added, quiet.removed) == (False, (), ())
    gone = screen.diff(look(failed, alert=Alert(text="Delete?")), look(failed))
    assert gone.changed


def test_without_trees_the_picture_is_the_witness() -> None:
    failed = UiTree(status=TreeStatus.FAILED, reason="refused")
    before, after = look(failed, dhash="0" * 16), look(failed, dhash="0" * 15 + "1")
    assert screen.diff(before, after).changed


def test_the_number_of_named_texts_is_bounded() -> None:
    found = screen.diff(
        look(tree("T", [])), look(tree("T", [f"row {k} " + "x" * 300 for k in range(50)]))
    )
    assert len(found.added) == 20
    assert all(len(text) <= screen.MAX_DIFF_TEXT for text in found.added)
