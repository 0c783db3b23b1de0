"""The things the demo phone's apps show and store, as frozen values."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Contact(Record):
    id: str
    name: str
    phone: str
    email: str
    city: str
    company: str = ""
    favourite: bool = False


class Note(Record):
    id: str
    title: str
    body: str


class Product(Record):
    sku: str
    name: str
    category: str
    price_cents: int
    stock: int
    rating: str
    blurb: str


class OrderLine(Record):
    sku: str
    name: str
    unit_cents: int
    quantity: int

    @property
    def total_cents(self) -> int:
        return self.unit_cents * self.quantity


class CartTotals(Record):
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int


class Order(Record):
    number: str
    placed_on: str
    status: str
    name: str
    address: str
    city: str
    delivery: str
    lines: tuple[OrderLine, ...]
    discount_code: str
    totals: CartTotals


class Message(Record):
    mine: bool
    text: str
    due_at: float = 0.0
    """Seconds since the epoch from which the message is visible; 0 means always."""


class Conversation(Record):
    id: str
    name: str
    messages: tuple[Message, ...]
    reply: str = ""
    """What this person answers, one second after a message; empty for people who never answer."""


class Alarm(Record):
    id: str
    hour: int
    minute: int
    label: str
    on: bool

    @property
    def time(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}"


class WorldCity(Record):
    name: str
    offset_minutes: int


class WifiNetwork(Record):
    id: str
    name: str
    signal: str
    security: str
    frequency: str
    ip_address: str
    gateway: str
    mac_address: str


class CatalogueRow(Record):
    number: int
    code: str
    shelf: str
    weight_grams: int
    price_cents: int
    supplier: str

    @property
    def name(self) -> str:
        return f"Item {self.number:03d}"


class AboutPhone(Record):
    device_name: str
    model: str
    serial_number: str
    system_version: str
    build_number: str
    security_update: str
    imei: str
    wifi_mac: str
    phone_number: str
    operator: str


class Battery(Record):
    level: int
    health: int
    cycles: int
    temperature: str
    usage: tuple[tuple[str, int], ...]
    """App name and its share in per cent, largest first."""


class Storage(Record):
    total_gb: int
    apps_gb: int
    photos_gb: int
    system_gb: int
    cache_mb: int

    @property
    def used_gb(self) -> int:
        return self.apps_gb + self.photos_gb + self.system_gb


class Account(Record):
    user_name: str
    password: str
    full_name: str
    member_id: str
    plan: str
    points: int
    renewal: str


class Article(Record):
    title: str
    author: str
    paragraphs: tuple[str, ...]
    secret: str
    """Shown only after the button inside the article is tapped."""


class LabCodes(Record):
    """One code for every odd kind of page, so that a task can prove it got there."""

    alert: str
    modal: str
    sheet: str
    toast: str
    permission: str
    slow: str
    new_tab: str
    after_alert: str
