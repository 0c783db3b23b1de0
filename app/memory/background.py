"""Asks a background role for text: metered, within ceilings, pausing under pressure.

Everything it decides is an event, so that nobody wonders why summaries stay away. Whatever
happens here, the task goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Literal, NamedTuple

from app.domain.config import MemoryConfig
from app.domain.events import BackgroundChanged, Event, FallbackUsed, ModelCalled, TextRefused
from app.domain.messages import (
    Finish,
    Image,
    JsonObject,
    Message,
    ModelReply,
    ModelRequest,
    Role,
    Text,
)
from app.domain.ports import Artifacts, Clock, Model, Recorder
from app.domain.summaries import Refusal
from app.domain.tasks import ModelCallRecord, Spent, StepRecord
from app.errors import ModelError, ModelQuota

State = Literal["running", "lite", "paused", "stopped"]
LONGEST_PAUSE = 16
"""Times the first pause."""
BESIDE: ContextVar[bool] = ContextVar("beside", default=False)
"""Set within background work: whoever waits for a desk without it holds up something else."""
QUIET_CALLS = 5
"""Good answers in lite mode after which the full model is tried again."""
BUSY = "busy_lane:"
"""Begins what a reply says of itself when it was let in beside a busy operator."""
OUTPUT_TOKENS = {Role.SUMMARIZER: 2_048, Role.CHUNK_WRITER: 8_192}


async def nothing_read(step: StepRecord) -> str:
    """Where no picture is read."""
    return ""


class WriterPorts(NamedTuple):
    """The outside of background writing, handed in."""

    model: Model
    recorder: Recorder
    artifacts: Artifacts
    clock: Clock
    new_id: Callable[[], str]
    picture_text: Callable[[StepRecord], Awaitable[str]] = nothing_read
    """The words read from the pictures of a step, as far as they were read by now."""


class Question(NamedTuple):
    """What a background role is asked."""

    system: str
    text: str
    step_number: int
    images: tuple[Image, ...] = ()
    schema: JsonObject | None = None
    full: bool = False
    """Never by the lite model."""
    fallback: bool = False
    """By the fallback model alone."""


class Stopped(ModelError):
    """The ceiling of this background work is reached."""

    code = "background_ceiling"


class Desk:
    """One background role of one task."""

    def __init__(
        self,
        ports: WriterPorts,
        config: MemoryConfig,
        role: Role,
        kind: Literal["summaries", "chunks"],
        *,
        task_id: str = "",
        spent: Spent | None = None,
    ) -> None:
        self._ports = ports
        self._config = config
        self._role = role
        self._kind: Literal["summaries", "chunks"] = kind
        self._task_id = task_id
        self._closing = asyncio.Event()
        self._pause = config.background_pause
        self._until = 0.0
        self._good = 0
        self.spent = spent or Spent()
        self.state: State = "running"
        self.failures = 0
        """Calls in a row without an answer."""
        self.calls = 0
        self.waits = 0
        """Times that something else than background work waited here."""

    @property
    def lite(self) -> bool:
        """Whether the lite model is asked: by setting, or under pressure."""
        return self.state == "lite" or (self._config.summary_lite and self._kind == "summaries")

    @property
    def closed(self) -> bool:
        return self._closing.is_set() or self.state == "stopped"

    def close(self) -> None:
        """Nothing new is asked; a call under way may still answer."""
        self._closing.set()

    def entered(self) -> None:
        """Somebody is about to wait for this work."""
        self.waits += not BESIDE.get()

    async def opened(self) -> bool:
        """Waits for the end of a pause; false when nothing is to be asked any more."""
        self.entered()
        while self.state == "paused" and not self._closing.is_set():
            left = self._until - self._ports.clock.monotonic()
            if left <= 0:
                break
            await self._sleep(left)
        return not self.closed

    async def ask(self, question: Question) -> ModelReply:
        """One answer, recorded and counted. Raises ModelError; Stopped at the ceiling."""
        self.entered()
        await self._within_ceiling(question.step_number)
        request = ModelRequest(
            role=self._role,
            system=question.system,
            messages=(Message(role="user", parts=(Text(text=question.text), *question.images)),),
            response_schema=question.schema,
            max_output_tokens=OUTPUT_TOKENS[self._role],
            deadline=self._config.background_deadline,
            lite=self.lite and not question.full,
            only_fallback=question.fallback,
            task_id=self._task_id,
            step_number=question.step_number,
        )
        prompt = await self._ports.artifacts.put(
            request.model_dump_json().encode(), "application/json"
        )
        base = ModelCallRecord(
            call_id=self._ports.new_id(),
            role=self._role.value,
            step_number=question.step_number,
            prompt_ref=prompt,
        )
        began = self._ports.clock.monotonic()
        self.calls += 1
        try:
            reply = await self._ports.model.generate(request)
        except ModelError as error:
            seconds = self._ports.clock.monotonic() - began
            told = {
                "outcome": error.code,
                "detail": error.message[:500],
                "seconds": seconds,
                "attempts": error.attempts,
            }
            await self._count_failure(base.model_copy(update=told), error)
            raise
        await self._count(base, reply)
        return reply

    async def refused(
        self, question: Question, reply: ModelReply, refusals: Sequence[Refusal]
    ) -> None:
        """An answer was not taken: recorded with every rule that it broke."""
        await self._ports.recorder.record(
            TextRefused(
                kind=self._kind,
                step_number=question.step_number,
                model=reply.model,
                refusals=tuple(refusals),
            )
        )

    # --- counting -----------------------------------------------------------------------

    async def _within_ceiling(self, step_number: int) -> None:
        limits = self._config
        if self.spent.usage.total >= limits.background_tokens:
            reason = f"the ceiling of {limits.background_tokens:,} tokens is reached"
        elif self.spent.cost_usd >= limits.background_cost_usd:
            reason = f"the ceiling of ${limits.background_cost_usd:g} is reached"
        else:
            return
        if self.state != "stopped":
            await self._ports.recorder.record(self._moved("stopped", reason))
        raise Stopped(reason)

    async def _count(self, base: ModelCallRecord, reply: ModelReply) -> None:
        artifacts = self._ports.artifacts
        ref = await artifacts.put(reply.raw, "application/json") if reply.raw else None
        self.spent = Spent(
            usage=self.spent.usage + reply.usage,
            cost_usd=self.spent.cost_usd + (reply.cost_usd or 0.0),
        )
        call = base.model_copy(
            update={
                "provider": reply.provider,
                "model": reply.model,
                "offline": reply.offline,
                "outcome": "ok" if reply.finish is Finish.STOP else reply.finish.value,
                "detail": reply.finish_detail,
                "usage": reply.usage,
                "cost_usd": reply.cost_usd,
                "seconds": reply.seconds,
                "first_token_seconds": reply.first_token_seconds,
                "attempts": max(1, len(reply.attempts)),
                "fallback": reply.fallback,
                "reply_ref": ref,
            }
        )
        events: list[Event] = [ModelCalled(call=call)]
        if reply.fallback:
            busy = reply.fallback.startswith(BUSY) and "; " not in reply.fallback
            events.append(
                FallbackUsed(
                    kind=f"{self._kind}_{'busy_lane' if busy else 'model'}",
                    detail=reply.fallback[:500],
                    step_number=base.step_number,
                )
            )
        events += self._recovered()
        await self._ports.recorder.record(*events)

    def _recovered(self) -> Sequence[Event]:
        """An answer came: pauses end, and in time the full model gets another chance."""
        self.failures = 0
        self._good += 1
        if self.state == "paused":
            self._pause = self._config.background_pause
            self._good = 0
            return (self._moved("lite", "the model answers again; with the lite model at first"),)
        if self.state == "lite" and self._good >= QUIET_CALLS:
            return (self._moved("running", "the lite model's answers came without trouble"),)
        return ()

    async def _count_failure(self, call: ModelCallRecord, error: ModelError) -> None:
        self.failures += 1
        self._good = 0
        events: list[Event] = [ModelCalled(call=call)]
        quota = isinstance(error, ModelQuota)
        if quota and self.state == "running":
            events.append(self._moved("lite", f"quota pressure: {error.message[:200]}"))
        elif quota or self.state == "paused" or self.failures >= self._config.background_failures:
            events.append(self._paused(error))
        await self._ports.recorder.record(*events)

    def _paused(self, error: ModelError) -> BackgroundChanged:
        self._until = self._ports.clock.monotonic() + self._pause
        reason = f"paused for {self._pause:g} s after {self.failures} calls without an answer"
        longest = self._config.background_pause * LONGEST_PAUSE
        self._pause = min(2 * self._pause, longest)
        return self._moved("paused", f"{reason}: {error.message[:200]}")

    def _moved(self, state: State, reason: str) -> BackgroundChanged:
        self.state = state
        return BackgroundChanged(kind=self._kind, state=state, reason=reason)

    async def _sleep(self, seconds: float) -> None:
        sleeper = asyncio.ensure_future(self._ports.clock.sleep(seconds))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({sleeper, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            closing.cancel()
