"""Sources that no device should give, and some do: an outcome, a reason, never an exception."""

import json
import time
import tracemalloc

import pytest

from app.domain.config import PerceptionConfig
from app.domain.screens import Bounds, Dialect, ElementSource, Size, TreeStatus, UiSource, UiTree
from app.perception.text import decode
from app.perception.tree import parse

WINDOW = Size(width=1000, height=2000)
CONFIG = PerceptionConfig()
U2, IOS, DOM = Dialect.UIAUTOMATOR2, Dialect.XCUITEST, Dialect.DOM


def read(
    text: str, dialect: Dialect = Dialect.UNKNOWN, config: PerceptionConfig = CONFIG
) -> UiTree:
    return parse(UiSource(dialect=dialect, text=text), WINDOW, config)


def node(inside: str = "", **attributes: str) -> str:
    given = {"class": "android.widget.TextView", "bounds": "[0,0][100,100]"} | {
        name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()
    }
    written = " ".join(f'{name}="{value}"' for name, value in given.items())
    return f"<node {written}>{inside}</node>"


def dump(*nodes: str) -> str:
    declaration = "<?xml version='1.0' encoding='UTF-8'?>"
    return f'{declaration}<hierarchy rotation="0">{"".join(nodes)}</hierarchy>'


def texts(tree: UiTree) -> list[str]:
    return [element.text for element in tree.elements]


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "\x00" * 10])
def test_nothing_is_a_failure_and_not_an_empty_screen(text: str, dialect: Dialect) -> None:
    tree = read(text, dialect)
    assert (tree.status, tree.elements) == (TreeStatus.FAILED, ())
    assert tree.reason


@pytest.mark.parametrize(
    "message",
    [
        "ERROR: null root node returned by UiTestAutomationBridge.",
        "Error: Cannot read properties of undefined (reading 'node')",
        "ERROR: <null> root",
        "java.lang.IllegalArgumentException: Illegal character (d83d)",
        '{"error": "unknown error"}',
        "kAXErrorIllegalArgument",
    ],
)
@pytest.mark.parametrize("dialect", [U2, IOS, Dialect.UNKNOWN, Dialect.TEXT, DOM])
def test_an_error_message_is_a_failed_dump_that_says_the_message(
    message: str, dialect: Dialect
) -> None:
    tree = read(message, dialect)
    assert tree.status is TreeStatus.FAILED
    assert message[:20] in tree.reason


def test_a_web_page_in_place_of_a_dump_is_a_failure() -> None:
    tree = read("<html><body><h1>502 Bad Gateway</h1></body></html>", U2)
    assert tree.status is TreeStatus.FAILED
    assert "502 Bad Gateway" in tree.reason


@pytest.mark.parametrize(
    "bomb",
    [
        '<!DOCTYPE a [<!ENTITY l "lol"><!ENTITY m "&l;&l;">]><hierarchy><node text="&m;"/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><hierarchy><node text="&x;"/>',
        '<!DOCTYPE hierarchy SYSTEM "http://127.0.0.1:1/x.dtd" [ ]><hierarchy>'
        + node()
        + "</hierarchy>",
    ],
)
def test_entities_are_refused(bomb: str) -> None:
    tree = read(bomb, U2)
    assert (tree.status, tree.elements) == (TreeStatus.FAILED, ())
    assert "entities" in tree.reason


