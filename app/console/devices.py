"""Devices: list, add, edit, try with a real screenshot, retire."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.console.dependencies import DeviceName, QueriesDep, ServiceDep, TemplatesDep
from app.console.phrases import PLATFORM_WORDS
from app.domain.config import DeviceConfig, Platform
from app.errors import ArtemisError, InvalidInput, NotFound
from app.storage.queries import DeviceUse, Queries
from app.tasks.device_test import DeviceTest

MAX_KEPT_TESTS = 50


class Tested(NamedTuple):
    """The last test of a device; kept in memory only."""

    result: DeviceTest
    at: datetime

    @property
    def number(self) -> str:
        """Makes each test's picture an address of its own."""
        return str(int(self.at.timestamp() * 1000))


class DeviceForm(BaseModel):
    """The form as typed, so that a refused one comes back as it was."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(default="", max_length=200)
    platform: str = Field(default=Platform.ANDROID.value, max_length=40)
    server_url: str = Field(default="http://127.0.0.1:4723", max_length=1_000)
    capabilities: str = Field(default="", max_length=20_000)
    apps: str = Field(default="", max_length=20_000)
    home: str = Field(default="", max_length=2_000)
    replay_path: str = Field(default="", max_length=1_000)
    allowed_apps: str = Field(default="", max_length=5_000)
    shell: str = Field(default="", max_length=5)

    @classmethod
    def of(cls, device: DeviceConfig) -> DeviceForm:
        return cls(
            name=device.name,
            platform=device.platform.value,
            server_url=device.server_url,
            capabilities=json.dumps(device.capabilities, indent=2, ensure_ascii=False)
            if device.capabilities
            else "",
            apps="\n".join(f"{name} = {target}" for name, target in device.apps.items()),
            home=device.home,
            replay_path=device.replay_path,
            allowed_apps="\n".join(device.allowed_apps),
            shell="yes" if device.shell else "",
        )


def config_of(form: DeviceForm) -> DeviceConfig:
    """The device a form asks for; raises InvalidInput."""
    values: dict[str, Any] = form.model_dump(include={"name", "platform", "server_url", "home"})
    values["replay_path"] = form.replay_path
    values["shell"] = bool(form.shell)
    values["apps"] = _pairs(form.apps)
    values["allowed_apps"] = tuple(
        line.strip() for line in form.allowed_apps.split("\n") if line.strip()
    )
    try:
        values["capabilities"] = json.loads(form.capabilities) if form.capabilities.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The capabilities are not JSON: {error}") from None
    try:
        return DeviceConfig(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{where}: {first['msg']}") from None


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for line in text.split("\n"):
        if line.strip():
            name, equals, target = line.partition("=")
            if not equals or not name.strip() or not target.strip():
                raise InvalidInput(f"Each app is a line `name = target`; this is not: {line!r}")
            pairs[name.strip()] = target.strip()
    return pairs


def build_router() -> APIRouter:
    """The routes, with the last tests they remember."""
    router = APIRouter(prefix="/devices")
    tests: dict[str, Tested] = {}

    @router.get("")
    async def page(
        queries: QueriesDep,
        templates: TemplatesDep,
        edit: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        form = DeviceForm()
        if edit:
            form = DeviceForm.of((await _use(queries, edit)).device)
        return await _page(templates, queries, tests, form, edit=edit)

    @router.post("")
    async def save(
        queries: QueriesDep,
        service: ServiceDep,
        templates: TemplatesDep,
        form: Annotated[DeviceForm, Form()],
        edit: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        try:
            await service.add_device(config_of(form))
        except ArtemisError as error:
            return await _page(templates, queries, tests, form, edit=edit, problem=str(error))
        return RedirectResponse(f"/devices#device-{form.name}", 303)

    @router.post("/{name}/retire")
    async def retire(name: DeviceName, service: ServiceDep) -> Response:
        await service.retire_device(name)
        return RedirectResponse("/devices", 303)

    @router.post("/{name}/test")
    async def test(
        request: Request,
        name: DeviceName,
        queries: QueriesDep,
        service: ServiceDep,
        templates: TemplatesDep,
    ) -> Response:
        use = await _use(queries, name)
        result = await service.test_device(name)
        tests.pop(name, None)
        tests[name] = Tested(result, datetime.now(UTC))
        while len(tests) > MAX_KEPT_TESTS:
            del tests[next(iter(tests))]
        if "hx-request" not in request.headers:
            return RedirectResponse(f"/devices#device-{name}", 303)
        card = templates.macro("components/device.html", "device_card")
        return HTMLResponse(str(card(use, PLATFORM_WORDS[use.device.platform], tests[name])))

    @router.get("/{name}/test/screenshot")
    async def screenshot(name: DeviceName) -> Response:
        tested = tests.get(name)
        if tested is None or tested.result.screenshot is None:
            raise NotFound("There is no picture of this device.")
        return Response(tested.result.screenshot, media_type="image/png")

    return router


async def _use(queries: Queries, name: str) -> DeviceUse:
    for use in await queries.tasks.devices(retired=True):
        if use.device.name == name:
            return use
    raise NotFound(f"There is no device {name}.")


async def _page(
    templates: TemplatesDep,
    queries: QueriesDep,
    tests: dict[str, Tested],
    form: DeviceForm,
    *,
    edit: str,
    problem: str = "",
) -> Response:
    uses = await queries.tasks.devices(retired=True)
    return templates.page(
        "pages/devices.html",
        422 if problem else 200,
        here="devices",
        uses=[use for use in uses if not use.device.retired],
        retired=[use for use in uses if use.device.retired],
        platforms=PLATFORM_WORDS,
        tests=tests,
        form=form,
        edit=edit,
        problem=problem,
    )
