"""Gauge: a value and buttons that exist only as pixels on a canvas."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from app.devices.demo.phone import PhoneDep

router = APIRouter(prefix="/{device}/gauge")
MAXIMUM = 999
STEPS = {"up": 10, "down": -10}


class Reading(BaseModel):
    value: int
    locked: bool


@router.get("/")
def show_gauge(phone: PhoneDep) -> HTMLResponse:
    return phone.page("gauge.html")


@router.get("/reading")
def read_gauge(phone: PhoneDep) -> Reading:
    """For the canvas script alone: the value never enters the document."""
    return Reading(value=phone.state.gauge, locked=phone.state.gauge_locked)


@router.post("/reading")
def turn_gauge(phone: PhoneDep, do: Annotated[str, Form()]) -> Reading:
    """`do` is up, down or lock; a locked gauge only unlocks."""
    with phone.change() as state:
        if do == "lock":
            state.gauge_locked = not state.gauge_locked
        elif not state.gauge_locked:
            state.gauge = min(MAXIMUM, max(0, state.gauge + STEPS.get(do, 0)))
        return Reading(value=state.gauge, locked=state.gauge_locked)
