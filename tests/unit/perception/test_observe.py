"""One look at a device, interpreted: every missing part has its reason."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from app.domain.config import PerceptionConfig
from app.domain.screens import DeviceView, Dialect, Screenshot, Size, TreeStatus, UiSource
from app.perception.observe import interpret

DATA = Path(__file__).resolve().parents[2] / "data" / "ui"
CONFIG = PerceptionConfig()
WINDOW = Size(width=1080, height=2088)


def shot(image: Image.Image) -> Screenshot:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return Screenshot(data=stream.getvalue(), width=image.width, height=image.height)


GRADIENT = Image.linear_gradient("L").resize((824, 1830)).convert("RGB")
SETTINGS = UiSource(
    dialect=Dialect.UIAUTOMATOR2,
    text=(DATA / "android-settings-top-screen.xml").read_text(encoding="utf-8"),
)


def view(**more: object) -> DeviceView:
    given: dict[str, object] = {
        "taken_at": datetime(2026, 1, 1, tzinfo=UTC),
        "screenshot": shot(GRADIENT),
        "source": SETTINGS,
        "window": WINDOW,
        "package": "com.android.settings",
    }
    return DeviceView.model_validate(given | more)


def test_a_whole_view_has_everything_and_no_problem() -> None:
    found = interpret(view(), CONFIG)
    assert found.problems == ()
    assert (found.tree.status, found.bare, found.black) == (TreeStatus.OK, False, False)
    assert found.image_size == Size(width=824, height=1830)
    assert found.model_image is not None
    assert found.model_image.width == 720
    assert len(found.dhash) == 16
    assert found.signature and found.content_hash
    assert found == interpret(view(), CONFIG)


def test_a_black_screen_is_told_and_not_sent() -> None:
    found = interpret(view(screenshot=shot(Image.new("RGB", (824, 1830)))), CONFIG)
    assert found.problems == ("the screen is black (secure or off)",)
    assert (found.black, found.model_image) == (True, None)
    assert found.image_size == Size(width=824, height=1830)
    assert found.tree.usable


def test_a_plain_page_is_not_called_black() -> None:
    found = interpret(view(screenshot=shot(Image.new("RGB", (824, 1830), "white"))), CONFIG)
    assert found.problems == ("the picture is one plain colour",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"screenshot": None, "screenshot_problem": "refused: FLAG_SECURE"},
            "refused: FLAG_SECURE",
        ),
        ({"screenshot": None}, "there is no screenshot"),
        ({"screenshot": Screenshot(data=b"", width=0, height=0)}, "the screenshot is empty"),
        ({"screenshot": Screenshot(data=b"x" * 50, width=1, height=1)}, "neither PNG nor JPEG"),
        ({"source": None, "source_problem": "timed out after 30 s"}, "timed out after 30 s"),
        ({"source": None}, "the device gave no UI source"),
        (
            {
                "source": UiSource(
                    dialect=Dialect.UIAUTOMATOR2, text="ERROR: could not get idle state."
                )
            },
            "could not get idle state",
        ),
        (
            {"source": UiSource(dialect=Dialect.UIAUTOMATOR2, text="<hierarchy/>")},
            "screen unsettled: empty hierarchy",
        ),
        (
            {"source": SETTINGS.model_copy(update={"text": SETTINGS.text[:9_000]})},
            "the UI tree is incomplete: broken XML",
        ),
        ({"package": "com.android.camera"}, "belongs to another app (com.android.settings)"),
    ],
)
def test_what_is_missing_is_said_and_the_rest_is_used(
    change: dict[str, object], words: str
) -> None:
    found = interpret(view(**change), CONFIG)
    assert len([problem for problem in found.problems if words in problem]) == 1
    assert found.tree.elements or found.model_image


def test_a_custom_view_is_told() -> None:
    text = '<hierarchy><node class="android.view.View" bounds="[0,0][1080,2088]"/></hierarchy>'
    found = interpret(
        view(source=UiSource(dialect=Dialect.UIAUTOMATOR2, text=text), package=""), CONFIG
    )
    assert found.bare
    assert found.problems == ("the UI tree names nothing in view (a canvas or a custom view)",)


def test_a_failed_dump_is_not_an_empty_screen() -> None:
    failed = interpret(view(source=None), CONFIG)
    empty = interpret(
        view(source=UiSource(dialect=Dialect.UIAUTOMATOR2, text="<hierarchy/>")), CONFIG
    )
    assert (failed.tree.status, empty.tree.status) == (TreeStatus.FAILED, TreeStatus.EMPTY)
