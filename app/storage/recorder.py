"""The Recorder of one task: turns what the agent reports into rows, events and artifacts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection

from app.domain.events import (
    ControlRequested,
    Event,
    StepDecided,
    StepFinished,
    StoredEvent,
    TurnStarted,
)
from app.domain.memory import SearchEntry
from app.domain.messages import Message
from app.domain.ports import Clock
from app.domain.screens import Observation
from app.domain.tasks import TaskHistory
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.history import load_history
from app.storage.pending import load_pending
from app.storage.rows import MESSAGES
from app.storage.types import clean_json
from app.storage.writing import append, artifact_refs

Bus = Callable[[StoredEvent], None]


class TaskRecorder:
    """Keeps what happens in one task; each `record` is one write transaction.

    An event is announced on the bus after its commit, exactly as it will be read again.
    """

    def __init__(
        self, db: Database, artifacts: FileArtifacts, task_id: str, bus: Bus, clock: Clock
    ) -> None:
        self._db = db
        self._artifacts = artifacts
        self._task_id = task_id
        self._bus = bus
        self._clock = clock
        self._linked: frozenset[str] = frozenset()

    async def record(self, *events: Event, index: Sequence[SearchEntry] = ()) -> None:
        """Raises Conflict when the task's state does not allow an event; nothing is written."""
        named = {ref.sha256 for ref in artifact_refs(events)}
        kept = [await self._by_reference(event) for event in events]
        named |= {ref.sha256 for ref in artifact_refs(tuple(kept))}
        linked, now = self._linked, self._clock.now()

        def write(connection: Connection) -> list[StoredEvent]:
            return append(
                self._db, connection, self._task_id, kept, now, index=index, linked=linked
            )

        def announce(stored: list[StoredEvent]) -> None:
            self._linked |= named
            self._artifacts.linked(named)
            for event in stored:
                self._bus(event)

        await self._db.write(write, announce)

    async def history(self) -> TaskHistory:
        return await load_history(self._db, self._artifacts, self._task_id)

    async def pending(self) -> tuple[ControlRequested, ...]:
        """What people asked for and no process answered yet."""
        return await load_pending(self._db, self._task_id)

    async def _by_reference(self, event: Event) -> Event:
        """The event with its element lists and messages in artifacts."""
        match event:
            case TurnStarted():
                return event.model_copy(
                    update={"observation": await self._without_elements(event.observation)}
                )
            case StepFinished(after=Observation() as after):
                return event.model_copy(update={"after": await self._without_elements(after)})
            case StepDecided():
                ref = event.messages_ref
                if ref is None and event.messages:
                    data = _messages_json(event.messages)
                    ref = await self._artifacts.put(data, "application/json")
                return event.model_copy(
                    update={
                        "observation": await self._without_elements(event.observation),
                        "messages_ref": ref,
                    }
                )
        return event

    async def _without_elements(self, observation: Observation) -> Observation:
        tree = observation.tree
        if not tree.elements:
            return observation
        ref = observation.tree_ref
        if ref is None:
            ref = await self._artifacts.put(tree.model_dump_json().encode(), "application/json")
        bare = tree.model_copy(update={"elements": ()})
        return observation.model_copy(update={"tree": bare, "tree_ref": ref})


def _messages_json(messages: tuple[Message, ...]) -> bytes:
    try:
        return MESSAGES.dump_json(messages)
    except PydanticSerializationError:
        # Tool arguments are any JSON, half characters included.
        data = clean_json(MESSAGES.dump_python(messages, mode="json"))
        return json.dumps(data, ensure_ascii=False).encode()
