"""Dated prices."""

from __future__ import annotations

from datetime import date

import pytest

from app.domain.messages import Usage
from app.llm.prices import Price, PriceTable

TABLE = PriceTable.load()
USAGE = Usage(prompt=1_000_000, cached=500_000, output=100_000, thinking=100_000)


@pytest.mark.parametrize(
    ("model", "day", "cost"),
    [
        ("gemini-3.8-flash", date(2026, 12, 31), 0.375 + 0.0375 + 0.75),
        ("gemini-3.8-flash", date(2027, 1, 1), 0.75 + 0.075 + 1.5),
        ("gemini-4-argon", date(2026, 11, 30), 1.0 + 0.05 + 2.0),
        ("gemini-4-argon", date(2026, 12, 1), 2.0 + 0.1 + 4.0),
        ("gemini-3.5-flash-lite", date(2026, 12, 1), 0.3 + 0.5),
        ("gemini-3.1-pro-preview", date(2026, 12, 1), 4.0 + 3.6),
    ],
)
def test_the_price_of_the_day_counts(model: str, day: date, cost: float) -> None:
    assert TABLE.cost(model, day, USAGE) == pytest.approx(cost)


def test_a_small_prompt_has_the_small_price() -> None:
    price = TABLE.price("gemini-3.1-pro-preview", date(2026, 12, 1), 200_000)
    assert price is not None and price.input == 2.0
    price = TABLE.price("gemini-3.1-pro-preview", date(2026, 12, 1), 200_001)
    assert price is not None and price.input == 4.0


def test_an_unknown_model_or_day_has_no_price() -> None:
    assert TABLE.cost("gemini-9", date(2026, 12, 1), USAGE) is None
    assert TABLE.cost("gemini-3.8-flash", date(2020, 1, 1), USAGE) is None


def test_more_cached_than_prompt_is_never_negative() -> None:
    price = Price(model="m", valid_from=date(2026, 1, 1), input=1.0, cached=0.5, output=1.0)
    assert price.cost(Usage(prompt=10, cached=99)) == pytest.approx(5e-6)
