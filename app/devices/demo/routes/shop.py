"""Shop: products, cart, discount code, checkout, orders."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.devices.demo.money import SHIPPING_CENTS, cart_totals
from app.devices.demo.phone import Phone, PhoneDep, clean, missing
from app.devices.demo.records import Order, OrderLine, Product
from app.devices.demo.state import LIST_LIMIT, PhoneState

router = APIRouter(prefix="/{device}/shop")
FormText = Annotated[str, Form()]


@router.get("/")
def list_products(phone: PhoneDep) -> HTMLResponse:
    return phone.page("shop/products.html", cart_count=sum(phone.state.cart.values()))


@router.get("/products/{sku}")
def show_product(phone: PhoneDep, sku: str) -> HTMLResponse:
    product = _product(phone, sku)
    return phone.page(
        "shop/product.html", product=product, cart_count=sum(phone.state.cart.values())
    )


@router.post("/products/{sku}/add")
def add_to_cart(phone: PhoneDep, sku: str, quantity: FormText = "") -> RedirectResponse:
    product = _product(phone, sku)
    with phone.change() as state:
        wanted = int(quantity) if quantity.isdecimal() and len(quantity) < 6 else 0
        total = state.cart.get(sku, 0) + wanted
        if wanted < 1:
            state.toast = "Choose a quantity of 1 or more"
        elif total > product.stock:
            state.toast = f"Only {product.stock} in stock"
        else:
            state.cart[sku] = total
            state.toast = f"Added {wanted} to cart"
    return phone.go(f"shop/products/{sku}")


@router.get("/cart")
def show_cart(phone: PhoneDep) -> HTMLResponse:
    lines = cart_lines(phone.state)
    totals = cart_totals(lines, percent_off=_percent_off(phone.state))
    return phone.page("shop/cart.html", lines=lines, totals=totals)


@router.post("/cart/{sku}")
def change_line(phone: PhoneDep, sku: str, step: FormText = "") -> RedirectResponse:
    """`step` is up, down or remove."""
    product = _product(phone, sku)
    with phone.change() as state:
        if sku not in state.cart:
            raise missing("line in the cart")
        change = {"up": 1, "down": -1, "remove": -state.cart[sku]}.get(step, 0)
        if state.cart[sku] + change > product.stock:
            state.toast = f"Only {product.stock} in stock"
        else:
            state.cart[sku] += change
        if state.cart[sku] < 1:
            del state.cart[sku]
            state.toast = "Removed from cart"
    return phone.go("shop/cart")


@router.post("/discount")
def apply_discount(phone: PhoneDep, code: FormText = "") -> RedirectResponse:
    with phone.change() as state:
        if clean(code, 40).upper() == state.world.discount_code:
            state.discount_code = state.world.discount_code
            state.toast = f"{state.world.discount_percent} % discount applied"
        else:
            state.discount_code = ""
            state.toast = "This code is not valid"
    return phone.go("shop/cart")


@router.get("/checkout")
def show_checkout(phone: PhoneDep) -> Response:
    if not phone.state.cart:
        return phone.go("shop/cart")
    return _checkout_page(phone, {}, "")


@router.post("/checkout")
def place_order(
    phone: PhoneDep,
    name: FormText = "",
    address: FormText = "",
    city: FormText = "",
    delivery: FormText = "Standard",
    terms: FormText = "",
) -> Response:
    filled = {"name": clean(name, 80), "address": clean(address, 120), "city": clean(city, 60)}
    empty = [field for field, value in filled.items() if not value]
    if not phone.state.cart:
        return phone.go("shop/cart")
    if delivery not in SHIPPING_CENTS:
        return _checkout_page(phone, filled, "Choose a delivery.")
    if empty:
        return _checkout_page(phone, filled, f"Please fill in: {', '.join(empty)}.")
    if terms != "yes":
        return _checkout_page(phone, filled, "Please accept the terms.")
    if len(phone.state.orders) >= LIST_LIMIT:
        return _checkout_page(phone, filled, "No more orders can be placed.")
    with phone.change() as state:
        order = _place(state, delivery, **filled)
    return phone.go(f"shop/orders/{order.number}/thanks")


@router.get("/orders")
def list_orders(phone: PhoneDep) -> HTMLResponse:
    return phone.page("shop/orders.html", orders=list(reversed(phone.state.orders)))


@router.get("/orders/{number}")
def show_order(phone: PhoneDep, number: str) -> HTMLResponse:
    return phone.page("shop/order.html", order=_order(phone, number))


@router.get("/orders/{number}/thanks")
def show_confirmation(phone: PhoneDep, number: str) -> HTMLResponse:
    return phone.page("shop/thanks.html", order=_order(phone, number))


def cart_lines(state: PhoneState) -> tuple[OrderLine, ...]:
    return tuple(
        OrderLine(sku=p.sku, name=p.name, unit_cents=p.price_cents, quantity=state.cart[p.sku])
        for p in state.world.products
        if p.sku in state.cart
    )


def _place(state: PhoneState, delivery: str, *, name: str, address: str, city: str) -> Order:
    lines = cart_lines(state)
    order = Order(
        number=state.world.order_number(len(state.orders)),
        placed_on="Today",
        status="Being packed",
        name=name,
        address=address,
        city=city,
        delivery=delivery,
        lines=lines,
        discount_code=state.discount_code,
        totals=cart_totals(lines, percent_off=_percent_off(state), delivery=delivery),
    )
    state.orders.append(order)
    state.cart = {}
    state.discount_code = ""
    return order


def _checkout_page(phone: Phone, filled: dict[str, str], error: str) -> HTMLResponse:
    percent, lines = _percent_off(phone.state), cart_lines(phone.state)
    return phone.page(
        "shop/checkout.html",
        status=422 if error else 200,
        filled={"name": "", "address": "", "city": "", **filled},
        error=error,
        choices=[(d, cart_totals(lines, percent_off=percent, delivery=d)) for d in SHIPPING_CENTS],
    )


def _percent_off(state: PhoneState) -> int:
    return state.world.discount_percent if state.discount_code else 0


def _product(phone: Phone, sku: str) -> Product:
    for product in phone.world.products:
        if product.sku == sku:
            return product
    raise missing("product")


def _order(phone: Phone, number: str) -> Order:
    for order in phone.state.orders:
        if order.number == number:
            return order
    raise missing("order")
