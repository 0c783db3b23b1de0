"""Clock: alarms, timer, stopwatch, world clock."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.devices.demo.phone import Phone, PhoneDep, clean, missing
from app.devices.demo.records import Alarm
from app.devices.demo.state import LIST_LIMIT, Stopwatch, Timer

router = APIRouter(prefix="/{device}/clock")
FormText = Annotated[str, Form()]
LONGEST_TIMER = 24 * 60 * 60  # seconds


@router.get("/")
def show_alarms(phone: PhoneDep) -> HTMLResponse:
    alarms = sorted(phone.state.alarms, key=lambda alarm: (alarm.hour, alarm.minute, alarm.id))
    return phone.page("clock/alarms.html", alarms=alarms)


@router.get("/alarms/new")
def new_alarm(phone: PhoneDep) -> HTMLResponse:
    return phone.page("clock/alarm_form.html", hour="", minute="", label="", error="")


@router.post("/alarms/new")
def add_alarm(
    phone: PhoneDep, hour: FormText = "", minute: FormText = "", label: FormText = ""
) -> Response:
    hours, minutes = _number(hour, 23), _number(minute, 59)
    full = len(phone.state.alarms) >= LIST_LIMIT
    if hours is None or minutes is None or full:
        error = "There are too many alarms." if full else "Hour is 0 to 23, minute is 0 to 59."
        return phone.page(
            "clock/alarm_form.html",
            status=422,
            hour=clean(hour, 4),
            minute=clean(minute, 4),
            label=clean(label, 60),
            error=error,
        )
    with phone.change() as state:
        alarm = Alarm(
            id=state.take_id("a"),
            hour=hours,
            minute=minutes,
            label=clean(label, 60) or "Alarm",
            on=True,
        )
        state.alarms.append(alarm)
        state.toast = f"Alarm set for {alarm.time}"
    return phone.go("clock/")


@router.post("/alarms/{alarm_id}")
def change_alarm(phone: PhoneDep, alarm_id: str, do: FormText = "toggle") -> RedirectResponse:
    """`do` is toggle or delete."""
    if all(alarm.id != alarm_id for alarm in phone.state.alarms):
        raise missing("alarm")
    with phone.change() as state:
        if do == "delete":
            state.alarms = [a for a in state.alarms if a.id != alarm_id]
            state.toast = "Alarm deleted"
        else:
            state.alarms = [
                a.model_copy(update={"on": not a.on}) if a.id == alarm_id else a
                for a in state.alarms
            ]
    return phone.go("clock/")


@router.get("/timer")
def show_timer(phone: PhoneDep) -> HTMLResponse:
    timer, now = phone.state.timer, phone.now()
    return phone.page(
        "clock/timer.html",
        phase=timer.phase(now),
        length=_clock_text(timer.length),
        remaining=_clock_text(timer.remaining(now)),
        remaining_ms=round(timer.remaining(now) * 1000),
    )


@router.post("/timer")
def change_timer(
    phone: PhoneDep, do: FormText, minutes: FormText = "", seconds: FormText = ""
) -> RedirectResponse:
    """`do` is start, pause, resume or cancel."""
    now = phone.now()
    with phone.change() as state:
        timer = state.timer
        if do == "start":
            length = 60 * (_number(minutes or "0", 1439) or 0) + (
                _number(seconds or "0", 3600) or 0
            )
            if 0 < length <= LONGEST_TIMER:
                state.timer = Timer(length=length, left=length, ends_at=now + length)
            else:
                state.toast = "Set a time first"
        elif do == "pause" and timer.phase(now) == "running":
            state.timer = Timer(length=timer.length, left=timer.remaining(now))
        elif do == "resume" and timer.phase(now) == "paused":
            state.timer = Timer(length=timer.length, left=timer.left, ends_at=now + timer.left)
        elif do == "cancel":
            state.timer = Timer()
    return phone.go("clock/timer")


@router.get("/stopwatch")
def show_stopwatch(phone: PhoneDep) -> HTMLResponse:
    watch, now = phone.state.stopwatch, phone.now()
    return phone.page(
        "clock/stopwatch.html",
        running=watch.started_at is not None,
        elapsed=_tenths_text(watch.elapsed(now)),
        elapsed_ms=round(watch.elapsed(now) * 1000),
        laps=[_tenths_text(lap) for lap in watch.laps],
    )


@router.post("/stopwatch")
def change_stopwatch(phone: PhoneDep, do: FormText) -> RedirectResponse:
    """`do` is start, stop, lap or reset."""
    now = phone.now()
    with phone.change() as state:
        watch = state.stopwatch
        if do == "start" and watch.started_at is None:
            watch.started_at = now
        elif do == "stop":
            state.stopwatch = Stopwatch(counted=watch.elapsed(now), laps=watch.laps)
        elif do == "lap" and watch.started_at is not None and len(watch.laps) < LIST_LIMIT:
            watch.laps.append(watch.elapsed(now))
        elif do == "reset":
            state.stopwatch = Stopwatch()
    return phone.go("clock/stopwatch")


@router.get("/world")
def show_world_clock(phone: PhoneDep) -> HTMLResponse:
    return phone.page("clock/world.html", cities=_city_times(phone))


def _city_times(phone: Phone) -> list[tuple[str, str]]:
    utc = datetime.fromtimestamp(phone.now(), UTC)
    return [
        (city.name, (utc + timedelta(minutes=city.offset_minutes)).strftime("%H:%M"))
        for city in phone.world.world_cities
    ]


def _number(text: str, maximum: int) -> int | None:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 5):
        return None
    return int(text) if int(text) <= maximum else None


def _clock_text(seconds: float) -> str:
    whole = -int(-seconds // 1)
    hours, rest = divmod(whole, 3600)
    start = f"{hours}:{rest // 60:02d}" if hours else f"{rest // 60}"
    return f"{start}:{rest % 60:02d}"


def _tenths_text(seconds: float) -> str:
    tenths = int(seconds * 10)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"
