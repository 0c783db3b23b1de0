"""Account: sign in with the demo account, see the profile, sign out."""

import secrets
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.devices.demo.phone import PhoneDep, clean

router = APIRouter(prefix="/{device}/account")
FormText = Annotated[str, Form()]


@router.get("/")
def show_account(phone: PhoneDep) -> HTMLResponse:
    if phone.state.signed_in:
        return phone.page("account/profile.html", account=phone.world.account)
    return phone.page("account/login.html", user="", error="")


@router.post("/login")
def sign_in(phone: PhoneDep, user: FormText = "", password: FormText = "") -> Response:
    account = phone.world.account
    user_matches = clean(user, 80) == account.user_name
    password_matches = secrets.compare_digest(password.encode(), account.password.encode())
    if not (user_matches and password_matches):
        error = "Wrong user name or password."
        return phone.page("account/login.html", status=422, user=clean(user, 80), error=error)
    with phone.change() as state:
        state.signed_in = True
        state.toast = "Signed in"
    return phone.go("account/")


@router.get("/login")
def show_login() -> RedirectResponse:
    """A failed sign-in leaves its own address in the history; going back there must work."""
    return RedirectResponse("./", status_code=303)


@router.post("/logout")
def sign_out(phone: PhoneDep) -> RedirectResponse:
    with phone.change() as state:
        state.signed_in = False
        state.toast = "Signed out"
    return phone.go("account/")
