"""What a row of docs/outcomes.md needs to happen: a scene, played through the whole agent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from app.domain.config import DeviceConfig
from app.domain.tasks import Task
from tests.integration.agent.house import House, android, answer, finish, plan, tap
from tests.stand_ins.appium_server import StandIn
from tests.stand_ins.gemini_server import Behaviour, GeminiServer


class Stage(NamedTuple):
    """Everything a scene may look at."""

    house: House
    server: GeminiServer
    phone: StandIn
    task_id: str

    def prompt(self, number: int) -> str:
        """The whole of the model's `number`-th request, as sent."""
        return json.dumps(self.server.requests[number].body, ensure_ascii=False)


Script = Callable[[], Sequence[Behaviour]]
OPERATOR = 1
"""Requests to the model begin with the planner's; this is the operator's first."""


def around(*middle: Behaviour) -> list[Behaviour]:
    """The planner's answer, what the scene is about, then a normal end."""
    return [plan(), *middle, finish(), answer()]


def normal() -> list[Behaviour]:
    return around(tap())


@dataclass(frozen=True)
class Scene:
    """One way to bring about one row."""

    script: Script = normal
    for_ever: Script | None = None
    """A script for the column `for ever`; used up, it is repeated from its second reply on."""
    prepare: Callable[[StandIn], None] = lambda phone: None
    for_ever_prepare: Callable[[StandIn], None] | None = None
    meanwhile: Callable[[Stage], Awaitable[None]] | None = None
    also: Callable[[Stage, Task], Awaitable[None]] | None = None
    device: Callable[[str], DeviceConfig] = android
    platform: Literal["android", "ios"] = "android"
    house: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    at: int = 1
    """The step that the columns verdict and step speak of."""
