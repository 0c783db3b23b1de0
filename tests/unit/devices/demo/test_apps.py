"""The apps of the demo phone, used as a person would, checked against the world of a seed."""

import re

import pytest

from app.devices.demo.apps import APPS, demo_apps
from app.devices.demo.money import cart_totals, money
from app.devices.demo.records import OrderLine, Product
from app.devices.demo.settings_tree import PAGES
from app.devices.demo.world import DemoWorld

from .conftest import Clock, PhoneClient

SEED = 23


@pytest.fixture
def world(phone: PhoneClient) -> DemoWorld:
    return phone.reset(SEED)


def test_apps_table_names_full_addresses() -> None:
    apps = demo_apps("http://127.0.0.1:9/", "pixel")
    assert apps["Launcher"] == "http://127.0.0.1:9/pixel/"
    assert apps["Settings"] == "http://127.0.0.1:9/pixel/settings/"
    assert apps.keys() == APPS.keys() and len(APPS) >= 12


@pytest.mark.parametrize("path", APPS.values())
def test_every_app_opens_from_its_address_with_or_without_the_last_slash(
    phone: PhoneClient, path: str
) -> None:
    screen = phone.screen(path)
    assert screen.tags.count("h1") == 1
    assert phone.screen(path.rstrip("/")).texts == screen.texts


def test_launcher_shows_every_app(phone: PhoneClient) -> None:
    assert set(APPS) <= set(phone.screen("").texts)


def test_settings_pages_are_told_apart_by_title(phone: PhoneClient, world: DemoWorld) -> None:
    paths = [*PAGES, *(f"network/wifi/{n.id}" for n in world.wifi_networks)]
    titles = [phone.screen(f"settings/{path}").texts[0] for path in paths]
    assert len(set(titles)) == len(paths)
    assert "Wi-Fi · Settings" in titles


def test_settings_show_values_of_the_world(phone: PhoneClient, world: DemoWorld) -> None:
    network = world.wifi_networks[2]
    assert f"Battery: {world.battery.level} %" in phone.screen("settings/").texts
    about = phone.screen("settings/about").texts
    assert f"Serial number: {world.about.serial_number}" in about
    details = phone.screen(f"settings/network/wifi/{network.id}").texts
    assert f"IP address: {network.ip_address}" in details and "Status: Not connected" in details


def test_switches_stay_where_they_were_put(phone: PhoneClient, world: DemoWorld) -> None:
    before = phone.screen("settings/sound").checked["Vibrate for calls"]
    assert before == world.switches["vibrate"]
    after = phone.send("settings/sound", row="vibrate")
    assert after.checked["Vibrate for calls"] is not before
    assert phone.screen("settings/sound").checked["Vibrate for calls"] is not before


def test_wifi_off_hides_networks_and_connecting_turns_it_on(
    phone: PhoneClient, world: DemoWorld
) -> None:
    other = world.wifi_networks[3]
    off = phone.send("settings/network/wifi", row="wifi")
    assert "Turn on Wi-Fi to see networks." in off.texts
    assert "Network & internet: Off" in phone.screen("settings/").texts
    phone.send(f"settings/network/wifi/{other.id}", row="connect")
    assert f"Wi-Fi: {other.name}" in phone.screen("settings/network").texts


def test_airplane_mode_turns_radios_off(phone: PhoneClient, world: DemoWorld) -> None:
    phone.send("settings/network", row="airplane")
    assert phone.screen("settings/network/wifi").checked["Use Wi-Fi"] is False
    assert phone.screen("settings/bluetooth").checked["Use Bluetooth"] is False


def test_choices_steppers_and_actions(phone: PhoneClient, world: DemoWorld) -> None:
    chosen = phone.send("settings/display/font", row="font_size", value="Large")
    assert chosen.checked == {"Small": False, "Default": False, "Large": True, "Largest": False}
    for _ in range(20):
        phone.send("settings/sound", row="ring_volume", value="up")
    assert "Ring volume: 7 of 7" in phone.screen("settings/sound").texts
    cleared = phone.send("settings/storage", row="clear_cache")
    assert "Cached data: 0 MB" in cleared.texts and "Cache cleared" in cleared.texts
    phone.send("settings/about/name", row="device_name", value="My <phone>")
    assert "About phone: My <phone>" in phone.screen("settings/").texts


