"""Devices: list, add, edit, retire, try."""

from __future__ import annotations

import base64
from typing import Annotated

from fastapi import APIRouter, Query

from app.api.dependencies import DeviceName, QueriesDep, ServiceDep
from app.api.schemas import DeviceAnswer, DeviceBody, DeviceTestAnswer

router = APIRouter(prefix="/devices", tags=["devices"])


@router.get("")
async def list_devices(
    queries: QueriesDep, retired: Annotated[bool, Query(description="Retired ones too.")] = False
) -> list[DeviceAnswer]:
    """All devices and the tasks that hold them."""
    return [DeviceAnswer.of(use) for use in await queries.tasks.devices(retired=retired)]


@router.put("/{name}")
async def put(
    name: DeviceName, body: DeviceBody, service: ServiceDep, queries: QueriesDep
) -> DeviceAnswer:
    """Adds a device or changes one."""
    await service.add_device(body.config(name))
    uses = await queries.tasks.devices(retired=True)
    return next(DeviceAnswer.of(use) for use in uses if use.device.name == name)


@router.delete("/{name}", status_code=204)
async def retire(name: DeviceName, service: ServiceDep) -> None:
    """Takes a device out of use; what it did stays."""
    await service.retire_device(name)


@router.post("/{name}/test")
async def test(name: DeviceName, service: ServiceDep) -> DeviceTestAnswer:
    """Opens a real session, takes a screenshot and closes it."""
    result = await service.test_device(name)
    shot = result.screenshot
    return DeviceTestAnswer(
        ok=result.ok,
        seconds=result.seconds,
        description=result.description,
        problem=result.problem,
        screenshot_base64=base64.b64encode(shot).decode() if shot else None,
    )
