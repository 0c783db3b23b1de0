"""What the gateway asks of a provider, and how a provider says that one try failed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from app.domain.config import RoleModel
from app.domain.messages import ModelReply, ModelRequest
from app.errors import ModelError


class Try(NamedTuple):
    """One try of one model, as the gateway wants it made."""

    model: str
    timeout: float
    """Seconds for this try."""
    thinking: str
    max_output_tokens: int
    calls_as_text: bool = False
    """Turn every earlier function call into text: its signature was refused."""


class TryFailed(Exception):
    """One try brought no reply; says what may mend it. Never leaves this package."""

    def __init__(
        self,
        error: ModelError,
        *,
        retry: bool = False,
        fallback: bool = False,
        delay: float | None = None,
    ) -> None:
        super().__init__(error.code)
        self.error = error
        self.retry = retry
        """The same model may answer a little later."""
        self.fallback = fallback
        """Another model may answer now."""
        self.delay = delay
        """Seconds the server asked to wait, if it said so."""


class Provider(Protocol):
    """Makes one try, without retries. Raises only TryFailed."""

    @property
    def name(self) -> str: ...

    @property
    def offline(self) -> bool: ...

    @property
    def account(self) -> str:
        """Endpoint and key as an opaque word, for what is counted per account."""
        ...

    def models(self, role: RoleModel) -> tuple[str, ...]:
        """The models that serve a role, in the order they are tried."""
        ...

    async def generate(self, request: ModelRequest, attempt: Try) -> ModelReply: ...

    async def close(self) -> None:
        """Frees connections; never raises."""
        ...
