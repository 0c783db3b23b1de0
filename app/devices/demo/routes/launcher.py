"""The home screen: a grid of apps."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.devices.demo.apps import ON_LAUNCHER
from app.devices.demo.phone import PhoneDep

router = APIRouter()


@router.get("/{device}/")
def show_launcher(phone: PhoneDep) -> HTMLResponse:
    return phone.page("launcher.html", apps=ON_LAUNCHER)
