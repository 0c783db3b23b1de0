"""Settings: one page template and one form address per page of the settings tree."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse

from app.devices.demo.phone import PhoneDep, clean, missing
from app.devices.demo.settings_rows import Action, Choice, Row, Stepper, Switch, TextEdit
from app.devices.demo.settings_tree import LEVEL_MAXIMUM, WIFI, settings_page
from app.devices.demo.state import PhoneState

router = APIRouter(prefix="/{device}/settings")
RADIOS = ("wifi", "mobile_data", "bluetooth", "hotspot")


@router.get("/{path:path}")
def show_page(phone: PhoneDep, path: str) -> HTMLResponse:
    page = settings_page(path, phone.state)
    if page is None:
        raise missing("settings page")
    parent = path.rpartition("/")[0]
    back = f"settings/{parent}" if path else None
    return phone.page("settings.html", page=page, path=path, back=back)


@router.post("/{path:path}")
def change_setting(
    phone: PhoneDep,
    path: str,
    row: Annotated[str, Form()],
    value: Annotated[str, Form()] = "",
) -> RedirectResponse:
    """`row` names a row of this very page, `value` what to do with it."""
    page = settings_page(path, phone.state)
    if page is None:
        raise missing("settings page")
    if not any(_answers(candidate, row, value) for candidate in page.rows()):
        raise missing("setting on this page")
    with phone.change() as state:
        _apply(state, path, row, value)
    return phone.go(f"settings/{path}")


def _answers(candidate: Row, row: str, value: str) -> bool:
    match candidate:
        case Choice(key=key, label=label):
            return key == row and label == value
        case Switch(key=key) | Stepper(key=key) | Action(key=key) | TextEdit(key=key):
            return key == row
        case _:
            return False


def _apply(state: PhoneState, path: str, row: str, value: str) -> None:
    if row in state.switches:
        _flip(state, row)
    elif row in state.choices:
        state.choices[row] = value
    elif row in state.levels:
        _step(state, row, value)
    else:
        _act(state, path, row, value)


def _flip(state: PhoneState, key: str) -> None:
    state.switches[key] = not state.switches[key]
    if key == "airplane" and state.switches[key]:
        state.switches.update(dict.fromkeys(RADIOS, False))


def _step(state: PhoneState, key: str, direction: str) -> None:
    change = 1 if direction == "up" else -1
    state.levels[key] = min(LEVEL_MAXIMUM[key], max(0, state.levels[key] + change))


def _act(state: PhoneState, path: str, name: str, value: str) -> None:
    match name:
        case "connect":
            state.switches["wifi"] = True
            state.wifi_network = path.removeprefix(WIFI + "/")
            state.toast = "Connected"
        case "disconnect":
            state.wifi_network = None
            state.toast = "Disconnected"
        case "clear_cache":
            state.cache_cleared = True
            state.toast = "Cache cleared"
        case "device_name":
            state.device_name = clean(value, 40) or state.device_name
            state.toast = "Device name saved"
