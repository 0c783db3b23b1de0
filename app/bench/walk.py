"""A walk through numbered screens: a device, a model and a clock that keep the ports.

Everything follows from the seed, nothing waits, and the model decides from its request
alone. So what a run over the walk costs is what Artemis costs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from app.bench.drawing import BACK, NEXT, ROW_HEIGHT, ROW_TOP, WINDOW, Row, drawn
from app.domain.actions import NORMAL, Back, DeviceAction, Outcome, Point, Receipt, Tap
from app.domain.messages import Call, Message, ModelReply, ModelRequest, Part, Role, Text
from app.domain.screens import Bounds, DeviceView, Dialect, Screenshot, UiSource
from app.domain.tasks import Ability
from app.errors import AbilityMissing, ModelRejected

PACKAGE = "org.example.records"
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

_THOUGHTS = (
    " The last tap opened this screen as I expected, with the same rows in the same order as on "
    "the screens before it. No dialog and no error banner covers anything, and no row asks for a "
    "decision. The plan says to go on to the last record, so the next thing to do is to tap the "
    "button Next at the bottom. I look at the reference there again before I report anything."
)
"""What makes a step's words as many as a talkative model says."""

START = datetime(2026, 1, 1, tzinfo=UTC)


class Walk(NamedTuple):
    """A walk of so many screens."""

    screens: int
    seed: int = 1
    pictures: bool = False
    """With screenshots; without, the cost of picture work stays out."""
    scale: int = 1
    """Screenshots are so many times smaller than the screen."""
    wordy: bool = False
    """Long values, and a model that says about 420 characters a step."""

    @property
    def goal(self) -> str:
        return f"Open every record up to number {self.screens} and say its reference."

    def title(self, number: int) -> str:
        return f"Record {number} of {self.screens}"

    def rows(self, number: int) -> tuple[Row, ...]:
        """The label and value pairs of a screen; every value stands on one screen only."""
        return tuple(
            Row(label, self._value(label, _digits(self.seed, number, place)))
            for place, label in enumerate(LABELS)
        )

    def _value(self, label: str, digits: str) -> str:
        code = f"{label[:2].upper()}-{digits}"
        return f"{code}, {digits[-3:]} units, kept since {digits[-6:-4]}" if self.wordy else code


class WalkClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self._elapsed = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._elapsed)

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
            case Tap(target=target) if _hits(NEXT, target.point):
                self.number = min(self.number + 1, self._walk.screens)
            case Tap(target=target) if not _hits(BACK, target.point):
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
        message = self.answer(request)
        raw = message.model_dump_json().encode()
        return ModelReply(message=message, provider="walk", model="walk", offline=True, raw=raw)

    def answer(self, request: ModelRequest) -> Message:
        """The reply of one role."""
        match request.role:
            case Role.OPERATOR:
                parts = self._operate(_screen_text(request))
            case Role.PLANNER:
                parts = (_json_text(_plan(self._walk)),)
            case Role.OUTPUTTER:
                parts = (_json_text({"answer": _proposed(request), "cited_steps": []}),)
            case _:
                raise ModelRejected(f"a walk has no {request.role.value}")
        return Message(role="model", parts=parts)

    def _operate(self, screen: str) -> tuple[Part, ...]:
        number = int(_found(r'^(?:page|\[\d+\] text) "Record (\d+) of ', screen))
        reference = _found(rf'\] text "({LABELS[0][:2].upper()}-\d+)[",]', screen)
        said = f"Record {number} is open; its reference is {reference}."
        calls: list[Part] = [Text(text=said + (_THOUGHTS if self._walk.wordy else ""))]
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
        top = ROW_TOP + place * ROW_HEIGHT
        box = Bounds(left=0, top=top, right=WINDOW.width, bottom=top + ROW_HEIGHT)
        half = WINDOW.width // 2
        nodes += [
            _node("LinearLayout", "", box, closed=False),
            _node("TextView", row.label, box.model_copy(update={"left": 60, "right": half})),
            _node("TextView", row.value, box.model_copy(update={"left": half, "right": 1020})),
            "</node>",
        ]
    nodes += [_node("Button", "Back", BACK), _node("Button", "Next", NEXT)]
    screen = _node("FrameLayout", "", Bounds(left=0, top=0, right=1080, bottom=2400), closed=False)
    return f'<hierarchy rotation="0">{screen}{"".join(nodes)}</node></hierarchy>'


@lru_cache(maxsize=8)
def screenshot(walk: Walk, number: int) -> Screenshot:
    """The screen as a PNG, of the phone's size where the walk's scale is 1."""
    return drawn(walk.title(number), walk.rows(number), walk.scale)


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
