"""Prices and cart totals, in whole cents."""

from collections.abc import Iterable

from app.devices.demo.records import CartTotals, OrderLine

SHIPPING_CENTS = {"Standard": 490, "Express": 1290}
FREE_STANDARD_FROM_CENTS = 10_000


def money(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def cart_totals(
    lines: Iterable[OrderLine], *, percent_off: int = 0, delivery: str = "Standard"
) -> CartTotals:
    """The discount is rounded half up; standard delivery is free from $100 after discount."""
    subtotal = sum(line.total_cents for line in lines)
    discount = (subtotal * percent_off + 50) // 100
    shipping = SHIPPING_CENTS[delivery] if subtotal else 0
    if delivery == "Standard" and subtotal - discount >= FREE_STANDARD_FROM_CENTS:
        shipping = 0
    return CartTotals(
        subtotal_cents=subtotal,
        discount_cents=discount,
        shipping_cents=shipping,
        total_cents=subtotal - discount + shipping,
    )
