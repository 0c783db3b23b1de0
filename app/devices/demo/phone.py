"""One request's view of one phone: its state, its pages, its redirects."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.devices.demo.icons import ICONS
from app.devices.demo.money import money
from app.devices.demo.state import PhoneState, StateStore
from app.devices.demo.world import DemoWorld

DEVICE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
TEMPLATES = Path(__file__).parent / "templates"


def template_environment() -> Environment:
    """Every template escapes, whatever its name; a missing variable is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["money"] = money
    environment.globals["ICONS"] = ICONS
    return environment


@dataclass
class Phones:
    """What all requests share."""

    store: StateStore
    templates: Environment
    now: Callable[[], float]


@dataclass
class Phone:
    device: str
    phones: Phones

    @cached_property
    def state(self) -> PhoneState:
        """The state as this request first saw it; changes go through `change`."""
        return self.phones.store.read(self.device)

    @property
    def world(self) -> DemoWorld:
        return self.state.world

    def now(self) -> float:
        return self.phones.now()

    def change(self) -> AbstractContextManager[PhoneState]:
        return self.phones.store.change(self.device)

    def page(self, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
        """A whole screen. It shows a waiting toast and thereby uses it up."""
        toast = self.state.toast
        if toast:
            with self.change() as state:
                state.toast = ""
        return HTMLResponse(self.render(template, toast=toast, **values), status_code=status)

    def render(self, template: str, **values: object) -> str:
        return self.phones.templates.get_template(template).render(
            base=f"/{self.device}", state=self.state, world=self.world, **values
        )

    def go(self, path: str) -> RedirectResponse:
        """Send the browser to a screen after a form was handled."""
        return RedirectResponse(f"/{self.device}/{path}", status_code=303)


def open_phone(
    request: Request, device: Annotated[str, PathParameter(pattern=DEVICE_PATTERN)]
) -> Phone:
    phones: Phones = request.app.state.phones
    return Phone(device=device, phones=phones)


PhoneDep = Annotated[Phone, Depends(open_phone)]


def missing(what: str) -> HTTPException:
    return HTTPException(status_code=404, detail=f"There is no such {what}.")


def clean(text: str, limit: int) -> str:
    """A form value without surrounding space, unprintable characters or excess length."""
    kept = "".join(c for c in text.replace("\r\n", "\n") if c == "\n" or c.isprintable())
    return kept.strip()[:limit]
