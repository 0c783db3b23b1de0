"""Tells when the present screen was seen before, locally and without a picture.

Screens are found by hash, so that a hint costs the same at step 10,000 as at step 50.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from app.domain.screens import Observation

NEAR = 4
"""Bits in which two screenshot hashes may differ and still count as the same picture."""
QUIET_STEPS = 3
"""No hint while one of this many last steps already shows the screen."""
LOOKED_AT = 64
"""Newest screens under one key that are compared closely."""
_BANDS = NEAR + 1
"""Two hashes that differ in NEAR bits at most are equal in one of so many parts."""
_BAND_BITS = 13

Key = tuple[str, str]
"""An app, and a signature or one part of a hash."""


class Seen(NamedTuple):
    """What is kept of one step's screen."""

    step_number: int
    app: str
    signature: str
    dhash: int | None


class ScreenHistory:
    """Remembers the screens of a task by hash."""

    def __init__(self) -> None:
        self._recent: list[Seen] = []
        self._by_key: dict[Key, list[Seen]] = defaultdict(list)

    def add(self, step_number: int, observation: Observation) -> None:
        seen = _seen(step_number, observation)
        self._recent = [*self._recent, seen][-QUIET_STEPS:]
        for key in (*_signature_key(seen), *_hash_keys(seen)):
            self._by_key[key].append(seen)

    def hint(self, observation: Observation, *, polling: bool = False) -> str:
        """One line naming the newest earlier step with this screen, or nothing.

        Silent in a polling loop, which looks at the same screen on purpose.
        """
        now = _seen(0, observation)
        if polling or any(_same(seen, now) for seen in self._recent):
            return ""
        found = max(self._like(now), default=0)
        if not found:
            return ""
        return (
            f"The screen closely resembles the one of step {found}. "
            "Use recall_history only if its details are needed."
        )

    def _like(self, now: Seen) -> Iterator[int]:
        """The newest step of each key that shows this screen."""
        keys: Iterable[Key] = _signature_key(now) or _hash_keys(now)
        if now.dhash is not None:
            # A screen that was seen without its structure is found by its picture alone.
            keys = (*keys, *_hash_keys(now))
        for key in keys:
            for seen in self._by_key.get(key, ())[: -LOOKED_AT - 1 : -1]:
                if _same(seen, now):
                    yield seen.step_number
                    break


def _seen(step_number: int, observation: Observation) -> Seen:
    dhash = int(observation.dhash, 16) if observation.dhash else None
    return Seen(step_number, observation.app(), observation.signature, dhash)


def _signature_key(seen: Seen) -> tuple[Key, ...]:
    return ((seen.app, f"s{seen.signature}"),) if seen.signature else ()


def _hash_keys(seen: Seen) -> tuple[Key, ...]:
    if seen.dhash is None:
        return ()
    parts = (seen.dhash >> (_BAND_BITS * i) & (1 << _BAND_BITS) - 1 for i in range(_BANDS))
    return tuple((seen.app, f"{i}:{part:x}") for i, part in enumerate(parts))


def _same(seen: Seen, now: Seen) -> bool:
    if seen.app != now.app:
        return False
    if seen.signature and now.signature and seen.signature != now.signature:
        return False
    if seen.dhash is None or now.dhash is None:
        return bool(seen.signature) and seen.signature == now.signature
    return (seen.dhash ^ now.dhash).bit_count() <= NEAR
