"""What is cleaned on the way into the store."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.dialects import sqlite

from app.domain.messages import Call, Message, Text
from app.storage.types import UtcDateTime, clean_json, clean_text, encode, to_document


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("深色 🎉", "深色 🎉"),
        ("\ud83d", "�"),
        ("a\udc00b", "a�b"),
        ("\ud83c\udf78", "🍸"),
        ("\0", "�"),
        ("深\0", "深�"),
    ],
)
def test_text(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    clean.encode()


def test_json_is_cleaned_at_any_depth() -> None:
    assert clean_json({"\ud83c\udf78": [1, None, {"a": "\0"}], "t": (True, "\ud800")}) == {
        "🍸": [1, None, {"a": "�"}],
        "t": [True, "�"],
    }


def test_a_written_out_escape_is_not_a_nul() -> None:
    call = Call(name="x", args={"pattern": r"\u0000"})
    assert Call.model_validate_json(to_document(call)) == call


def test_clean_values_keep_their_bytes() -> None:
    message = Message(role="model", parts=(Text(text="ok", signature=bytes(range(256))),))
    text, cleaned = encode(message)
    assert not cleaned
    assert text == message.model_dump_json()
    assert Message.model_validate_json(text) == message


def test_plain_data() -> None:
    assert json.loads(to_document(("a", 1))) == ["a", 1]
    assert json.loads(to_document({"a": "\ud800"})) == {"a": "�"}


def test_times_are_aware() -> None:
    column, dialect = UtcDateTime(), sqlite.dialect()
    east = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    assert column.process_bind_param(east, dialect) == datetime(2026, 1, 1, 4, tzinfo=UTC)
    assert column.process_result_value(datetime(2026, 1, 1), dialect) == datetime(
        2026, 1, 1, tzinfo=UTC
    )
    with pytest.raises(ValueError, match="time zone"):
        column.process_bind_param(datetime(2026, 1, 1), dialect)
