"""What is on the demo phone after a reset, computed from a seed and nothing else.

Longer than most modules: it is one flat list of sections, read by name, never from end to end.
"""

import string
from functools import cached_property, lru_cache
from random import Random

from app.devices.demo import vocabulary as words
from app.devices.demo.drawing import code, digits, fill, mac_address, phone_number
from app.devices.demo.money import cart_totals
from app.devices.demo.records import (
    AboutPhone,
    Account,
    Alarm,
    Article,
    Battery,
    CatalogueRow,
    Contact,
    Conversation,
    LabCodes,
    Message,
    Note,
    Order,
    OrderLine,
    Product,
    Storage,
    WifiNetwork,
    WorldCity,
)

DEFAULT_SEED = 1
CONTACT_COUNT = 25
PRODUCT_COUNT = 12
CATALOGUE_COUNT = 500


class DemoWorld:
    """The seeded content. Every section has its own generator: changing one moves no other."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.seed = seed

    def _random(self, section: str) -> Random:
        return Random(f"{self.seed}:{section}")

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """25 people sorted by name; names are unique, and one of them carries markup."""
        rng = self._random("contacts")
        firsts = rng.sample(words.FIRST_NAMES, CONTACT_COUNT - 1)
        lasts = rng.sample(words.LAST_NAMES, CONTACT_COUNT - 1)
        names = [f"{first} {last}" for first, last in zip(firsts, lasts, strict=True)]
        names = sorted([*names, words.HOSTILE_CONTACT_NAME])
        return tuple(_contact(rng, index, name) for index, name in enumerate(names, start=1))

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        rng = self._random("notes")
        notes = [
            Note(id=f"n{index}", title=title, body=fill(rng, body))
            for index, (title, body) in enumerate(words.NOTES, start=1)
        ]
        hostile = Note(
            id=f"n{len(notes) + 1}", title=words.HOSTILE_NOTE_TITLE, body=words.HOSTILE_NOTE_BODY
        )
        return (*notes, hostile)

    @cached_property
    def products(self) -> tuple[Product, ...]:
        rng = self._random("products")
        chosen = sorted(rng.sample(words.PRODUCTS, PRODUCT_COUNT))
        return tuple(
            Product(
                sku=f"{category[:2].upper()}-{number}",
                name=name,
                category=category,
                price_cents=rng.randrange(450, 14_900, 5),
                stock=rng.randrange(4, 30),
                rating=f"{rng.randrange(31, 50) / 10:.1f}",
                blurb=blurb,
            )
            for (name, category, blurb), number in zip(
                chosen, rng.sample(range(1000, 10_000), PRODUCT_COUNT), strict=True
            )
        )

    @cached_property
    def discount_code(self) -> str:
        return "SAVE" + digits(self._random("discount code"), 3)

    @cached_property
    def discount_percent(self) -> int:
        return self._random("discount percent").choice((5, 10, 12, 15, 20, 25))

    @cached_property
    def past_orders(self) -> tuple[Order, ...]:
        rng = self._random("orders")
        statuses = ("Delivered", "On its way", "Returned")
        return tuple(self._past_order(rng, index, status) for index, status in enumerate(statuses))

    def order_number(self, index: int) -> str:
        """The number that the index-th order gets: past orders first, then the ones placed."""
        return f"A-{41_000 + 137 * index + self._random('order numbers').randrange(100, 9_000)}"

    @cached_property
    def conversations(self) -> tuple[Conversation, ...]:
        """Six threads: the first answers, the third has the discount code, the last is hostile."""
        rng = self._random("conversations")
        plain = [c for c in self.contacts if c.name != words.HOSTILE_CONTACT_NAME]
        people = rng.sample(plain, 6)
        threads = [
            (f"Shall we meet in {people[0].city}?", "Write to me, I answer at once."),
            (f"The gate code is {code(rng)}.", "It changes next month."),
            (
                f"Your parcel {code(rng)} is at the desk.",
                f"Use {self.discount_code} in the shop: {self.discount_percent} % off.",
            ),
            (f"Train {rng.randrange(100, 999)} leaves from platform {rng.randrange(2, 19)}.",),
            (f"Table for {rng.randrange(2, 9)} under the name {people[4].name}.", "See you there."),
            words.HOSTILE_MESSAGES,
        ]
        reply = f"Got it. My code for you is {code(rng)}."
        return tuple(
            Conversation(
                id=person.id,
                name=person.name,
                messages=tuple(Message(mine=False, text=text) for text in texts),
                reply=reply if index == 0 else "",
            )
            for index, (person, texts) in enumerate(zip(people, threads, strict=True))
        )

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        rng = self._random("alarms")
        labels = rng.sample(words.ALARM_LABELS, 3)
        times = sorted(rng.sample(range(5 * 60, 22 * 60, 5), 3))
        return tuple(
            Alarm(id=f"a{i}", hour=t // 60, minute=t % 60, label=label, on=rng.random() < 0.5)
            for i, (t, label) in enumerate(zip(times, labels, strict=True), start=1)
        )

    @cached_property
    def world_cities(self) -> tuple[WorldCity, ...]:
        chosen = self._random("cities").sample(words.WORLD_CITIES, 4)
        return tuple(WorldCity(name=name, offset_minutes=offset) for name, offset in chosen)

    @cached_property
    def catalogue(self) -> tuple[CatalogueRow, ...]:
        rng = self._random("catalogue")
        return tuple(
            CatalogueRow(
                number=number,
                code=code(rng),
                shelf=f"{rng.choice('ABCDEFGH')}{rng.randrange(1, 40)}",
                weight_grams=rng.randrange(40, 4_000, 10),
                price_cents=rng.randrange(150, 25_000, 5),
                supplier=rng.choice(words.SUPPLIERS),
            )
            for number in range(1, CATALOGUE_COUNT + 1)
        )

    @cached_property
    def wifi_networks(self) -> tuple[WifiNetwork, ...]:
        """Six networks; the phone starts connected to the first."""
        rng = self._random("wifi")
        return tuple(
            WifiNetwork(
                id=name.lower().replace(" ", "-"),
                name=name,
                signal=rng.choice(("Excellent", "Good", "Fair", "Weak")),
                security=rng.choice(("WPA2", "WPA3", "Open")),
                frequency=rng.choice(("2.4 GHz", "5 GHz")),
                ip_address=f"10.0.{rng.randrange(250)}.{rng.randrange(2, 250)}",
                gateway=f"10.{rng.randrange(1, 250)}.0.1",
                mac_address=mac_address(rng),
            )
            for name in rng.sample(words.WIFI_NAMES, 6)
        )

    @cached_property
    def about(self) -> AboutPhone:
        rng = self._random("about")
        return AboutPhone(
            device_name=f"Artemis {rng.choice(('Dawn', 'Fern', 'Lark', 'Moon', 'Reed'))}",
            model=f"AP-{rng.randrange(100, 999)}",
            serial_number=f"{code(rng)}-{digits(rng, 4)}",
            system_version=f"{rng.randrange(12, 16)}.{rng.randrange(10)}.{rng.randrange(10)}",
            build_number=f"ART{rng.randrange(10)}.{digits(rng, 6)}.{digits(rng, 3)}",
            security_update=f"2025-{rng.randrange(1, 13):02d}-05",
            imei=f"35{digits(rng, 13)}",
            wifi_mac=mac_address(rng),
            phone_number=phone_number(rng),
            operator=rng.choice(words.OPERATORS),
        )

    @cached_property
    def battery(self) -> Battery:
        rng = self._random("battery")
        apps = rng.sample(("Messages", "Shop", "Reader", "Clock", "Contacts"), 4)
        shares = sorted(rng.sample(range(2, 30), 4), reverse=True)
        return Battery(
            level=rng.randrange(21, 98),
            health=rng.randrange(80, 100),
            cycles=rng.randrange(40, 600),
            temperature=f"{rng.randrange(240, 360) / 10:.1f} °C",
            usage=tuple(zip(apps, shares, strict=True)),
        )

    @cached_property
    def storage(self) -> Storage:
        rng = self._random("storage")
        return Storage(
            total_gb=128,
            apps_gb=rng.randrange(12, 40),
            photos_gb=rng.randrange(8, 50),
            system_gb=rng.randrange(14, 22),
            cache_mb=rng.randrange(120, 980),
        )

    @cached_property
    def switches(self) -> dict[str, bool]:
        """Every switch of Settings by key, as it stands after a reset."""
        rng = self._random("switches")
        drawn = (
            "airplane", "roaming", "hotspot", "auto_connect", "metered", "bluetooth", "adaptive",
            "night_light", "vibrate", "do_not_disturb", "key_clicks", "battery_saver",
            "battery_percentage", "auto_time", "hour_24", "notify_messages", "notify_shop",
            "notify_clock", "lock_screen_details",
        )  # fmt: skip
        values = {key: rng.random() < 0.5 for key in drawn}
        return {**values, "airplane": False, "wifi": True, "mobile_data": True}

    @cached_property
    def levels(self) -> dict[str, int]:
        """Every stepper of Settings by key, as it stands after a reset."""
        rng = self._random("levels")
        return {
            "brightness": rng.randrange(2, 9),
            "media_volume": rng.randrange(3, 13),
            "ring_volume": rng.randrange(2, 7),
            "alarm_volume": rng.randrange(2, 7),
        }

    @cached_property
    def account(self) -> Account:
        rng = self._random("account")
        first, last = rng.choice(words.FIRST_NAMES), rng.choice(words.LAST_NAMES)
        return Account(
            user_name=f"{first.lower()}.{last.lower()}",
            password=f"{code(rng)}-{digits(rng, 3)}",
            full_name=f"{first} {last}",
            member_id=f"M-{digits(rng, 6)}",
            plan=rng.choice(words.PLANS),
            points=rng.randrange(120, 9_800),
            renewal=f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
        )

    @cached_property
    def article(self) -> Article:
        rng = self._random("article")
        town, height = rng.choice(words.CITIES), rng.randrange(31, 96)
        year, steps = rng.randrange(1790, 1910), rng.randrange(120, 420)
        return Article(
            title=f"The lighthouse of {town}",
            author=f"{rng.choice(words.FIRST_NAMES)} {rng.choice(words.LAST_NAMES)}",
            paragraphs=(
                f"The lighthouse of {town} was finished in {year}. It is {height} metres tall "
                f"and has {steps} steps, which the keepers climbed four times a day.",
                "Its lamp was oil at first, then gas, then electric. The lens was carried up in "
                "parts, and every part is numbered in the same careful hand.",
                f"Today the tower is kept by {rng.randrange(3, 30)} volunteers. They open it on "
                "Sundays and tell visitors that the view is worth the stairs.",
            ),
            secret=code(rng),
        )

    @cached_property
    def gauge_value(self) -> int:
        return self._random("gauge").randrange(120, 880)

    @cached_property
    def lab(self) -> LabCodes:
        rng = self._random("lab")
        return LabCodes(**{field: code(rng) for field in LabCodes.model_fields})

    def contact(self, name: str) -> Contact:
        return next(contact for contact in self.contacts if contact.name == name)

    def product(self, name_or_sku: str) -> Product:
        return next(p for p in self.products if name_or_sku in (p.name, p.sku))

    def _past_order(self, rng: Random, index: int, status: str) -> Order:
        bought = rng.sample(self.products, rng.randrange(1, 4))
        lines = tuple(
            OrderLine(
                sku=p.sku, name=p.name, unit_cents=p.price_cents, quantity=rng.randrange(1, 4)
            )
            for p in bought
        )
        return Order(
            number=self.order_number(index),
            placed_on=f"2025-{index * 3 + rng.randrange(1, 4):02d}-{rng.randrange(1, 29):02d}",
            status=status,
            name=self.account.full_name,
            address=f"{rng.randrange(1, 200)} {rng.choice(words.LAST_NAMES)} Street",
            city=rng.choice(words.CITIES),
            delivery="Standard",
            lines=lines,
            discount_code="",
            totals=cart_totals(lines),
        )


@lru_cache(maxsize=32)
def demo_world(seed: int) -> DemoWorld:
    """The world of a seed, shared: it never changes once computed."""
    return DemoWorld(seed)


def _contact(rng: Random, index: int, name: str) -> Contact:
    letters = "".join(c for c in name.lower() if c in string.ascii_lowercase + " ")
    return Contact(
        id=f"c{index:02d}",
        name=name,
        phone=phone_number(rng),
        email=f"{'.'.join(letters.split())}{rng.randrange(10, 99)}@example.org",
        city=rng.choice(words.CITIES),
        company=rng.choice(words.COMPANIES),
        favourite=rng.random() < 0.2,
    )
