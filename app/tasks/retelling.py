"""Tells a recorded run as the events that a live run would have recorded."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import NamedTuple

from app.agent.perceiving import app_text, screen_text
from app.domain.actions import (
    Action,
    DoubleTap,
    LabelSource,
    LongPress,
    Outcome,
    Receipt,
    Tap,
    Target,
    Verdict,
    describe,
)
from app.domain.config import PerceptionConfig
from app.domain.events import (
    FallbackUsed,
    SessionOpened,
    StepDecided,
    StepFinished,
    TaskCreated,
    TaskStateChanged,
    ToolServed,
    TurnStarted,
)
from app.domain.memory import SearchEntry, TextKind
from app.domain.ports import Artifacts, Clock
from app.domain.screens import Observation
from app.domain.tasks import StepState, TaskSpec, TaskState
from app.perception.hit import hit_test, to_window
from app.storage.importing import Batch
from app.tasks.recorded import Line, RecordedRun, action_of, mapping_of
from app.tasks.recorded_screens import RecordedScreens

SHOWN = 2_000
"""Characters of a result kept in its rows; the whole of a longer one is an artifact."""


class Moment(NamedTuple):
    """When a step happened."""

    at: datetime
    offset: float


class Retelling:
    """One run being told; stores its pictures and trees as artifacts on the way."""

    def __init__(
        self, run: RecordedRun, artifacts: Artifacts, config: PerceptionConfig, clock: Clock
    ) -> None:
        self._run = run
        self._artifacts = artifacts
        self._screens = RecordedScreens(run, artifacts, config)
        self._clock = clock
        self._mapping = mapping_of(run)

    async def tell(self, device: str) -> list[Batch]:
        """Everything that happened, in order."""
        moments = self._moments()
        told = [self._beginning(device, moments[0])]
        for line, moment in zip(self._run.lines, moments, strict=True):
            told.append(await self._step(line, moment))
        told.append(self._end(moments[-1]))
        return told

    # --- the task -------------------------------------------------------------------------

    def _beginning(self, device: str, first: Moment) -> Batch:
        source = self._run.about.get("source")
        origin = source if isinstance(source, dict) else {}
        words = " ".join(str(origin[k]) for k in ("repo", "commit", "licence") if origin.get(k))
        return Batch(
            first.at,
            (
                TaskCreated(spec=TaskSpec(goal=self._run.goal, device=device)),
                TaskStateChanged(state=TaskState.RUNNING, previous=TaskState.QUEUED),
                SessionOpened(
                    device=device,
                    description=f"a recorded run, imported: {self._run.name} {words}".strip()[:500],
                ),
            ),
        )

    def _end(self, last: Moment) -> Batch:
        outcome = str(self._run.about.get("outcome") or "").strip()
        answer = str(self._run.about.get("final_answer") or "").strip()[:20_000]
        done = outcome.lower().startswith("success")
        state = TaskState.COMPLETED if done else TaskState.FAILED
        reason = f"recorded outcome: {outcome}" if outcome else "the recording names no outcome"
        step = len(self._run.lines)
        index = (SearchEntry(step_number=step, kind=TextKind.ANSWER, text=answer),)
        change = TaskStateChanged(
            state=state, previous=TaskState.RUNNING, reason=reason[:500], answer=answer
        )
        return Batch(last.at, (change,), index if answer else ())

    def _moments(self) -> list[Moment]:
        """Times never run backwards; where there are none, the offsets serve, or a second each."""
        lines = self._run.lines
        begin = next((n.timestamp for n in lines if n.timestamp is not None), self._clock.now())
        moments: list[Moment] = []
        for number, line in enumerate(lines):
            last = moments[-1] if moments else Moment(begin, 0.0)
            offset = line.t
            if offset is None and line.timestamp is not None:
                offset = (line.timestamp - begin).total_seconds()
            if offset is None:
                offset = last.offset + (1.0 if number else 0.0)
            offset = max(offset, last.offset)
            at = line.timestamp or begin + timedelta(seconds=offset)
            moments.append(Moment(max(at, last.at), offset))
        return moments

    # --- a step ---------------------------------------------------------------------------

    async def _step(self, line: Line, moment: Moment) -> Batch:
        shown = await self._screens.shown(line, moment.at)
        before = None if line.shows_result else shown
        after = shown if line.shows_result else None
        blind = before if before is not None else self._screens.unseen(line, moment.at)
        action = self._meant(action_of(line, self._mapping), before)
        text = describe(action) if action is not None else _other(line)
        step_id = str(uuid.uuid4())
        told = _verdict(line)
        decided = StepDecided(
            step_id=step_id,
            step_number=line.step,
            started_at=moment.at,
            offset=moment.offset,
            observation=blind.light(),
            action=action,
            action_text=text[:10_000],
            thinking=_thinking(line),
        )
        finished = StepFinished(
            step_id=step_id,
            step_number=line.step,
            state=StepState.DONE,
            receipt=_receipt(line, told),
            verdict=told,
            verdict_reason="as the recording says" if told is not Verdict.UNCERTAIN else "",
            after=after.light() if after is not None else None,
            ended_at=moment.at,
        )
        started = TurnStarted(step_number=line.step, observation=blind.light())
        events = (started, *await self._served(line), decided, finished)
        return Batch(moment.at, events, _index(line, text, shown))

    async def _served(self, line: Line) -> tuple[ToolServed | FallbackUsed, ...]:
        """A result too long for its row, whole."""
        if line.result is None or len(line.result) <= SHOWN:
            return ()
        ref = await self._artifacts.put(line.result.encode(errors="replace"), "text/plain")
        served = ToolServed(
            step_number=line.step,
            name=(line.action_type or "recorded")[:100],
            args={},
            result=line.result[:SHOWN],
            result_ref=ref,
        )
        return (served,)

    def _meant(self, action: Action | None, before: Observation | None) -> Action | None:
        """The action with the meaning of what it hit, where the screen before it is known."""
        if before is None or not isinstance(action, Tap | LongPress | DoubleTap):
            return action
        point = action.target.point
        hit = hit_test(before.tree, *to_window(point, before.window))
        if hit is None:
            return action
        target = Target(
            point=point,
            element=hit.index,
            text=hit.text,
            role=hit.role,
            resource_id=hit.resource_id,
            password=hit.password,
            label_source=LabelSource.HIT_TEST,
        )
        return action.model_copy(update={"target": target})


def _other(line: Line) -> str:
    """An action of a kind that Artemis does not know, in its source's words."""
    raw = line.raw_action()
    kind = line.action_type or ("no action" if not raw else "action")
    return f"{kind}: {raw}" if raw else kind


