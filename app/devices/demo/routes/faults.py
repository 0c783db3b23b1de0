"""Pages that break a device on purpose, so that what copes with them can be tested."""

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse

from app.devices.demo.phone import PhoneDep, missing

router = APIRouter(prefix="/{device}/faults")
PAGES = {"hang", "black", "alert"}


@router.get("/")
def list_faults(phone: PhoneDep) -> HTMLResponse:
    return phone.page("faults/index.html")


@router.get("/error")
def fail(phone: PhoneDep) -> HTMLResponse:
    raise HTTPException(status_code=503, detail="This page always fails.")


@router.get("/{name}")
def show_fault(phone: PhoneDep, name: str) -> HTMLResponse:
    if name not in PAGES:
        raise missing("fault")
    return phone.page(f"faults/{name}.html")
