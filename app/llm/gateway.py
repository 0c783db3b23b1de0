"""The one door to models: deadline, retries, fallback, metering, priority."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.domain.config import ModelsConfig, RoleModel, default_roles
from app.domain.events import ModelWaiting
from app.domain.messages import Attempt, ModelReply, ModelRequest, Role
from app.domain.ports import Clock
from app.errors import ModelError, ModelTimeout, SignatureMissing
from app.llm.lanes import BUSY_LANE, LaneKey, Lanes
from app.llm.metering import Meter
from app.llm.prices import PriceTable
from app.llm.provider import Provider, Try, TryFailed

OnWait = Callable[[ModelWaiting], Awaitable[None]]
"""Told before every wait, so that nobody stares at a silent screen."""

SERVER_DELAY_JITTER = 0.05
"""Share of a server-given delay that is added at random, so that callers do not return at once."""


@dataclass(slots=True)
class _Run:
    """One call on its way: what was tried so far and how long it may still take."""

    request: ModelRequest
    role: RoleModel
    provider: Provider
    ends: float
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Gateway:
    """Answers model requests by the provider that the configuration names."""

    def __init__(
        self,
        config: ModelsConfig,
        providers: Mapping[str, Provider],
        prices: PriceTable,
        *,
        clock: Clock,
        on_wait: OnWait,
        lanes: Lanes | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._config = config
        self._provider = providers[config.provider]
        self._providers = providers
        self._prices = prices
        self._clock = clock
        self._on_wait = on_wait
        self._lanes = lanes or Lanes()
        self._jitter = jitter
        self.meter = Meter()

    @property
    def offline(self) -> bool:
        return self._provider.offline

    async def generate(self, request: ModelRequest) -> ModelReply:
        seconds = min(request.deadline, self._config.deadline)
        role = self._config.roles.get(request.role) or default_roles()[request.role]
        started = self._clock.monotonic()
        provider = self._providers.get(own_provider(self._config, request.role), self._provider)
        run = _Run(request, _as_asked(role, request), provider, ends=started + seconds)
        error: ModelError
        try:
            async with asyncio.timeout(seconds):
                reply = await self._over_models(run)
        except TimeoutError:
            error = ModelTimeout(_sum_up(f"No answer within {seconds:g} s", run))
        except TryFailed as failed:
            error = type(failed.error)(_sum_up("", run), hint=failed.error.hint)
        else:
            return self._finished(run, reply, started)
        # Raised outside the handlers: a provider's exception may carry the request's headers.
        self.meter.count_failure(request.role, len(run.attempts))
        error.attempts = max(1, len(run.attempts))
        raise error

    async def _over_models(self, run: _Run) -> ModelReply:
        """Tries the role's model, then its fallback."""
        *first, last = run.provider.models(run.role)
        for model in first:
            try:
                return await self._one_model(run, model)
            except TryFailed as failed:
                run.failures.append(f"{model}: {failed.error.message}")
                if not (failed.retry or failed.fallback):
                    raise
                run.notes.append(f"model: {model} did not answer ({failed.error.code})")
        try:
            return await self._one_model(run, last)
        except TryFailed as failed:
            run.failures.append(f"{last}: {failed.error.message}")
            raise

    async def _one_model(self, run: _Run, model: str) -> ModelReply:
        """Tries one model until it answers, cannot answer, or its attempts are used up."""
        lane = LaneKey(run.provider.account, model)
        async with self._lanes.enter(lane, run.request.role) as pressed:
            if pressed:
                run.notes.append(f"{BUSY_LANE}: let in beside a busy operator")
            waited, tries, calls_as_text = 0.0, 0, False
            while True:
                tries += 1
                try:
                    return await self._try(run, model, waited, calls_as_text)
                except TryFailed as failed:
                    if isinstance(failed.error, SignatureMissing) and not calls_as_text:
                        calls_as_text, tries, waited = True, tries - 1, 0.0
                        run.notes.append("signature_dropped: earlier calls were sent as text")
                        continue
                    if not failed.retry or tries >= self._config.max_attempts:
                        raise
                    waited = self._delay(failed, tries)
                    if failed.delay is not None and failed.delay > self._config.max_retry_delay:
                        raise
                    if waited >= run.ends - self._clock.monotonic():
                        raise
                    await self._wait(run, model, failed, waited, tries + 1)

    async def _try(self, run: _Run, model: str, waited: float, calls_as_text: bool) -> ModelReply:
        started = self._clock.monotonic()
        request, role = run.request, run.role
        own_limit = "max_output_tokens" in request.model_fields_set
        attempt = Try(
            model=model,
            timeout=min(role.timeout, max(0.001, run.ends - started)),
            thinking=request.thinking or role.thinking,
            max_output_tokens=request.max_output_tokens if own_limit else role.max_output_tokens,
            calls_as_text=calls_as_text,
        )
        outcome, detail = "cancelled", ""
        try:
            reply = await run.provider.generate(request, attempt)
            outcome = "ok" if reply.finish == "stop" else reply.finish.value
            detail = reply.finish_detail
            return reply
        except TryFailed as failed:
            outcome, detail = failed.error.code, failed.error.message
            raise
        finally:
            seconds = self._clock.monotonic() - started
            run.attempts.append(
                Attempt(model=model, outcome=outcome, detail=detail, seconds=seconds, waited=waited)
            )

    def _delay(self, failed: TryFailed, tries: int) -> float:
        """The server's own delay, else exponential back-off between half and whole."""
        if failed.delay is not None:
            return failed.delay * (1 + SERVER_DELAY_JITTER * self._jitter())
        backoff = min(self._config.max_delay, self._config.first_delay * 2.0 ** (tries - 1))
        return backoff * (0.5 + 0.5 * self._jitter())

    async def _wait(
        self, run: _Run, model: str, failed: TryFailed, seconds: float, attempt: int
    ) -> None:
        await self._on_wait(
            ModelWaiting(
                role=run.request.role,
                model=model,
                reason=failed.error.message,
                seconds=round(seconds, 3),
                attempt=attempt,
                step_number=run.request.step_number,
            )
        )
        await self._clock.sleep(seconds)

    def _finished(self, run: _Run, reply: ModelReply, started: float) -> ModelReply:
        cost = 0.0 if reply.offline else None
        if cost is None:
            cost = self._prices.cost(reply.model, self._clock.now().date(), reply.usage)
        notes = [*run.notes, *([reply.fallback] if reply.fallback else [])]
        whole = reply.model_copy(
            update={
                "attempts": tuple(run.attempts),
                "seconds": self._clock.monotonic() - started,
                "cost_usd": cost,
                "fallback": "; ".join(dict.fromkeys(notes)),
            }
        )
        self.meter.count(run.request.role, whole)
        return whole


def own_provider(config: ModelsConfig, role: Role) -> str:
    """The name of a role's own provider, where it has an endpoint or a key of its own."""
    model = config.roles.get(role)
    own = model is not None and (model.gemini_api_key.get_secret_value() or model.gemini_base_url)
    return f"{config.provider}:{role.value}" if own and config.provider == "gemini" else ""


def _as_asked(role: RoleModel, request: ModelRequest) -> RoleModel:
    """The role's models as a background request wants them."""
    if request.only_fallback and role.fallback:
        return role.model_copy(update={"model": role.fallback, "fallback": ""})
    if request.lite and role.lite:
        return role.model_copy(update={"model": role.lite})
    return role


def _sum_up(start: str, run: _Run) -> str:
    """One readable line: what went wrong, model by model, after how many attempts."""
    told = [start, *run.failures]
    if not run.failures and run.attempts and run.attempts[-1].detail:
        told.append(f"{run.attempts[-1].model}: {run.attempts[-1].detail}")
    sentences = [part if part.endswith((".", "!", "?")) else f"{part}." for part in told if part]
    count = len(run.attempts)
    return f"{' '.join(sentences)} ({count} attempt{'' if count == 1 else 's'})"
