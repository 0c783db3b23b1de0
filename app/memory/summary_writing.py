"""Asks for one step's paragraph until it passes the checks, within bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from app.domain.config import MemoryConfig
from app.domain.messages import Finish, ModelReply
from app.domain.summaries import Refusal, StepSummary, SummaryEvidenceMetadata
from app.domain.tasks import StepRecord
from app.errors import ModelError
from app.memory.agreement import contradiction
from app.memory.background import Desk, Question, Stopped, nothing_read
from app.memory.lens import ECHOES, Given
from app.memory.prompts import SUMMARY_VERSION, load
from app.memory.wording import Checked, check_summary

CORRECTION = "\n# CORRECTION\n"
"""Stands before the refusals that a repeated request tells."""


class Outcome(NamedTuple):
    """What came of the answers to one job."""

    text: str = ""
    checked: Checked = Checked(())
    model: str = ""
    lite: bool = False
    attempts: int = 0
    refusals: tuple[Refusal, ...] = ()
    reason: str = ""


class SummaryWriter:
    """Turns what is given of a step into a text that passed, or into the reasons why none did."""

    def __init__(
        self,
        desk: Desk,
        config: MemoryConfig,
        picture_text: Callable[[StepRecord], Awaitable[str]] = nothing_read,
    ) -> None:
        self._desk = desk
        self._config = config
        self._picture_text = picture_text
        self._system = load("summary")

    async def write(self, step: StepRecord, given: Given, *, full: bool) -> Outcome:
        """Asks at most the configured number of times. Raises Stopped at the ceiling."""
        refusals: list[Refusal] = []
        told: tuple[Refusal, ...] = ()
        for attempt in range(1, self._config.background_attempts + 1):
            lite = self._desk.lite and not full
            question = Question(
                system=self._system,
                text=given.text + correction(told),
                step_number=step.step_number,
                images=given.images,
                full=full,
            )
            try:
                reply = await self._desk.ask(question)
            except Stopped:
                raise
            except ModelError as error:
                return Outcome(attempts=attempt, refusals=tuple(refusals), reason=error.message)
            # Asked for only now: a picture may have been read while the model wrote.
            checked = _checked(reply, given, await self._picture_text(step))
            if checked.passed:
                text = " ".join(reply.message.text.split())
                return Outcome(text, checked, reply.model, lite, attempt, tuple(refusals))
            told = checked.refusals
            refusals += told
            await self._desk.refused(question, reply, told)
        return Outcome(attempts=attempt, refusals=tuple(refusals), reason="refused by the checks")


def _checked(reply: ModelReply, given: Given, read: str) -> Checked:
    if reply.finish is not Finish.STOP:
        return Checked((Refusal(rule="unfinished", detail=reply.finish.value),))
    return check_summary(
        reply.message.text.strip(),
        (*given.sources, read),
        with_images=bool(given.images),
        echoes=ECHOES,
    )


def written(
    step: StepRecord, given: Given, outcome: Outcome, version: int, now: datetime
) -> StepSummary:
    """The version that a text becomes, with what it was really made from."""
    return StepSummary(
        step_id=step.step_id,
        step_number=step.step_number,
        version=version,
        text=outcome.text,
        evidence=SummaryEvidenceMetadata(
            step_id=step.step_id,
            decision_image_name=given.decision.sha256 if given.decision else None,
            post_image_name=given.post.sha256 if given.post else None,
            used_ui_diff=given.used_ui_diff,
            model=outcome.model,
            prompt_version=SUMMARY_VERSION,
            summary_version=version,
            seconds_to_ready=max(0.0, (now - (step.ended_at or now)).total_seconds()),
        ),
        image_only=outcome.checked.image_only,
        conflict=contradiction(outcome.text, step),
        lite=outcome.lite,
    )


def correction(refusals: Iterable[Refusal]) -> str:
    """What a repeated request says of the former answer."""
    lines = [f"- {r.rule}: {r.detail}" for r in refusals]
    if not lines:
        return ""
    told = "\n".join(dict.fromkeys(lines))
    return f"{CORRECTION}Your last answer broke these rules; write it anew, whole:\n{told}"


def outdated(summary: StepSummary | None) -> bool:
    """Whether a version was written with an older prompt; none counts as one."""
    return summary is None or summary.evidence.prompt_version < SUMMARY_VERSION
