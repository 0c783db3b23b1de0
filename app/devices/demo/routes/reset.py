"""Puts a phone back to the world of a seed; asked by a task's start, not by the phone's pages."""

import secrets
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from app.devices.demo.phone import PhoneDep
from app.devices.demo.world import DEFAULT_SEED

router = APIRouter()


class ResetRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**31)


class ResetReceipt(BaseModel):
    device: str
    seed: int


@router.post("/{device}/reset")
def reset_phone(
    phone: PhoneDep,
    request: Request,
    wanted: ResetRequest,
    x_demo_token: Annotated[str, Header()] = "",
) -> ResetReceipt:
    token: str = request.app.state.token
    if not secrets.compare_digest(x_demo_token.encode(), token.encode()):
        raise HTTPException(status_code=403, detail="A reset needs the phone's token.")
    phone.phones.store.reset(phone.device, wanted.seed)
    return ResetReceipt(device=phone.device, seed=wanted.seed)