@pytest.mark.parametrize(
    ("path", "row", "value"),
    [
        ("settings/sound", "wifi", ""),
        ("settings/display/font", "font_size", "Enormous"),
        ("settings/nowhere", "wifi", ""),
        ("settings/about", "device_name", "no form here"),
    ],
)
def test_settings_refuse_what_the_page_does_not_offer(
    phone: PhoneClient, path: str, row: str, value: str
) -> None:
    phone.send(path, 404, row=row, value=value)


def test_contacts_search_add_edit_favourite_delete(phone: PhoneClient, world: DemoWorld) -> None:
    person = world.contacts[7]
    found = phone.screen(f"contacts/?q={person.name.split()[0].lower()}").texts
    assert f"{person.name}: {person.city}" in found
    assert f"Phone: {person.phone}" in phone.screen(f"contacts/{person.id}").texts
    added = phone.send("contacts/new", name="Nova Teller", number="12", email="n@t", city="Riga")
    assert "Nova Teller · Contacts" in added.texts and "Contact saved" in added.texts
    assert "Nova Teller: Riga" in phone.screen("contacts/").texts
    edited = phone.send(f"contacts/{person.id}/edit", name=person.name, city="Kyoto")
    assert "City: Kyoto" in edited.texts and f"Company: {person.company}" in edited.texts
    toggled = phone.send(f"contacts/{person.id}/favourite")
    assert toggled.checked["Favourite"] is not person.favourite
    phone.send(f"contacts/{person.id}/delete")
    assert not any(person.name in text for text in phone.screen("contacts/").texts)


def test_contact_without_name_is_refused_and_keeps_what_was_typed(phone: PhoneClient) -> None:
    screen = phone.send("contacts/new", 422, name="  ", city="Riga")
    assert "A contact needs a name." in screen.texts and screen.inputs["city"] == "Riga"


def test_notes_create_edit_delete(phone: PhoneClient, world: DemoWorld) -> None:
    assert world.notes[1].body in phone.screen("notes/n2").texts
    phone.send("notes/new", title="Plan", body="First line\nSecond line")
    assert "Plan: First line Second line" in phone.screen("notes/").texts
    phone.send("notes/n2/edit", title="Bike", body="")
    assert "This note is empty." in phone.screen("notes/n2").texts
    phone.send("notes/n2/delete")
    assert not any(t.startswith("Bike") for t in phone.screen("notes/").texts)
    phone.send("notes/new", 422, title="", body="kept")


def line(product: Product, quantity: int) -> OrderLine:
    return OrderLine(
        sku=product.sku, name=product.name, unit_cents=product.price_cents, quantity=quantity
    )


def test_shop_from_product_to_order(phone: PhoneClient, world: DemoWorld) -> None:
    first, second = world.products[1], world.products[4]
    assert f"Price: {money(first.price_cents)}" in phone.screen(f"shop/products/{first.sku}").texts
    phone.send(f"shop/products/{first.sku}/add", quantity="2")
    phone.send(f"shop/products/{second.sku}/add", quantity="1")
    phone.send(f"shop/cart/{second.sku}", step="up")
    bought = [line(first, 2), line(second, 2)]
    applied = phone.send("shop/discount", code=world.discount_code.lower())
    totals = cart_totals(bought, percent_off=world.discount_percent)
    assert f"Total: {money(totals.total_cents)}" in applied.texts
    assert f"Discount: {money(-totals.discount_cents)}" in applied.texts
    express = cart_totals(bought, percent_off=world.discount_percent, delivery="Express")
    where = {"name": "Ada", "address": "1 Way", "city": "Riga", "delivery": "Express"}
    thanks = phone.send("shop/checkout", **where, terms="yes")
    number = world.order_number(len(world.past_orders))
    assert f"Order number: {number}" in thanks.texts
    assert f"Total: {money(express.total_cents)}" in thanks.texts
    assert "Address: 1 Way, Riga" in phone.screen(f"shop/orders/{number}").texts
    assert "Your cart is empty." in phone.screen("shop/cart").texts
    newest = next(t for t in phone.screen("shop/orders").texts if t.startswith("Order A-"))
    assert newest == f"Order {number}: Being packed, {money(express.total_cents)}"


