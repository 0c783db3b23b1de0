"""Gemini through google-genai: one try of one model."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from pydantic import SecretStr

from app.domain.config import RoleModel
from app.domain.messages import ModelReply, ModelRequest
from app.errors import ConfigurationError, ModelTimeout
from app.llm.gemini_replies import PROVIDER, read_reply
from app.llm.provider import Try, TryFailed

if TYPE_CHECKING:
    from app.llm.gemini_wire import GeminiWire


class Gemini:
    """A provider. google-genai takes over a second to import, so the first call does it."""

    def __init__(self, key: SecretStr, *, base_url: str = "", api_version: str = "v1beta") -> None:
        if not key.get_secret_value():
            raise ConfigurationError(
                "There is no key for Gemini.", hint="Set GEMINI_API_KEY, or use the offline model."
            )
        self._key = key
        self._base_url = base_url
        self._api_version = api_version
        self._wire: GeminiWire | None = None
        self._building = asyncio.Lock()

    @property
    def name(self) -> str:
        return PROVIDER

    @property
    def offline(self) -> bool:
        return False

    @property
    def account(self) -> str:
        secret = f"{self._base_url} {self._key.get_secret_value()}"
        return hashlib.sha256(secret.encode()).hexdigest()[:16]

    def models(self, role: RoleModel) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (role.model, role.fallback) if name))

    async def generate(self, request: ModelRequest, attempt: Try) -> ModelReply:
        failure: TryFailed
        try:
            async with asyncio.timeout(attempt.timeout):
                wire = await self._ready()
                body, dropped = await wire.send(request, attempt)
            reply = read_reply(body, attempt.model)
        except TimeoutError:
            failure = TryFailed(
                ModelTimeout(f"No answer within {attempt.timeout:g} s."), retry=True
            )
        except TryFailed as failed:
            failure = failed
        else:
            return self._with_note(reply, dropped)
        # Outside the handlers, so that no SDK exception (it holds the headers) hangs on to it.
        failure.__context__ = failure.__cause__ = None
        raise failure

    async def close(self) -> None:
        if self._wire is not None:
            await self._wire.close()

    async def _ready(self) -> GeminiWire:
        async with self._building:
            if self._wire is None:
                self._wire = await asyncio.to_thread(self._build)
            return self._wire

    def _build(self) -> GeminiWire:
        from app.llm.gemini_wire import GeminiWire

        return GeminiWire(self._key, self._base_url, self._api_version)

    @staticmethod
    def _with_note(reply: ModelReply, dropped: int) -> ModelReply:
        if not dropped:
            return reply
        note = f"signature_dropped: {dropped} earlier calls of another model were sent as text"
        return reply.model_copy(update={"fallback": note})
