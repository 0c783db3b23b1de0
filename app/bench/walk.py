"""A walk through numbered screens: a device, a model and a clock that keep the ports.

Everything follows from the seed, nothing waits, and the model decides from its request
alone. So what a run over the walk costs is what Artemis costs.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from PIL import Image, ImageDraw

from app.domain.actions import NORMAL, Back, DeviceAction, Outcome, Point, Receipt, Tap
from app.domain.messages import Call, Message, ModelReply, ModelRequest, Part, Role, Text
from app.domain.screens import Bounds, DeviceView, Dialect, Screenshot, Size, UiSource
from app.domain.tasks import Ability
from app.errors import AbilityMissing, ModelRejected

PACKAGE = "org.example.records"
WINDOW = Size(width=1080, height=2400)
LABELS = (
    "Reference",
    "Order number",
    "Customer",
    "Opened",
    "Closed",
    "Amount",
    "Deposit",
    "Weight",
    "Length",
    "Telephone",
    "Shelf",
    "Batch",
    "Serial number",
    "Invoice",
    "Account",
    "Meter reading",
    "Room",
    "Signature",
)
"""The rows of every screen."""
REMEMBER_EVERY = 10
"""The model keeps the reference of every so-many-th screen."""

_ROW_TOP, _ROW_HEIGHT = 240, 100
_BACK = Bounds(left=60, top=2120, right=500, bottom=2260)
_NEXT = Bounds(left=580, top=2120, right=1020, bottom=2260)
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """One line of a screen."""

    label: str
    value: str


class Walk(NamedTuple):
    """A walk of so many screens."""

    screens: int
    seed: int = 1
    pictures: bool = False
    """With screenshots; without, the cost of picture work stays out."""

    @property
    def goal(self) -> str:
        return f"Open every record up to number {self.screens} and say its reference."

    def title(self, number: int) -> str:
        return f"Record {number} of {self.screens}"

    def rows(self, number: int) -> tuple[Row, ...]:
        """The label and value pairs of a screen; every value stands on one screen only."""
        return tuple(
            Row(label, f"{label[:2].upper()}-{_digits(self.seed, number, place)}")
            for place, label in enumerate(LABELS)
        )


class WalkClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self._elapsed = 0.0

    def now(self) -> datetime:
        return _START + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self._elapsed += seconds
        await asyncio.sleep(0)


class WalkDevice:
    """A phone that shows the records, one a screen."""

    name = "walk"
    description = "A phone of numbered records, 1080x2400."
    abilities = frozenset({Ability.TOUCH, Ability.BACK})

    def __init__(self, walk: Walk, clock: WalkClock) -> None:
        self._walk = walk
        self._clock = clock
        self.number = 1
        """The screen in front."""

    @property
    def apps(self) -> dict[str, str]:
        return {"Records": PACKAGE}

    async def open(self) -> None:
        self.number = 1

    async def close(self) -> None:
        return

    async def observe(self) -> DeviceView:
        return DeviceView(
            taken_at=self._clock.now(),
            screenshot=await self.glance(),
            screenshot_problem="" if self._walk.pictures else "this walk has no pictures",
            source=UiSource(dialect=Dialect.UIAUTOMATOR2, text=ui_source(self._walk, self.number)),
            window=WINDOW,
            package=PACKAGE,
            activity=".RecordActivity",
            title=self._walk.title(self.number),
            keyboard_shown=False,
        )

    async def glance(self) -> Screenshot | None:
        return screenshot(self._walk, self.number) if self._walk.pictures else None

    async def perform(self, action: DeviceAction) -> Receipt:
        match action:
            case Tap(target=target) if _hits(_NEXT, target.point):
                self.number = min(self.number + 1, self._walk.screens)
            case Tap(target=target) if not _hits(_BACK, target.point):
                pass
            case Tap() | Back():
                self.number = max(self.number - 1, 1)
            case _:
                return Receipt(outcome=Outcome.ERROR, code=AbilityMissing.code)
        return Receipt(outcome=Outcome.OK)

    async def shell(self, command: Sequence[str]) -> str:
        raise AbilityMissing

    async def keep_alive(self) -> None:
        return


class WalkModel:
    """Taps Next until the last screen, keeping a reference now and then."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    async def generate(self, request: ModelRequest) -> ModelReply:
        match request.role:
            case Role.OPERATOR:
                parts = self._operate(_screen_text(request))
            case Role.PLANNER:
                parts = (_json_text(_plan(self._walk)),)
            case Role.OUTPUTTER:
                parts = (_json_text({"answer": _proposed(request), "cited_steps": []}),)
            case _:
                raise ModelRejected(f"a walk has no {request.role.value}")
        message = Message(role="model", parts=parts)
        raw = message.model_dump_json().encode()
        return ModelReply(message=message, provider="walk", model="walk", offline=True, raw=raw)

    def _operate(self, screen: str) -> tuple[Part, ...]:
        number = int(_found(r'^page "Record (\d+) of ', screen))
        reference = _found(rf'\] text "({LABELS[0][:2].upper()}-\d+)"', screen)
        calls: list[Part] = [Text(text=f"Record {number} is open; its reference is {reference}.")]
        if number >= self._walk.screens:
            calls.append(Call(id="1", name="update_plan", args={"done": [1]}))
            answer = f"The reference of record {number} is {reference}."
            return (*calls, Call(id="2", name="finish", args={"answer": answer}))
        if number % REMEMBER_EVERY == 0:
            value = {"key": f"record {number}", "value": reference}
            calls.append(Call(id="1", name="remember", args={"values": [value]}))
        element = int(_found(r'^\[(\d+)\] button "Next"', screen))
        return (*calls, Call(id="2", name="tap", args={"element": element}))


