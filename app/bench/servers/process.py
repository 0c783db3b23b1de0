"""The outside in a process of its own, so that its work is not charged to the agent's time.

`python -m app.bench.servers.process PLAN` serves every arm, says the addresses in one line, answers
each line it reads with what it has seen, and ends with its input.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from app.bench.servers.arms import Arm, ArmModel, PhoneHandler, Plan, Seen, WalkPhone
from app.bench.servers.gemini import GeminiHandler
from app.bench.servers.local import serving
from app.bench.servers.rota import Rota
from app.domain.values import Value
from app.errors import ArtemisError

COMMAND = (sys.executable, "-P", "-m", "app.bench.servers.process")
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
"""All that the process gets of the environment: no key."""
START_TIMEOUT = 60.0
ANSWER_TIMEOUT = 20.0
END_TIMEOUT = 10.0
MAX_LINE = 16 * 1024 * 1024
POLL = 0.1
"""Seconds between a server's looks for its end: a dozen servers would be a load of their own."""


class Addresses(Value):
    """Where an arm's phone and model are."""

    phone: str
    model: str


class Served(Value):
    """The first line."""

    arms: dict[Arm, Addresses]


class Report(Value):
    """What was seen so far."""

    arms: dict[Arm, Seen]
    mixed: bool
    """An arm stood still for so long that others were let on out of turn."""


class Outside:
    """`async with Outside(plan) as outside:` serves until the block ends."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._process: Process | None = None
        self.arms: dict[Arm, Addresses] = {}

    async def __aenter__(self) -> Self:
        environment = {k: v for k, v in os.environ.items() if k in INHERITED}
        command = (*COMMAND, self._plan.model_dump_json())
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, env=environment, limit=MAX_LINE
        )
        try:
            self.arms = Served.model_validate_json(await self._line(START_TIMEOUT)).arms
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    async def report(self) -> Report:
        """What the servers saw until now."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"\n")
        return Report.model_validate_json(await self._line(ANSWER_TIMEOUT))

    async def _line(self, seconds: float) -> bytes:
        if self._process is None or self._process.stdout is None:
            raise ArtemisError("the benchmark's servers are not running")
        try:
            async with asyncio.timeout(seconds):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise ArtemisError("the benchmark's servers do not answer") from None
        if not line:
            raise ArtemisError("the benchmark's servers ended")
        return line

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(END_TIMEOUT):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def main() -> None:
    """Serves until standard input ends."""
    plan = Plan.model_validate_json(sys.argv[1])
    rota = Rota(Arm, plan.block, random.Random(1))
    models: dict[Arm, ArmModel] = {}
    addresses: dict[Arm, Addresses] = {}
    with ExitStack() as stack:
        for arm in Arm:
            phone = WalkPhone(plan.walk)
            model = models[arm] = ArmModel(arm, plan, phone, rota)
            stack.callback(model.closing.set)
            ended = staticmethod(partial(rota.leave, arm))
            handlers = (
                type("Phone", (PhoneHandler,), {"phone": phone, "ended": ended}),
                type("Model", (GeminiHandler,), {"model": model}),
            )
            urls = [stack.enter_context(serving(handler, POLL)) for handler in handlers]
            addresses[arm] = Addresses(phone=urls[0], model=urls[1])
        _say(Served(arms=addresses))
        for _ in sys.stdin:
            _say(Report(arms={a: m.seen for a, m in models.items()}, mixed=rota.broken))


def _say(value: Value) -> None:
    sys.stdout.write(value.model_dump_json() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
