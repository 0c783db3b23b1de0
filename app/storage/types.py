"""Column types, and the cleaning every text passes on its way into the store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import DateTime, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean_text(text: str) -> str:
    """The text without what no database takes: halves of a pair become one character or U+FFFD."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


def clean_json(data: Any) -> Any:
    """JSON data with every string cleaned, keys included."""
    match data:
        case str():
            return clean_text(data)
        case dict():
            return {clean_text(str(key)): clean_json(value) for key, value in data.items()}
        case list() | tuple():
            return [clean_json(value) for value in data]
    return data


class Encoded(NamedTuple):
    """JSON text, and whether it differs from the value because something was cleaned away."""

    text: str
    cleaned: bool


def encode(value: object) -> Encoded:
    """JSON text of a domain value or of plain JSON data, safe for both databases."""
    try:
        text = value.model_dump_json() if isinstance(value, BaseModel) else to_json(value).decode()
    except (PydanticSerializationError, UnicodeEncodeError):
        return _encode_cleaned(value)
    # Also true for a written-out backslash-u; then cleaning changes nothing.
    return _encode_cleaned(value) if r"\u0000" in text else Encoded(text, cleaned=False)


def _encode_cleaned(value: object) -> Encoded:
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    text = json.dumps(clean_json(data), ensure_ascii=False, separators=(",", ":"))
    return Encoded(text, cleaned=True)


def to_document(value: object) -> str:
    """The text alone of `encode`."""
    return encode(value).text


class CleanText(TypeDecorator[str]):
    """Text of any length from anywhere."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean_text(value)


class Document(TypeDecorator[str]):
    """A domain value as JSON text, byte for byte as it was written (see `to_document`).

    Plain text on both databases: PostgreSQL's own JSON type would reorder keys, and the bytes
    of an event are evidence. What pages filter or sort by has a column of its own.
    """

    impl = Text
    cache_ok = True


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time on every database; SQLite alone would give it back naive."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
