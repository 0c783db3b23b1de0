"""Closes ranges of steps as chunks, from recorded facts alone: the same steps, the same chunks.

The plan has no part in a chunk's identity. Its subgoal hash, as stamped on executed steps, may
hint where to close an open one, and only once two steps in a row carry the new hash: an edit
that is rolled back leaves no boundary.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from app.domain.actions import Verdict
from app.domain.screens import Observation
from app.domain.summaries import Boundary, HistoryChunk
from app.domain.tasks import StepRecord
from app.memory.ledger import step_line
from app.memory.tokens import count_text

MAX_STEPS = 12
MAX_TOKENS = 1_800
"""Of source: each step's summary if it is ready, else its mechanical line."""
SOFT: Mapping[Boundary, int] = {
    Boundary.GOAL: 1,
    Boundary.EFFECT: 1,
    Boundary.RECOVERY: 3,
    Boundary.RESULT: 3,
    Boundary.PAUSE: 3,
    Boundary.APP: 4,
    Boundary.STRATEGY: 4,
    Boundary.MILESTONE: 4,
}
"""Steps that a chunk must have for a boundary to close it; a shorter one goes on."""
PAUSE_SECONDS = 120.0
"""Task time between the starts of two steps that counts as a long pause."""
FRUITLESS = 2
"""Steps in a row without effect after which another kind of action is another strategy."""
SETTLED = 2
"""Steps in a row that must carry another subgoal's hash for it to count."""
RESULT_TOOLS = frozenset({"ask_user", "shell"})
"""In-turn tools whose answers come from outside the phone's screen."""


class _Step(NamedTuple):
    """What of a step decides where a chunk ends."""

    number: int
    step_id: str
    offset: float
    app: str
    kind: str
    fruitless: bool
    line_tokens: int


class Chunker:
    """Takes finished steps in order and says which ranges they close."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._open: list[_Step] = []
        self._last = 0
        self._traced = 0
        self._subgoal = ""
        """The subgoal that was carried by enough steps in a row."""
        self._run = ("", 0)
        """The newest subgoal, and by how many steps in a row."""

    @property
    def open_from(self) -> int:
        """First step of the open chunk; the next step's number while it is empty."""
        return self._open[0].number if self._open else self._last + 1

    def resume(self, chunks: list[HistoryChunk]) -> None:
        """Goes on behind chunks that were closed before."""
        if chunks:
            self._last = chunks[-1].end_step

    def feed(
        self,
        step: StepRecord,
        summaries: Mapping[int, str],
        *,
        instructed: bool = False,
        again: bool = False,
    ) -> tuple[HistoryChunk, ...]:
        """The chunks that end with this step or right before it; a step seen before closes none.

        `instructed`: a person said something that this step was the first to hear.
        `again`: a former process finished it. Its tokens were counted then, with the summaries
        that were ready then, and closed nothing.
        """
        settled = self._trace(step)
        if step.step_number <= self._last:
            return ()
        self._last = step.step_number
        taken = _taken(step)
        closed = [self._before(taken, instructed, settled=settled)]
        self._open.append(taken)
        closed += [self._after(step, None if again else summaries)]
        return tuple(chunk for chunk in closed if chunk is not None)

    def _trace(self, step: StepRecord) -> bool:
        """Whether with this step another subgoal has come to stay."""
        if step.step_number <= self._traced or not step.subgoal_hash:
            return False
        self._traced = step.step_number
        newest, count = self._run
        self._run = (step.subgoal_hash, count + 1 if newest == step.subgoal_hash else 1)
        if self._run[1] < SETTLED or step.subgoal_hash == self._subgoal:
            return False
        before, self._subgoal = self._subgoal, step.subgoal_hash
        return bool(before)

    def _before(self, step: _Step, instructed: bool, *, settled: bool) -> HistoryChunk | None:
        """A boundary between the open steps and this one, or before the last open one."""
        if not self._open:
            return None
        last = self._open[-1]
        found = (
            (Boundary.GOAL, instructed),
            (Boundary.APP, bool(step.app and last.app and step.app != last.app)),
            (Boundary.PAUSE, step.offset - last.offset >= PAUSE_SECONDS),
            (Boundary.STRATEGY, self._other_strategy(step)),
        )
        for boundary, there in found:
            if there and len(self._open) >= SOFT[boundary]:
                return self._close(boundary, len(self._open))
        length = len(self._open) - (SETTLED - 1)
        if settled and length >= SOFT[Boundary.MILESTONE]:
            return self._close(Boundary.MILESTONE, length)
        return None

    def _after(self, step: StepRecord, summaries: Mapping[int, str] | None) -> HistoryChunk | None:
        """A boundary that this step itself makes."""
        effect = step.irreversible and step.verdict is not Verdict.BLOCKED
        found = (
            (Boundary.EFFECT, effect),
            (Boundary.RECOVERY, bool(step.recoveries)),
            (Boundary.RESULT, bool(RESULT_TOOLS.intersection(step.tools))),
        )
        for boundary, there in found:
            if there and len(self._open) >= SOFT[boundary]:
                return self._close(boundary, len(self._open))
        if len(self._open) >= MAX_STEPS:
            return self._close(Boundary.STEPS, len(self._open))
        if summaries is None:
            return None
        tokens = sum(_source_tokens(s, summaries) for s in self._open)
        return self._close(Boundary.TOKENS, len(self._open)) if tokens >= MAX_TOKENS else None

    def _other_strategy(self, step: _Step) -> bool:
        tried = self._open[-FRUITLESS:]
        kinds = {s.kind for s in tried}
        stuck = len(tried) == FRUITLESS and all(s.fruitless for s in tried)
        return stuck and len(kinds) == 1 and step.kind not in kinds

    def _close(self, boundary: Boundary, length: int) -> HistoryChunk:
        steps, self._open = self._open[:length], self._open[length:]
        first, last = steps[0], steps[-1]
        return HistoryChunk(
            chunk_id=chunk_id(self._session_id, first.number, last.number),
            session_id=self._session_id,
            start_step=first.number,
            end_step=last.number,
            start_step_id=first.step_id,
            end_step_id=last.step_id,
            source_step_ids=tuple(s.step_id for s in steps),
            boundary=boundary,
        )


def chunk_id(session_id: str, start: int, end: int) -> str:
    """A chunk's name follows from its range."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{start}-{end}"))


def _taken(step: StepRecord) -> _Step:
    return _Step(
        number=step.step_number,
        step_id=step.step_id,
        offset=step.offset,
        app=_app(step.observation),
        kind=step.action.type if step.action is not None else "",
        fruitless=step.verdict is not Verdict.EXECUTED,
        line_tokens=count_text(step_line(step)),
    )


def _app(seen: Observation) -> str:
    """What counts as one app: a package, or a site and the first part of its path."""
    if seen.package or not seen.url:
        return seen.package
    try:
        url = urlsplit(seen.url)
    except ValueError:
        return seen.url
    return f"{url.scheme}://{url.netloc}/{url.path.strip('/').split('/')[0]}"


def _source_tokens(step: _Step, summaries: Mapping[int, str]) -> int:
    summary = summaries.get(step.number)
    return count_text(summary) if summary is not None else step.line_tokens