def _thinking(line: Line) -> str:
    said = [line.thought or "", f"Afterwards: {line.summary}" if line.summary else ""]
    return "\n".join(part for part in said if part)


def _verdict(line: Line) -> Verdict:
    if line.error is True or (isinstance(line.error, str) and line.error.strip()):
        return Verdict.ERROR
    if line.error is not None or line.result is not None:
        return Verdict.EXECUTED
    return Verdict.UNCERTAIN


def _receipt(line: Line, verdict: Verdict) -> Receipt:
    outcomes = {Verdict.ERROR: Outcome.ERROR, Verdict.EXECUTED: Outcome.OK}
    message = line.result or (line.error if isinstance(line.error, str) else "") or ""
    return Receipt(
        outcome=outcomes.get(verdict, Outcome.UNKNOWN),
        message=message[:SHOWN],
        code="device_error" if verdict is Verdict.ERROR else "",
    )


def _index(line: Line, text: str, shown: Observation | None) -> tuple[SearchEntry, ...]:
    """The texts of a step, of the same kinds as a live run's."""
    raw = line.raw_action()
    element = f" element {line.element}" if line.element is not None else ""
    action = text if raw and raw in text else f"{text}\n{raw}"
    texts = [
        (TextKind.ACTION, f"{action}{element}".strip()),
        (TextKind.THINKING, line.thought or ""),
        (TextKind.THINKING, line.summary or ""),
        (TextKind.TOOL, line.result or ""),
        (TextKind.VERDICT, f"error: {line.error}" if isinstance(line.error, str) else ""),
        (TextKind.SCREEN, screen_text(shown) if shown is not None else ""),
        (TextKind.APP, app_text(shown) if shown is not None else line.package or ""),
    ]
    return tuple(
        SearchEntry(step_number=line.step, kind=kind, text=text)
        for kind, text in texts
        if text.strip()
    )
