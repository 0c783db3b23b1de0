"""Awkward but harmless pages: one that loads slowly, one that opens a new tab."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.devices.demo.phone import PhoneDep

router = APIRouter(prefix="/{device}")
SLOW_DELAY = 1.5  # seconds


@router.get("/slow/")
def show_slow_page(phone: PhoneDep) -> HTMLResponse:
    return phone.page("lab/slow.html")


@router.get("/slow/content")
async def load_slow_content(phone: PhoneDep) -> HTMLResponse:
    await asyncio.sleep(SLOW_DELAY)
    return HTMLResponse(await asyncio.to_thread(phone.render, "lab/slow_content.html"))


@router.get("/tabs/")
def show_tabs(phone: PhoneDep) -> HTMLResponse:
    return phone.page("lab/tabs.html")


@router.get("/tabs/offer")
def show_offer(phone: PhoneDep) -> HTMLResponse:
    return phone.page("lab/offer.html")
