"""Catalogue: a list of 500 rows that grows while it is scrolled, and a page for each row."""

from typing import NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.devices.demo.phone import Phone, PhoneDep, missing
from app.devices.demo.records import CatalogueRow

router = APIRouter(prefix="/{device}/catalogue")
BATCH = 50


class Batch(NamedTuple):
    rows: tuple[CatalogueRow, ...]
    next_start: int | None
    """Where the next batch begins; None after the last row."""


@router.get("/")
def show_list(phone: PhoneDep, upto: int = BATCH) -> HTMLResponse:
    shown = max(BATCH, upto)
    return phone.page("catalogue/list.html", batch=_batch(phone, 0, shown))


@router.get("/rows")
def show_rows(phone: PhoneDep, start: int = 0, stop: int = BATCH) -> HTMLResponse:
    """More rows for the list, for the page to fetch when it nears its end."""
    batch = _batch(phone, max(0, start), stop)
    return HTMLResponse(phone.render("catalogue/rows.html", batch=batch))


@router.get("/{number}")
def show_row(phone: PhoneDep, number: int) -> HTMLResponse:
    rows = phone.world.catalogue
    if not 1 <= number <= len(rows):
        raise missing("item")
    return phone.page("catalogue/detail.html", row=rows[number - 1])


def _batch(phone: Phone, start: int, stop: int) -> Batch:
    rows = phone.world.catalogue
    return Batch(rows[start:stop], stop if stop < len(rows) else None)