def test_shop_refuses_bad_quantities_codes_and_incomplete_orders(
    phone: PhoneClient, world: DemoWorld
) -> None:
    product = world.products[0]
    add = f"shop/products/{product.sku}/add"
    for bad in ("0", "-1", "x", "", "1" * 30):
        assert "Choose a quantity of 1 or more" in phone.send(add, quantity=bad).texts
    many = phone.send(add, quantity=str(product.stock + 1))
    assert f"Only {product.stock} in stock" in many.texts
    assert "Your cart is empty." in phone.send("shop/checkout").texts
    phone.send(add, quantity="1")
    assert "This code is not valid" in phone.send("shop/discount", code="SAVE1").texts
    missing = phone.send("shop/checkout", 422, name="Ada", delivery="Standard")
    assert "Please fill in: address, city." in missing.texts and missing.inputs["name"] == "Ada"
    where = {"name": "Ada", "address": "1 Way", "city": "Riga"}
    terms = phone.send("shop/checkout", 422, **where)
    assert "Please accept the terms." in terms.texts
    removed = phone.send(f"shop/cart/{product.sku}", step="down")
    assert "Your cart is empty." in removed.texts


def test_past_orders_add_up(phone: PhoneClient, world: DemoWorld) -> None:
    order = world.past_orders[1]
    texts = phone.screen(f"shop/orders/{order.number}").texts
    total = sum(x.unit_cents * x.quantity for x in order.lines) + order.totals.shipping_cents
    assert f"Total: {money(total)}" in texts and f"Status: {order.status}" in texts


def test_one_person_answers_a_second_later(
    phone: PhoneClient, world: DemoWorld, clock: Clock
) -> None:
    quick, silent = world.conversations[0], world.conversations[1]
    answer = f"{quick.name}: {quick.reply}"
    sent = phone.send(f"messages/{quick.id}", text="Hello <you>")
    assert "You: Hello <you>" in sent.texts and "typing …" in sent.texts
    assert answer not in sent.texts
    assert "You: Hello <you>" in " ".join(phone.screen("messages/").texts)
    clock.time += 1.0
    assert answer in phone.screen(f"messages/{quick.id}/bubbles").texts
    assert "typing …" not in phone.screen(f"messages/{quick.id}").texts
    assert "typing …" not in phone.send(f"messages/{silent.id}", text="Hello").texts
    assert "Write something first" in phone.send(f"messages/{silent.id}", text=" ").texts


def test_alarms(phone: PhoneClient, world: DemoWorld) -> None:
    added = phone.send("clock/alarms/new", hour="6", minute="05", label="Boat")
    assert added.checked["06:05 Boat"] is True and "Alarm set for 06:05" in added.texts
    first = world.alarms[0]
    name = f"{first.time} {first.label}"
    assert phone.screen("clock/").checked[name] is first.on
    assert phone.send("clock/alarms/a1", do="toggle").checked[name] is not first.on
    assert name not in phone.send("clock/alarms/a1", do="delete").checked
    for hour, minute in (("24", "0"), ("7", "60"), ("", "1"), ("-1", "0"), ("٣", "0")):
        phone.send("clock/alarms/new", 422, hour=hour, minute=minute)


def test_timer_runs_pauses_resumes_and_ends(phone: PhoneClient, clock: Clock) -> None:
    running = phone.send("clock/timer", do="start", minutes="1", seconds="5")
    assert "Remaining: 1:05" in running.texts
    clock.time += 3.2
    paused = phone.send("clock/timer", do="pause")
    assert "Remaining: 1:02" in paused.texts and "Paused" in paused.texts
    clock.time += 500
    assert "Remaining: 1:02" in phone.send("clock/timer", do="resume").texts
    clock.time += 62
    over = phone.screen("clock/timer").texts
    assert "Time is up" in over and "Timer length: 1:05" in over
    assert "Start" in phone.send("clock/timer", do="cancel").texts
    assert "Set a time first" in phone.send("clock/timer", do="start", seconds="0").texts


def test_stopwatch(phone: PhoneClient, clock: Clock) -> None:
    phone.send("clock/stopwatch", do="start")
    clock.time += 61.25
    assert "Lap 1: 1:01.2" in phone.send("clock/stopwatch", do="lap").texts
    clock.time += 1
    assert "Elapsed: 1:02.2" in phone.send("clock/stopwatch", do="stop").texts
    clock.time += 100
    assert "Elapsed: 1:02.2" in phone.screen("clock/stopwatch").texts
    assert "Elapsed: 0:00.0" in phone.send("clock/stopwatch", do="reset").texts


