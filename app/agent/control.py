"""What people ask of a running task, as the task sees it.

The service writes here, the runner reads at the places where a turn may be changed. All
calls come from one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from app.domain.events import ControlRequested


class Injected(NamedTuple):
    """Something a person said, not yet applied."""

    receipt_id: str
    text: str


class Reply(NamedTuple):
    """A person's answer to a question, or decision on an approval."""

    receipt_id: str
    text: str
    approved: bool | None
    by: str


class Control:
    """Pause, cancel, instructions and answers of one running task."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.receipts: dict[str, list[str]] = {"pause": [], "resume": [], "look": [], "cancel": []}
        """Receipt ids not yet answered, by control."""
        self.paused = False
        self.open_question: tuple[str, str] | None = None
        """Id and kind of the question a person is asked now."""
        self._instructions: deque[Injected] = deque()
        self._replies: dict[str, Reply] = {}
        self._changed = asyncio.Event()
        self._known: set[str] = set()

    # --- for the service ------------------------------------------------------------------

    def cancel(self, receipt_id: str) -> None:
        if self._knows(receipt_id):
            return
        self.receipts["cancel"].append(receipt_id)
        self.cancelled.set()
        self._changed.set()

    def pause(self, receipt_id: str) -> None:
        if self._knows(receipt_id):
            return
        self.paused = True
        self.receipts["pause"].append(receipt_id)
        self._changed.set()

    def resume(self, receipt_id: str) -> None:
        if self._knows(receipt_id):
            return
        self.paused = False
        self.receipts["resume"].append(receipt_id)
        self._changed.set()

    def inject(self, receipt_id: str, text: str) -> None:
        if self._knows(receipt_id):
            return
        self._instructions.append(Injected(receipt_id, text))
        self._changed.set()

    def look(self, receipt_id: str) -> None:
        if self._knows(receipt_id):
            return
        self.receipts["look"].append(receipt_id)
        self._changed.set()

    def reply(self, question_id: str, reply: Reply) -> None:
        self._replies[question_id] = reply
        self._changed.set()

    def ask_again(self, asked: ControlRequested) -> bool:
        """Takes what a process that died was asked; false for an answer: its question is gone."""
        match asked.control:
            case "pause":
                self.pause(asked.receipt_id)
            case "resume":
                self.resume(asked.receipt_id)
            case "look":
                self.look(asked.receipt_id)
            case "cancel":
                self.cancel(asked.receipt_id)
            case "inject":
                self.inject(asked.receipt_id, asked.text)
            case "answer" | "approve" | "deny":
                return False
        return True

    def _knows(self, receipt_id: str) -> bool:
        """A request is stored before it is delivered, so a starting task may be told twice."""
        known = receipt_id in self._known
        self._known.add(receipt_id)
        return known

    # --- for the runner -------------------------------------------------------------------

    def take_instructions(self) -> tuple[Injected, ...]:
        taken = tuple(self._instructions)
        self._instructions.clear()
        return taken

    def take_receipts(self, control: str) -> tuple[str, ...]:
        taken = tuple(self.receipts[control])
        self.receipts[control].clear()
        return taken

    def take_replies(self) -> tuple[Reply, ...]:
        """Answers that no question waits for any more."""
        taken = tuple(self._replies.values())
        self._replies.clear()
        return taken

    def take_reply(self, question_id: str) -> Reply | None:
        return self._replies.pop(question_id, None)

    async def wait_change(self, seconds: float) -> None:
        """Returns when something was asked, or after that many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()
