"""The base of all domain values: frozen, closed, comparable."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value; unknown fields are refused so that a typo never vanishes."""

    model_config = ConfigDict(frozen=True, extra="forbid")