def test_world_clock(phone: PhoneClient, world: DemoWorld, clock: Clock) -> None:
    clock.time = 0.0
    expected = [
        f"{c.name}: {c.offset_minutes % 1440 // 60:02d}:{c.offset_minutes % 60:02d}"
        for c in world.world_cities
    ]
    assert set(expected) <= set(phone.screen("clock/world").texts)


def test_catalogue_grows_by_batches_to_all_500(phone: PhoneClient, world: DemoWorld) -> None:
    seen = [t for t in phone.screen("catalogue/").texts if t.startswith("Item ")]
    assert len(seen) == 50
    for start in range(50, 500, 50):
        page = phone.screen(f"catalogue/rows?start={start}&stop={start + 50}").texts
        assert ("Show more items" in page) == (start < 450)
        seen += [t for t in page if t.startswith("Item ")]
    assert seen == [f"{row.name}: {row.code}" for row in world.catalogue]
    last = world.catalogue[-1]
    detail = phone.screen("catalogue/500").texts
    assert f"Shelf: {last.shelf}" in detail and f"Weight: {last.weight_grams} g" in detail


def test_dialogs_keep_their_results(phone: PhoneClient, world: DemoWorld) -> None:
    assert f"Toast code: {world.lab.toast}" in phone.send("dialogs/toast").texts
    assert f"Toast code: {world.lab.toast}" not in phone.screen("dialogs/").texts
    assert "Last result: confirmed" in phone.send("dialogs/", result="confirmed").texts
    asked = phone.screen("dialogs/permission")
    assert "dialog" in asked.tags and f"Place code: {world.lab.permission}" not in asked.texts
    allowed = phone.send("dialogs/permission", answer="allow")
    assert f"Place code: {world.lab.permission}" in allowed.texts
    assert "dialog" not in allowed.tags
    assert "Location permission: not asked" in phone.send("dialogs/permission/forget").texts


def test_account_needs_the_password_of_the_about_page(phone: PhoneClient, world: DemoWorld) -> None:
    assert f"Password: {world.account.password}" in phone.screen("settings/about/account").texts
    wrong = phone.send("account/login", 422, user=world.account.user_name, password="no")
    assert "Wrong user name or password." in wrong.texts and wrong.inputs["password"] == ""
    form = {"user": world.account.user_name, "password": world.account.password}
    profile = phone.send("account/login", **form)
    assert f"Member number: {world.account.member_id}" in profile.texts
    assert f"Points: {world.account.points}" in phone.screen("account/").texts
    assert "Signed out" in phone.send("account/logout").texts
    assert "Sign in" in phone.screen("account/login").texts


def test_reader_hides_its_code_inside_a_frame(phone: PhoneClient, world: DemoWorld) -> None:
    outer = phone.client.get("/demo/reader/").text
    assert "<iframe" in outer and world.article.secret not in outer
    assert f"Reader code: {world.article.secret}" in phone.screen("reader/article").texts
    assert "Unlike" in phone.send("reader/article/like").texts


def test_gauge_value_is_never_in_the_page(phone: PhoneClient, world: DemoWorld) -> None:
    page = phone.client.get("/demo/gauge/").text
    assert not re.search(rf"\b{world.gauge_value}\b", page)
    assert phone.client.get("/demo/gauge/reading").json()["value"] == world.gauge_value
    phone.send("gauge/reading", do="up")
    phone.send("gauge/reading", do="lock")
    phone.send("gauge/reading", do="up")
    reading = phone.client.get("/demo/gauge/reading").json()
    assert reading == {"value": world.gauge_value + 10, "locked": True}


def test_slow_page_has_its_code_only_in_the_part_that_is_slow(
    phone: PhoneClient, world: DemoWorld
) -> None:
    assert world.lab.slow not in phone.client.get("/demo/slow/").text
    assert f"Slow code: {world.lab.slow}" in phone.screen("slow/content").texts


def test_fault_pages(phone: PhoneClient, world: DemoWorld) -> None:
    for name in ("hang", "black", "alert"):
        phone.screen(f"faults/{name}")
    failed = phone.client.get("/demo/faults/error")
    assert failed.status_code == 503 and "This page always fails." in failed.text
    assert phone.client.get("/demo/faults/other").status_code == 404
