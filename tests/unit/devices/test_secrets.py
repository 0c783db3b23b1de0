"""Secrets go in at the device and come back nowhere."""

import json
from datetime import UTC, datetime

import pytest

from app.devices.secrets import Redactor
from app.domain.screens import Alert, DeviceView, Dialect, UiSource
from app.errors import ConfigurationError

VALUES = {"pin": 'p"i<n', "short": "12", "word": "button"}


def view(source: UiSource | None = None, **more: object) -> DeviceView:
    return DeviceView.model_validate({"taken_at": datetime.now(UTC), "source": source, **more})


def test_only_a_whole_reference_is_a_secret() -> None:
    redactor = Redactor(VALUES.get)
    assert redactor.resolve("secret:pin") == ('p"i<n', True)
    assert redactor.resolve("my secret:pin") == ("my secret:pin", False)
    with pytest.raises(ConfigurationError, match="named nobody"):
        redactor.resolve("secret:nobody")


def test_a_page_stays_well_formed() -> None:
    redactor = Redactor(VALUES.get)
    redactor.resolve("secret:pin")
    redactor.resolve("secret:word")
    elements = [{"tag": "button", "role": "button", "text": 'the p"i<n', "value": "button"}]
    page = json.dumps({"v": 1, "elements": elements})
    seen = redactor.hide_in(
        view(
            UiSource(dialect=Dialect.DOM, text=page),
            title='p"i<n',
            toasts=('saved p"i<n',),
            alert=Alert(text='p"i<n?'),
        )
    )
    assert seen.source is not None
    assert json.loads(seen.source.text)["elements"] == [
        {
            "tag": "button",
            "role": "button",
            "text": "the [secret:pin]",
            "value": "[secret:word]",
        }
    ]
    assert 'p"i<n' not in repr(seen)


def test_xml_stays_well_formed() -> None:
    redactor = Redactor(VALUES.get)
    redactor.resolve("secret:pin")
    xml = '<node text="is p&quot;i&lt;n." node="x"/>'
    seen = redactor.hide_in(view(UiSource(dialect=Dialect.UIAUTOMATOR2, text=xml)))
    assert seen.source and seen.source.text == '<node text="is [secret:pin]." node="x"/>'


def test_a_value_too_short_to_be_told_apart_is_not_looked_for() -> None:
    redactor = Redactor(VALUES.get)
    assert redactor.resolve("secret:short") == ("12", True)
    assert redactor.hide("12 of 12") == "12 of 12"
