"""What the offline model writes over recorded runs passes every check, and an oracle of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.domain.config import MemoryConfig
from app.domain.messages import ModelRequest, Role, user
from app.domain.plans import Check
from app.domain.screens import ArtifactRef
from app.domain.summaries import StepSummary, SummaryEvidenceMetadata
from app.domain.tasks import StepRecord
from app.errors import NotFound
from app.llm.offline.model import answer
from app.memory.agreement import contradiction, omissions
from app.memory.capsule_checks import ChunkSources, check_capsule
from app.memory.capsule_text import digest
from app.memory.chunk_lens import look_at_chunk
from app.memory.lens import ECHOES, look_at
from app.memory.wording import check_summary
from tests.unit.memory.corpus import TRAJECTORIES, runs
from tests.unit.memory.oracle import judging, unsourced

CHUNK = 12


class NoArtifacts:
    """A store that holds nothing."""

    async def put(self, data: bytes, media_type: str) -> ArtifactRef:
        return ArtifactRef(sha256="0" * 64, media_type=media_type, size=len(data))

    async def get(self, ref: ArtifactRef) -> bytes:
        raise NotFound


def summary_of(step: StepRecord, recent: list[StepSummary]) -> tuple[str, str]:
    """The offline model's paragraph and what it was given."""
    given = asyncio.run(look_at(step, recent, MemoryConfig(), NoArtifacts()))
    request = ModelRequest(role=Role.SUMMARIZER, system="", messages=(user(given.text),))
    text = answer(request).text
    checked = check_summary(text, given.sources, with_images=False, echoes=ECHOES)
    assert checked.passed, f"step {step.step_number}: {checked.refusals}\n{text}"
    return text, given.text


def stored(step: StepRecord, text: str) -> StepSummary:
    evidence = SummaryEvidenceMetadata(
        step_id=step.step_id, model="offline-1", prompt_version=1, summary_version=1
    )
    return StepSummary(
        step_id=step.step_id,
        step_number=step.step_number,
        version=1,
        text=text,
        evidence=evidence,
    )


def capsule_of(
    steps: list[StepRecord], summaries: dict[int, StepSummary], checks: Sequence[Check] = ()
) -> tuple[str, str, ChunkSources]:
    given = asyncio.run(look_at_chunk(steps, summaries, NoArtifacts(), checks=checks))
    request = ModelRequest(role=Role.CHUNK_WRITER, system="", messages=(user(given.text),))
    checked = check_capsule(answer(request).text, given.sources)
    where = f"steps {steps[0].step_number}-{steps[-1].step_number}"
    assert checked.passed, f"{where}: {checked.refusals}\n{answer(request).text}"
    assert checked.capsule is not None
    text = digest(checked.capsule, steps[0].step_number, steps[-1].step_number)
    return text, given.text + "\n" + "\n".join(s.text for s in given.sources.steps), given.sources


def check_runs(folder: Path) -> tuple[int, int]:
    """Writes every summary and capsule of the runs; gives how many."""
    count = chunks = 0
    for name, steps in runs(folder):
        summaries: dict[int, StepSummary] = {}
        for step in steps:
            text, source = summary_of(step, list(summaries.values())[-3:])
            assert judging(text) == [], f"{name} {step.step_number}: {text}"
            assert unsourced(text, source) == [], f"{name} {step.step_number}: {text}"
            summaries[step.step_number] = stored(step, text)
            count += 1
        for at in range(0, len(steps), CHUNK):
            text, source, _ = capsule_of(steps[at : at + CHUNK], summaries)
            assert judging(text) == [], f"{name} {at}: {text}"
            assert unsourced(text, source) == [], f"{name} {at}: {text}"
            chunks += 1
    return count, chunks


def test_what_is_written_over_recorded_runs_passes_the_checks_and_an_oracle() -> None:
    count, chunks = check_runs(TRAJECTORIES)
    assert count >= 60 and chunks >= 5


@pytest.mark.parametrize(
    ("text", "words", "values"),
    [
        ("I completed 42 forms.", ["completed"], ["42"]),
        ("I saw “Failed” and pressed the Enter key.", [], ["failed"]),
        ("The Failure Analyzer could not dismiss “Ad”.", ["could not"], ["ad"]),
    ],
)
def test_the_oracle_finds_what_it_is_for(text: str, words: list[str], values: list[str]) -> None:
    assert judging(text) == words
    assert unsourced(text, "nothing of it") == values


@pytest.mark.parametrize(
    "text",
    [
        "Order placed twice",
        "Setup completed successfully",
        "the toast “Payment completed” was shown",
        "The user navigated to “Checkout” and could not pay",
        "the pin at (52.52, 13.40) is shown",
    ],
)
def test_an_open_check_in_any_words_is_carried_on(text: str) -> None:
    _, steps = next(runs())
    changed = [
        s.model_copy(update={"remembered": {"completed": f"{s.step_number} failed"}})
        for s in steps[:3]
    ]
    check = Check(number=1, text=text)
    digest_text, *_ = capsule_of(changed, {}, [check])
    assert text in digest_text
    assert all(f"{n} failed" in digest_text for n in (1, 2, 3))


def test_a_conflict_with_the_validator_is_carried_on() -> None:
    _, steps = next(runs())
    told = "I tapped the row, and nothing changed on the screen."
    summaries = {
        s.step_number: stored(s, told).model_copy(update={"conflict": contradiction(told, s)})
        for s in steps[:3]
    }
    assert all(s.conflict for s in summaries.values())
    text, *_ = capsule_of(list(steps[:3]), summaries)
    assert all(s.conflict in text for s in summaries.values())


def test_notes_and_kept_values_are_never_left_out_where_they_can_be_quoted() -> None:
    for _, steps in runs():
        for step in steps:
            short = step.model_copy(update={"remembered": {"total": "¥1,280"}, "notes": ("order",)})
            text, _ = summary_of(short, [])
            assert not [m for m in omissions(text, short) if "total" in m or "order" in m], text
