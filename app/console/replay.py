"""What stood on the panels at one step: the memory of it, the belief, the plan, the notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.domain.events import NoteWritten
from app.domain.memory import RecallQuery, WorldState
from app.domain.plans import Check, Plan
from app.domain.tasks import Note, StepRecord
from app.errors import NotFound
from app.storage.queries import ChunkView, Queries, SummaryView
from app.tasks.service import TaskService

LEDGER_STEPS = 50
LEDGER_TOKENS = 20_000


class ChunkPanel(NamedTuple):
    """A chunk with its three bands."""

    view: ChunkView
    ledger: tuple[str, ...]
    """One mechanical line a step."""


class Replay(NamedTuple):
    """A task as it was when it decided a step, and what was made of that step later."""

    believed: WorldState | None
    """When it decided."""
    believed_after: WorldState | None
    plan: Plan | None
    checks: Sequence[Check]
    notes: Sequence[Note]
    summary: SummaryView | None
    chunk: ChunkPanel | None


async def read_replay(
    queries: Queries, service: TaskService, task_id: str, step: StepRecord
) -> Replay:
    """Everything of a step that is not in its own record."""
    number = step.step_number
    revisions = await queries.tasks.plan_revisions(task_id)
    earlier = [r.plan for r in revisions if r.plan.revision <= step.plan_revision]
    found = await queries.memory.chunk_of(task_id, number)
    return Replay(
        believed=await queries.steps.world(task_id, through=number - 1),
        believed_after=await queries.steps.world(task_id, through=number),
        plan=earlier[-1] if earlier else None,
        checks=[_as_of(check, number) for check in await queries.tasks.checks(task_id)],
        notes=await _notes(queries, task_id, number),
        summary=await summary_of(queries, task_id, number),
        chunk=await _with_ledger(service, task_id, found) if found else None,
    )


async def summary_of(queries: Queries, task_id: str, number: int) -> SummaryView | None:
    """A step's summary with all its versions; None where none was to be written."""
    try:
        return await queries.memory.summary(task_id, number)
    except NotFound:
        return None


async def chunk_panel(
    queries: Queries, service: TaskService, task_id: str, start: int
) -> ChunkPanel:
    """The chunk that begins at a step. Raises NotFound."""
    return await _with_ledger(service, task_id, await queries.memory.chunk(task_id, start))


async def _with_ledger(service: TaskService, task_id: str, found: ChunkView) -> ChunkPanel:
    steps = (found.chunk.start_step, found.chunk.end_step)
    asked = RecallQuery(step_range=steps, max_results=LEDGER_STEPS, max_tokens=LEDGER_TOKENS)
    lines = (await service.recall(task_id, asked)).results
    return ChunkPanel(found, tuple(line.excerpt for line in lines))


def _as_of(check: Check, number: int) -> Check:
    """A check that was closed later was open then."""
    later = check.closed_by_step is not None and check.closed_by_step > number
    return check.model_copy(update={"closed_by_step": None}) if later else check


async def _notes(queries: Queries, task_id: str, number: int) -> list[Note]:
    written = await queries.tasks.events_of_steps(task_id, ("note_written",), first=0, last=number)
    notes = {e.event.note.key: e.event.note for e in written if isinstance(e.event, NoteWritten)}
    return list(notes.values())
