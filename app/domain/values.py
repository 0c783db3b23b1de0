"""The base of all domain values: frozen, closed, comparable."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value; unknown fields are refused so that a typo never vanishes."""

    # Thought signatures are any bytes; Pydantic's default for JSON takes UTF-8 only.
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64"
    )