@lru_cache(maxsize=64)
def ui_source(walk: Walk, number: int) -> str:
    """The screen as UiAutomator2 would dump it."""
    nodes = [
        _node("TextView", walk.title(number), Bounds(left=60, top=100, right=1020, bottom=200))
    ]
    for place, row in enumerate(walk.rows(number)):
        top = _ROW_TOP + place * _ROW_HEIGHT
        box = Bounds(left=0, top=top, right=WINDOW.width, bottom=top + _ROW_HEIGHT)
        half = WINDOW.width // 2
        nodes += [
            _node("LinearLayout", "", box, closed=False),
            _node("TextView", row.label, box.model_copy(update={"left": 60, "right": half})),
            _node("TextView", row.value, box.model_copy(update={"left": half, "right": 1020})),
            "</node>",
        ]
    nodes += [_node("Button", "Back", _BACK), _node("Button", "Next", _NEXT)]
    screen = _node("FrameLayout", "", Bounds(left=0, top=0, right=1080, bottom=2400), closed=False)
    return f'<hierarchy rotation="0">{screen}{"".join(nodes)}</node></hierarchy>'


@lru_cache(maxsize=8)
def screenshot(walk: Walk, number: int) -> Screenshot:
    """The screen as a PNG of the phone's size."""
    image = Image.new("RGB", (WINDOW.width, WINDOW.height), (250, 250, 252))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, WINDOW.width, 220), fill=(38, 70, 83))
    draw.text((60, 110), walk.title(number), fill="white", font_size=56)
    for place, row in enumerate(walk.rows(number)):
        top = _ROW_TOP + place * _ROW_HEIGHT
        draw.text((60, top + 30), row.label, fill=(90, 90, 100), font_size=36)
        draw.text((WINDOW.width // 2, top + 30), row.value, fill=(20, 20, 30), font_size=36)
        draw.line((60, top + 98, 1020, top + 98), fill=(220, 220, 226), width=2)
    for label, box in (("Back", _BACK), ("Next", _NEXT)):
        corners = (box.left, box.top, box.right, box.bottom)
        draw.rounded_rectangle(corners, radius=40, fill=(42, 157, 143))
        draw.text((box.left + 170, box.top + 45), label, fill="white", font_size=44)
    stream = io.BytesIO()
    image.save(stream, "PNG", compress_level=1)
    return Screenshot(data=stream.getvalue(), width=WINDOW.width, height=WINDOW.height)


def _node(kind: str, text: str, box: Bounds, *, closed: bool = True) -> str:
    button = "true" if kind == "Button" else "false"
    return (
        f'<node class="android.widget.{kind}" package="{PACKAGE}" text={quoteattr(text)} '
        'resource-id="" content-desc="" checkable="false" checked="false" enabled="true" '
        f'clickable="{button}" focusable="{button}" focused="false" scrollable="false" '
        f'password="false" selected="false" displayed="true" '
        f'bounds="[{box.left},{box.top}][{box.right},{box.bottom}]"{"/" if closed else ""}>'
    )


def _digits(seed: int, number: int, place: int) -> str:
    """Eight digits; the screen's own number among them keeps values of two screens apart."""
    drawn = hashlib.blake2b(f"{seed} {number} {place}".encode(), digest_size=4).digest()
    return f"{number:05d}{int.from_bytes(drawn, 'big') % 10_000:04d}"


def _hits(box: Bounds, point: Point) -> bool:
    return box.contains(point.x * WINDOW.width / NORMAL, point.y * WINDOW.height / NORMAL)


def _screen_text(request: ModelRequest) -> str:
    return next(m.text for m in reversed(request.messages) if "\n## Screen\n" in m.text)


def _proposed(request: ModelRequest) -> str:
    return _found(r"^# ANSWER\n(.*)$", request.messages[-1].text)


def _plan(walk: Walk) -> dict[str, object]:
    milestone = {"text": f"Reach {walk.title(walk.screens)}", "state": "active"}
    return {"milestones": [milestone], "checks": [], "reason": "one way leads there"}


def _json_text(value: object) -> Text:
    return Text(text=json.dumps(value))


def _found(pattern: str, text: str) -> str:
    match = _compiled(pattern).search(text)
    if match is None:
        raise ModelRejected(f"the request does not show {pattern}")
    return match.group(1)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
