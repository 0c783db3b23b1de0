"""Counts calls, tokens and money per role."""

from __future__ import annotations

from app.domain.messages import ModelReply, Role, Usage
from app.domain.values import Value


class Totals(Value):
    """What one role has used so far."""

    calls: int = 0
    failed: int = 0
    """Calls that ended without a reply."""
    attempts: int = 0
    fallbacks: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    unpriced_calls: int = 0


class Meter:
    """Totals of one gateway."""

    def __init__(self) -> None:
        self._totals: dict[Role, Totals] = {}

    def of(self, role: Role) -> Totals:
        return self._totals.get(role, Totals())

    @property
    def roles(self) -> dict[Role, Totals]:
        return dict(self._totals)

    def count(self, role: Role, reply: ModelReply) -> None:
        old = self.of(role)
        self._totals[role] = Totals(
            calls=old.calls + 1,
            failed=old.failed,
            attempts=old.attempts + len(reply.attempts),
            fallbacks=old.fallbacks + bool(reply.fallback),
            usage=old.usage + reply.usage,
            cost_usd=old.cost_usd + (reply.cost_usd or 0.0),
            unpriced_calls=old.unpriced_calls + (reply.cost_usd is None),
        )

    def count_failure(self, role: Role, attempts: int) -> None:
        old = self.of(role)
        self._totals[role] = old.model_copy(
            update={
                "calls": old.calls + 1,
                "failed": old.failed + 1,
                "attempts": old.attempts + attempts,
            }
        )
