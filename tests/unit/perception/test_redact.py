"""What is stored of a UI source holds no password, and nothing else is lost."""

import time
from pathlib import Path

import pytest

from app.domain.config import PerceptionConfig
from app.domain.screens import Dialect, Size, UiSource
from app.perception.redact import without_passwords
from app.perception.text import decode
from app.perception.tree import parse

DATA = Path(__file__).resolve().parents[2] / "data" / "ui"
SECRET = "hunter2 > & all"


def redacted(text: str) -> str:
    return without_passwords(UiSource(dialect=Dialect.UNKNOWN, text=text)).text


@pytest.mark.parametrize(
    "tag",
    [
        f'<node text="{SECRET}" class="E" password="true" bounds="[0,0][9,9]" />',
        f"<node class='E' password = 'true' text = '{SECRET}'/>",
        f'<android.widget.EditText password="true"\n text="{SECRET}">',
        f'<XCUIElementTypeSecureTextField label="PIN" value="{SECRET}" x="0"/>',
        f'<input type="password" name="p" value="{SECRET}">',
        "<input type=password value=hunter2>",
    ],
)
def test_a_password_is_emptied_in_every_form(tag: str) -> None:
    around = '<node text="kept &gt; 1" password="false"/>'
    text = redacted(around + tag + around)
    assert "hunter2" not in text
    assert text.count(around) == 2


@pytest.mark.parametrize("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.name)
def test_the_tree_of_a_redacted_source_is_the_same(path: Path) -> None:
    source = UiSource(dialect=Dialect.UNKNOWN, text=decode(path.read_bytes()))
    window, config = Size(width=0, height=0), PerceptionConfig()
    assert parse(without_passwords(source), window, config) == parse(source, window, config)


@pytest.mark.parametrize(
    "piece", ['<node password="true" ', "<a b ", '<a b="c" ', "<", "< a=", '<a "', "<a '"]
)
def test_a_broken_source_costs_little(piece: str) -> None:
    started = time.thread_time()
    redacted('password="true"' + piece * 20_000)
    assert time.thread_time() - started < 5
