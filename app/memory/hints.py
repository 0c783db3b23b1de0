"""Tells when the present screen was seen before, locally and without a picture."""

from __future__ import annotations

from typing import NamedTuple

from app.domain.screens import Observation

NEAR = 4
"""Bits in which two screenshot hashes may differ and still count as the same picture."""
QUIET_STEPS = 3
"""No hint while one of this many last steps already shows the screen."""


class Seen(NamedTuple):
    """What is kept of one step's screen."""

    step_number: int
    app: str
    signature: str
    dhash: str


class ScreenHistory:
    """Remembers the screens of a task by hash."""

    def __init__(self) -> None:
        self._seen: list[Seen] = []

    def add(self, step_number: int, observation: Observation) -> None:
        self._seen.append(
            Seen(step_number, observation.app(), observation.signature, observation.dhash)
        )

    def hint(self, observation: Observation) -> str:
        """One line naming the newest earlier step with this screen, or nothing."""
        if not observation.signature and not observation.dhash:
            return ""
        recent = self._seen[-QUIET_STEPS:]
        if any(_same(seen, observation) for seen in recent):
            return ""
        for seen in reversed(self._seen[:-QUIET_STEPS]):
            if _same(seen, observation):
                return (
                    f"The screen closely resembles the one of step {seen.step_number}. "
                    "Use recall_history only if its details are needed."
                )
        return ""


def _same(seen: Seen, observation: Observation) -> bool:
    if seen.app != observation.app():
        return False
    if seen.signature and observation.signature and seen.signature != observation.signature:
        return False
    if not seen.dhash or not observation.dhash:
        return bool(seen.signature) and seen.signature == observation.signature
    return (int(seen.dhash, 16) ^ int(observation.dhash, 16)).bit_count() <= NEAR