def test_a_truncated_dump_is_partial_with_what_came_before() -> None:
    text = dump(*(node(text=f"row {k}") for k in range(20)))
    tree = read(text[: len(text) // 2])
    assert tree.status is TreeStatus.PARTIAL
    assert "broken XML" in tree.reason
    assert texts(tree)[:8] == [f"row {k}" for k in range(8)]


def test_a_dump_cut_before_its_first_view_has_failed() -> None:
    assert read('<hierarchy rotation="0">').status is TreeStatus.FAILED
    assert read("<hierarchy rotation=").status is TreeStatus.FAILED
    assert read("<hierarchy/>").status is TreeStatus.EMPTY


def test_illegal_characters_cost_a_character_and_not_the_tree() -> None:
    tree = read(
        dump(node(text="a\x01b"), node(text="c\ud83dd"), node(text="R&D"), node(text="e\x00f"))
    )
    assert tree.status is TreeStatus.OK
    assert texts(tree) == ["a\ufffdb", "c\ufffdd", "R&D", "e\ufffdf"]


def test_numeric_references_to_halves_of_an_emoji_are_joined() -> None:
    tree = read(
        dump(node(text="&#55357;&#56832;"), node(text="&#xD83D;"), node(text="&#0;x&#128512;"))
    )
    assert tree.status is TreeStatus.OK
    assert texts(tree) == ["😀", "\ufffd", "\ufffdx😀"]


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert texts(read(dump(node(text="\ud83d\ude00")))) == ["😀"]


def test_an_unknown_entity_is_read_leniently() -> None:
    tree = read(dump(node(text="before"), node(text="a&nbsp;b"), node(text="after")))
    assert tree.usable
    assert {"before", "after"} <= set(texts(tree))


def test_a_tag_that_xml_forbids_does_not_lose_its_neighbours() -> None:
    obfuscated = '<o.沉 class="o.沉" text="ok" bounds="[0,0][9,9]"/>'
    assert texts(read(dump(obfuscated), U2)) == ["ok"]
    inner = '<a.B$C class="a.B$C" text="inner" bounds="[0,0][9,9]"/>'
    tree = read(dump(node(text="one"), inner, node(text="two")), U2)
    assert tree.status is TreeStatus.PARTIAL
    assert {"one", "two"} <= set(texts(tree))


def test_no_depth_is_too_deep() -> None:
    depth = 3_000
    text = dump(
        "<node bounds='[0,0][50,50]' class='V'>" * depth + node(text="core") + "</node>" * depth
    )
    tree = read(text)
    assert (tree.status, len(tree.elements)) == (TreeStatus.OK, depth + 1)
    assert tree.elements[-1].text == "core"


def test_a_missing_root_and_several_documents_are_said() -> None:
    rootless = read(node(text="a") + node(text="b"), U2)
    assert (rootless.status, texts(rootless)) == (TreeStatus.PARTIAL, ["a", "b"])
    assert "root" in rootless.reason
    old, new = dump(node(text="old", package="p")), dump(node(text="new", package="p"))
    other = dump(node(text="bar", package="q"))
    several = read(old + "\n" + other + new, U2)
    assert texts(several) == ["bar", "new"]
    assert "3 XML documents" in several.reason


def test_the_limits_on_elements_keep_what_can_be_seen() -> None:
    config = PerceptionConfig(max_elements=10)
    hidden = [node(text=f"far {k}", bounds="[0,9000][10,9010]") for k in range(20)]
    tree = read(dump(*hidden, *(node(text=f"near {k}") for k in range(5))), U2, config)
    assert (len(tree.elements), tree.truncated) == (10, 15)
    assert tree.status is TreeStatus.PARTIAL
    assert texts(tree)[-5:] == [f"near {k}" for k in range(5)]


def test_elements_beyond_every_limit_are_counted() -> None:
    config = PerceptionConfig(max_elements=10)
    tree = read(dump(node(text="x") * 5_000), U2, config)
    assert len(tree.elements) == 10
    assert tree.truncated == 4_990


def test_a_source_above_the_byte_limit_is_cut() -> None:
    config = PerceptionConfig(max_source_bytes=20_000)
    for filler in ("x", "漢", "😀"):
        tree = read(dump(*(node(text=filler * 10) for _ in range(2_000))), U2, config)
        assert tree.status is TreeStatus.PARTIAL
        assert "larger than 20000 bytes" in tree.reason
        assert 0 < len(tree.elements) < 250


@pytest.mark.parametrize(
    "hostile",
    [
        "<a " * 300_000,
        "<" * 500_000,
        "&" * 500_000,
        "<hierarchy " + " ".join(f'a{k}="1"' for k in range(100_000)) + "/>",
        "<hierarchy>" + "<node>" * 50_000,
        "<hierarchy>" + "<a></b>" * 100_000 + "</hierarchy>",
        f'<hierarchy><node bounds="[0,0][9,9]" text="{"x" * 3_000_000}"/></hierarchy>',
        f'<hierarchy><node bounds="[{"9" * 100_000},0][9,9]" text="x"/></hierarchy>',
        "[" * 400_000,
        '{"elements":' * 100_000,
        '{"elements":[' + '{"i":' * 100_000,
        '{"v":1,"elements":[' + '{"text":"a"},' * 60_000,
        "'" + "\\x41" * 200_000,
        "<html><body>" + "<div>" * 50_000,
        "<html><body>" + "<svg>" * 20_000 + "</p>" * 20_000,
        "<html>" + "<p>x" * 50_000,
        "<?xml" * 100_000,
        "<!DOCTYPE" * 100_000,
    ],
    ids=lambda text: f"{text[:14]}…{len(text)}",
)
def test_a_hostile_source_costs_little(hostile: str) -> None:
    tracemalloc.start()
    try:
        started = time.thread_time()
        tree = read(hostile)
        spent = time.thread_time() - started
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(tree.elements) <= CONFIG.max_elements
    assert peak < 60_000_000 + 20 * len(hostile)
    # Generous, as tracing makes everything several times slower: only a runaway fails.
    assert spent < 15


@pytest.mark.parametrize(
    "make",
    [
        lambda count: dump(*(node(node(text=f"row {k}"), clickable="true") for k in range(count))),
        lambda count: dump(
            "<node bounds='[0,0][50,50]' clickable='true'>" * count + "</node>" * count
        ),
        lambda count: json.dumps(
            {"v": 1, "elements": [{"text": "a", "x": 1, "y": k} for k in range(count)]}
        ),
        lambda count: "<html><body>" + "<div><p>words" * count,
        lambda count: "<hierarchy>" + "<node bounds='[0,0][9,9]'>&" * count,
        lambda count: "x" * (40 * count),
        lambda count: "&#55357;" * (5 * count),
    ],
)
def test_time_grows_with_the_source_and_not_with_its_square(make: object) -> None:
    def cost(count: int) -> float:
        text = make(count)  # type: ignore[operator]
        best = float("inf")
        for _ in range(3):
            started = time.thread_time()
            read(text, config=PerceptionConfig(max_elements=100_000))
            best = min(best, time.thread_time() - started)
        return best

    small, large = cost(400), cost(4_000)
    assert large < 25 * small + 0.05


def test_passwords_do_not_leave_the_parser_in_any_dialect() -> None:
    secret = "hunter2"
    sources = {
        U2: dump(
            node(text=secret, password="true", class_="android.widget.EditText"),
            node(node(text=secret, password="true"), clickable="true"),
        ),
        IOS: f'<AppiumAUT><XCUIElementTypeSecureTextField x="0" y="0" width="9" height="9" '
        f'label="Password" value="{secret}"/></AppiumAUT>',
        DOM: json.dumps(
            {
                "v": 1,
                "elements": [{"role": "field", "value": secret, "password": True, "w": 9, "h": 9}],
            }
        ),
        Dialect.HTML: f'<html><body><input type="password" value="{secret}"></body></html>',
        Dialect.DROIDBOT: json.dumps(
            {"views": [{"text": secret, "password": "true", "class": "EditText"}]}
        ),
        Dialect.ELEMENTS: json.dumps(
            [{"text": secret, "is_password": True, "bounds": [0, 0, 9, 9]}]
        ),
        Dialect.TEXT: 'Found: [{"type":"SecureTextField","text":"hunter2"}]',
    }
    for dialect, text in sources.items():
        tree = read(text, dialect)
        assert any(element.password for element in tree.elements), dialect
        assert secret not in tree.model_dump_json(), dialect


def test_a_label_of_a_password_is_a_hint_unless_it_is_the_password() -> None:
    field = {"password": "true", "class_": "android.widget.EditText"}
    labelled = node(text="••••", content_desc="PIN", **field)
    told = node(text="1234", content_desc="1234", **field)
    tree = read(dump(labelled, told), U2)
    assert [element.hint for element in tree.elements] == ["PIN", ""]


def test_a_page_nested_beyond_reason_is_said_to_be() -> None:
    deep = read("<html><body>" + "<div>" * 50_000)
    assert (deep.status, "nested too deeply" in deep.reason) == (TreeStatus.FAILED, True)
    some = read("<html><body><h1>Title</h1>" + "<div>" * 50_000)
    assert (some.status, texts(some)) == (TreeStatus.PARTIAL, ["Title"])
    assert "nested too deeply" in some.reason


def test_a_class_name_in_place_of_a_text_is_no_text() -> None:
    record = {"className": "a.b.Layout", "text": "a.b.Layout", "bounds": "0, 0, 9, 9"}
    assert texts(read(json.dumps([record]))) == [""]


def test_direction_overrides_and_stand_ins_for_pictures_are_taken_out() -> None:
    assert texts(read(dump(node(text="pay \u202e001$\u202c now \ufffc"), node(text="a\n\tb")))) == [
        "pay 001$ now",
        "a b",
    ]


def test_a_very_long_text_is_kept_to_a_bound() -> None:
    (text,) = texts(read(dump(node(text="y " * 50_000))))
    assert len(text) <= 10_000
    assert text.endswith("…")


# --- the page collector ----------------------------------------------------------------


def test_a_collected_page_becomes_elements() -> None:
    item = {
        "i": 0, "tag": "input", "role": "checkbox", "text": "Gift wrap", "value": "", "hint": "",
        "id": "gift", "x": 10, "y": 20, "w": 30, "h": 40, "enabled": True, "checked": False,
        "focused": True, "selected": False, "password": False, "clickable": True,
        "editable": False, "scrollable": False, "visible": True, "frame": False,
    }  # fmt: skip
    text = json.dumps(
        {"v": 1, "w": 412, "h": 915, "truncated": 0, "elements": [item], "toasts": []}
    )
    tree = parse(UiSource(dialect=DOM, text=text), Size(width=412, height=915), CONFIG)
    assert tree.status is TreeStatus.OK
    (element,) = tree.elements
    assert element.source is ElementSource.DOM
    assert (element.role, element.text, element.resource_id) == ("checkbox", "Gift wrap", "gift")
    assert element.bounds == Bounds(left=10, top=20, right=40, bottom=60)
    assert (element.checked, element.focused, element.visible) == (False, True, True)


def test_a_page_without_elements_is_empty_and_not_failed() -> None:
    assert read('{"v":1,"elements":[]}', DOM).status is TreeStatus.EMPTY


def test_a_cut_page_is_partial() -> None:
    text = json.dumps({"v": 1, "elements": [{"text": f"t{k}", "w": 5, "h": 5} for k in range(50)]})
    tree = read(text[: len(text) // 2], DOM)
    assert tree.status is TreeStatus.PARTIAL
    assert texts(tree)[:3] == ["t0", "t1", "t2"]
    assert "cut off" in tree.reason


def test_what_the_collector_left_out_is_counted() -> None:
    tree = read('{"v":1,"truncated":7,"elements":[{"text":"a","w":5,"h":5}]}', DOM)
    assert (tree.status, tree.truncated) == (TreeStatus.PARTIAL, 7)


@pytest.mark.parametrize(
    "elements",
    [
        '[null, 3, "x", [], {"text": "a", "w": 5, "h": 5}]',
        '[{"text": ["a"], "role": 7, "x": "left", "y": null, "w": NaN, "h": 1e999}]',
        '[{"text": "a", "checked": "maybe", "focused": 2, "selected": null, "hint": -0.0}]',
        '[{"text": "\\ud83d", "x": 1e300, "w": -5, "role": "<script>", "id": {"a": 1}}]',
        '[{"text": true, "enabled": "no", "visible": [], "password": "true", "value": "s"}]',
    ],
)
def test_wrong_types_are_survived(elements: str) -> None:
    tree = read(f'{{"v":1,"elements":{elements}}}', DOM)
    assert tree.usable
    assert all(element.role.replace("-", "").isalnum() for element in tree.elements)
    tree.model_dump_json().encode("utf-8")


def test_only_strange_entries_are_a_failure() -> None:
    assert read('{"v":1,"elements":[1,2,3]}', DOM).status is TreeStatus.FAILED


# --- keyboards ---------------------------------------------------------------------------


def keyboard_dump() -> str:
    app = "com.example"
    ime = "com.google.android.inputmethod.latin"
    return dump(
        node(
            node(text="To", package=app, bounds="[0,100][1000,200]")
            + node(text="Send", package=app, clickable="true", bounds="[800,1800][1000,1900]")
            + node(text="Long note", package=app, bounds="[0,300][1000,1900]"),
            package=app,
            bounds="[0,0][1000,2000]",
        ),
        node(
            node(text="q", package=ime, clickable="true", bounds="[0,1400][100,1500]")
            + node(text="space", package=ime, clickable="true", bounds="[0,1900][1000,2000]"),
            package=ime,
            bounds="[0,0][1000,2000]",
        ),
    )


def test_a_keyboard_covers_what_lies_under_it_and_its_keys_are_not_the_page() -> None:
    tree = read(keyboard_dump(), U2)
    assert tree.keyboard == Bounds(left=0, top=1400, right=1000, bottom=2000)
    seen = {element.text: element.visible for element in tree.elements if element.text}
    assert seen == {"To": True, "Send": False, "Long note": True, "q": False, "space": False}
    assert tree.package == "com.example"


def test_the_settings_of_a_keyboard_are_no_keyboard() -> None:
    ime = "com.google.android.inputmethod.latin"
    tree = read(dump(node(text="Languages", package=ime, bounds="[0,0][1000,100]")), U2)
    assert tree.keyboard is None
    assert tree.elements[0].visible


def test_an_ios_keyboard_is_found_with_its_keys() -> None:
    key = '<XCUIElementTypeKey label="q" visible="true" x="0" y="1500" width="90" height="90"/>'
    text = (
        '<AppiumAUT><XCUIElementTypeApplication name="App" x="0" y="0" width="1000" height="2000">'
        '<XCUIElementTypeButton label="Done" visible="true" x="0" y="0" width="90" height="90"/>'
        '<XCUIElementTypeButton label="Send" visible="true" x="0" y="1700" width="90" height="90"/>'
        '<XCUIElementTypeKeyboard visible="true" x="0" y="1400" width="1000" height="600">'
        f"{key}</XCUIElementTypeKeyboard></XCUIElementTypeApplication></AppiumAUT>"
    )
    tree = read(text, IOS)
    assert tree.keyboard == Bounds(left=0, top=1400, right=1000, bottom=2000)
    seen = {element.text: element.visible for element in tree.elements if element.text}
    assert seen == {"Done": True, "Send": False, "q": False}


# --- rows ----------------------------------------------------------------------------------


def test_a_row_speaks_with_its_parts_and_carries_its_switch() -> None:
    row = node(
        node(text="Wi-Fi", bounds="[10,0][90,40]")
        + node(text="Connected", bounds="[10,40][90,80]")
        + node(
            class_="android.widget.Switch",
            checkable="true",
            checked="true",
            bounds="[900,10][990,90]",
        ),
        class_="android.widget.LinearLayout",
        clickable="true",
        bounds="[0,0][1000,100]",
    )
    tree = read(dump(row), U2)
    assert (tree.elements[0].text, tree.elements[0].role) == ("Wi-Fi, Connected", "switch")
    assert tree.elements[0].checked is True


def test_a_page_that_can_be_pressed_as_a_whole_swallows_no_texts() -> None:
    page = node(
        node(text="a", bounds="[0,0][50,50]"),
        clickable="true",
        bounds="[0,0][1000,1900]",
        class_="V",
    )
    assert read(dump(page), U2).elements[0].text == ""


def test_scrolled_out_of_a_list_is_not_visible() -> None:
    inside = node(text="seen", bounds="[0,100][100,200]") + node(
        text="gone", bounds="[0,900][100,990]"
    )
    tree = read(
        dump(node(inside, class_="ScrollView", scrollable="true", bounds="[0,0][1000,500]")), U2
    )
    assert [(e.text, e.visible) for e in tree.elements[1:]] == [("seen", True), ("gone", False)]


@pytest.mark.parametrize(
    "box", ["[0,-2][5,-1]", "[-9,0][-3,5]", "[5,5][1,1]", "[-9999999,0][99999999,5]", "[1,2]", ""]
)
def test_a_root_that_is_off_the_screen_does_not_make_the_window(box: str) -> None:
    text = dump(node(bounds=box), node(text="a", bounds="[0,0][300,600]"))
    tree = parse(UiSource(dialect=U2, text=text), Size(width=0, height=0), CONFIG)
    assert tree.elements[1].visible


def test_a_heading_is_one_by_its_attribute() -> None:
    assert read(dump(node(text="Display", heading="true")), U2).elements[0].role == "heading"


# --- encodings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_a_file_is_decoded_whatever_its_encoding(encoding: str) -> None:
    assert (
        decode("<hierarchy/> żółć 😀".encode(encoding)).lstrip("\ufeff") == "<hierarchy/> żółć 😀"
    )


def test_utf16_read_a_byte_at_a_time_is_put_right() -> None:
    text = dump(node(text="żółć"))
    assert texts(read(text.encode("utf-16").decode("latin-1"), U2)) == ["żółć"]
    assert read(text.encode("utf-16").decode("utf-8", "replace"), U2).usable
