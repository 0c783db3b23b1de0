"""Dialogs: native alert, confirm and prompt, a modal, a sheet, a toast, a permission question."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse

from app.devices.demo.phone import PhoneDep, clean

router = APIRouter(prefix="/{device}/dialogs")
FormText = Annotated[str, Form()]


@router.get("/")
def show_dialogs(phone: PhoneDep) -> HTMLResponse:
    return phone.page("dialogs/index.html")


@router.post("/")
def record_result(phone: PhoneDep, result: FormText = "") -> RedirectResponse:
    with phone.change() as state:
        state.dialog_result = clean(result, 120) or "empty"
    return phone.go("dialogs/")


@router.post("/toast")
def show_toast(phone: PhoneDep) -> RedirectResponse:
    with phone.change() as state:
        state.toast = f"Toast code: {state.world.lab.toast}"
    return phone.go("dialogs/")


@router.get("/permission")
def ask_permission(phone: PhoneDep) -> HTMLResponse:
    """The page below the question stays inert until it is answered."""
    return phone.page("dialogs/permission.html")


@router.post("/permission")
def answer_permission(phone: PhoneDep, answer: FormText = "") -> RedirectResponse:
    with phone.change() as state:
        state.location_permission = "allowed" if answer == "allow" else "denied"
    return phone.go("dialogs/permission")


@router.post("/permission/forget")
def forget_permission(phone: PhoneDep) -> RedirectResponse:
    with phone.change() as state:
        state.location_permission = "not asked"
    return phone.go("dialogs/")
