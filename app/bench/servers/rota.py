"""Whose turn it is: one arm at a time goes on, for a block of steps."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable

PATIENCE = 120.0
"""Seconds after which nobody is held back any more: an arm stands still in its turn."""


class Rota:
    """Arms take turns; the order is drawn anew every round, so that none always follows another."""

    def __init__(
        self,
        arms: Iterable[str],
        block: int,
        draw: random.Random,
        patience: float = PATIENCE,
    ) -> None:
        self._present = sorted(arms)
        self._block = block
        self._draw = draw
        self._patience = patience
        self._round: list[str] = []
        self._arrived: set[str] = set()
        self._turn = ""
        self._steps = 0
        self._moved = threading.Condition()
        self.broken = False
        """Somebody was let on out of turn; what was measured since may be mixed."""

    def step(self, arm: str) -> None:
        """An arm has come to its next step; returns when it may go on."""
        with self._moved:
            self._arrived.add(arm)
            self._steps += arm == self._turn
            begins = not self._turn and self._arrived.issuperset(self._present)
            if begins or self._steps >= self._block:
                self._pass_on()
            fine = self._moved.wait_for(lambda: self.broken or self._turn == arm, self._patience)
            if not fine or arm not in self._present:
                self.broken = True
                self._moved.notify_all()

    def leave(self, arm: str) -> None:
        """An arm is at its end."""
        with self._moved:
            if arm in self._present:
                self._present.remove(arm)
            if arm == self._turn or self._arrived.issuperset(self._present):
                self._pass_on()

    def _pass_on(self) -> None:
        self._round = [arm for arm in self._round if arm in self._present]
        if not self._round:
            self._round = self._draw.sample(self._present, len(self._present))
        self._turn = self._round.pop() if self._round else ""
        self._steps = 0
        self._moved.notify_all()
