"""What a call cost: dated list prices from prices.json."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Self

from pydantic import Field, TypeAdapter

from app.domain.messages import Usage
from app.domain.values import Value

PRICE_FILE = Path(__file__).with_name("prices.json")
MILLION = 1_000_000


class Price(Value):
    """USD per million tokens of one model from one day on."""

    model: str
    valid_from: date
    above_prompt_tokens: int = 0
    """Applies to prompts larger than this."""
    input: float = Field(ge=0)
    cached: float | None = None
    """None charges cached tokens as input: never too little."""
    output: float = Field(ge=0)
    """Thinking included."""

    def cost(self, usage: Usage) -> float:
        cached = min(usage.cached, usage.prompt)
        rate = self.input if self.cached is None else self.cached
        fresh = (usage.prompt - cached) * self.input
        return (fresh + cached * rate + (usage.output + usage.thinking) * self.output) / MILLION


class _PriceFile(Value):
    note: str
    prices: tuple[Price, ...]


class PriceTable:
    """Finds the price that held for a model on a day."""

    def __init__(self, prices: Iterable[Price]) -> None:
        self._prices = tuple(prices)

    @classmethod
    def load(cls, path: Path = PRICE_FILE) -> Self:
        return cls(TypeAdapter(_PriceFile).validate_json(path.read_bytes()).prices)

    def price(self, model: str, day: date, prompt_tokens: int = 0) -> Price | None:
        """The newest row not after the day; among equals the one for larger prompts."""
        rows = [
            row
            for row in self._prices
            if row.model == model
            and row.valid_from <= day
            and prompt_tokens >= row.above_prompt_tokens + bool(row.above_prompt_tokens)
        ]
        return max(rows, key=lambda r: (r.valid_from, r.above_prompt_tokens), default=None)

    def cost(self, model: str, day: date, usage: Usage) -> float | None:
        """USD of one call; None for a model without a known price."""
        price = self.price(model, day, usage.prompt)
        return price.cost(usage) if price else None
