"""Writing capsules in the background: bounds, idle retries, rejections, ceilings, words read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from app.domain.config import MemoryConfig
from app.domain.events import BackgroundChanged, ChunkChanged, TextRefused
from app.domain.messages import Message, ModelReply, ModelRequest, Text, Usage
from app.domain.summaries import Boundary, ChunkState, HistoryChunk, Refusal
from app.domain.tasks import StepRecord
from app.errors import ModelError, ModelUnavailable
from app.memory.background import nothing_read
from app.memory.capsules import MOST_ATTEMPTS, CapsuleWriter, Facts, Sources, given_up
from tests.unit.memory.desk import Background, ports
from tests.unit.memory.steps import step

READY, FAILED = ChunkState.READY, ChunkState.FAILED


def capsule(did: str = "I tapped twice.", fact: str = "") -> str:
    return json.dumps(
        {
            "doing": "I looked for the row.",
            "did": did,
            "effect": "Nothing but the screen.",
            "entry_state": "a list",
            "exit_state": "another list",
            "verified_facts": [fact] if fact else [],
            "unresolved": [],
            "failed_paths": [],
            "important_entities": [],
            "intervals": [
                {
                    "start_step": 1,
                    "end_step": 3,
                    "text": "I went down the list row by row and read what each of them said. " * 2,
                }
            ],
        }
    )


GOOD, BAD = capsule(), capsule("I successfully tapped.")


class Scripted:
    """Answers in order; the last answer again and again."""

    def __init__(self, *answers: str | ModelError) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ModelError):
            raise answer
        return ModelReply(
            message=Message(role="model", parts=(Text(text=answer),)),
            usage=Usage(prompt=1_000, output=50),
            provider="test",
            model="spare" if request.only_fallback else "main",
        )


class House:
    """The capsules of one task of three steps."""

    def __init__(
        self, *answers: str | ModelError, read: str = "", settled: float = 0.0, **settings: object
    ) -> None:
        self.model = Scripted(*answers)
        made, self.recorder, _, self.clock = ports(self.model)

        async def picture_text(step: StepRecord) -> str:
            return read if step.step_number == 2 else await nothing_read(step)

        async def steps(first: int, last: int) -> Sequence[StepRecord]:
            return [step(n) for n in range(first, last + 1)]

        async def wait(first: int, last: int) -> None:
            await asyncio.sleep(settled)

        self.background = Background()
        self.ready: list[HistoryChunk] = []
        self.writer = CapsuleWriter(
            made._replace(picture_text=picture_text),
            MemoryConfig.model_validate(settings),
            self.background,
            Sources(steps, lambda first, last: Facts(), wait),
            self.ready.append,
        )

    async def write(self, *chunks: HistoryChunk) -> None:
        self.writer.submit_all(chunks)
        await self.background.done()

    @property
    def changes(self) -> list[ChunkChanged]:
        return self.recorder.of(ChunkChanged)


def chunk(**more: object) -> HistoryChunk:
    return HistoryChunk.model_validate(
        {
            "chunk_id": "c",
            "session_id": "t",
            "start_step": 1,
            "end_step": 3,
            "start_step_id": "id1",
            "end_step_id": "id3",
            "source_step_ids": ("id1", "id2", "id3"),
            "boundary": Boundary.STEPS,
            **more,
        }
    )


async def test_a_chunk_is_written_once() -> None:
    house = House(GOOD)
    await house.write(chunk(), chunk())
    assert [(c.state, c.version) for c in house.ready] == [(READY, 1)]
    assert len(house.model.requests) == 1


async def test_refused_answers_are_recorded_and_the_fallback_is_asked() -> None:
    house = House(BAD, BAD, BAD, GOOD)
    await house.write(chunk())
    (change,) = house.changes
    assert change.chunk.state is READY and change.chunk.attempts == 4
    assert change.chunk.model == "spare"
    refused = house.recorder.of(TextRefused)
    assert [(r.kind, r.step_number, r.model) for r in refused] == [
        ("chunks", 3, "main"),
        ("chunks", 3, "main"),
        ("chunks", 3, "spare"),
    ]
    assert {x.rule for r in refused for x in r.refusals} == {"judging_word"}


async def test_what_failed_is_tried_again_when_idle_within_bounds() -> None:
    house = House(BAD, background_attempts=1, background_redos=2)
    await house.write(chunk())
    assert [c.chunk.state for c in house.changes] == [FAILED] * 3
    assert [c.chunk.attempts for c in house.changes] == [2, 4, 6]
    assert len(house.model.requests) == 6 and house.ready == []


async def test_a_model_that_comes_back_writes_what_failed() -> None:
    house = House(ModelUnavailable("503"), ModelUnavailable("503"), GOOD, background_failures=1)
    await house.write(chunk())
    assert [c.chunk.state for c in house.changes] == [FAILED, FAILED, READY]
    assert house.clock.slept and house.ready[0].version == 1


@pytest.mark.parametrize(
    ("attempts", "refused", "over"),
    [(MOST_ATTEMPTS, True, True), (MOST_ATTEMPTS - 1, True, False), (99, False, False)],
)
async def test_what_was_refused_too_often_is_left_alone(
    attempts: int, refused: bool, over: bool
) -> None:
    """Where the model never answered, it is asked again at every start."""
    refusals = (Refusal(rule="json", detail=""),) if refused else ()
    failed = chunk(state=FAILED, attempts=attempts, refusals=refusals)
    assert given_up(failed) is over
    house = House(GOOD)
    await house.write(failed)
    assert bool(house.ready) is not over


async def test_a_rejected_capsule_is_written_anew_and_serves_until_then() -> None:
    house = House(GOOD, BAD, BAD, BAD, BAD, capsule("I looked twice."))
    await house.write(chunk())
    house.writer.reject(house.ready[0], "the route is missing")
    await house.background.done()
    assert [(c.state, c.version) for c in house.ready] == [(READY, 1), (READY, 2)]
    assert [c.reason for c in house.changes] == ["", "the route is missing"]
    assert house.ready[1].capsule is not None and house.ready[1].capsule.did == "I looked twice."


async def test_a_rejected_capsule_that_cannot_be_written_stays_as_it_is() -> None:
    house = House(GOOD, BAD, background_redos=0)
    await house.write(chunk())
    house.writer.reject(house.ready[0], "the route is missing")
    await house.background.done()
    assert len(house.changes) == 1 and len(house.ready) == 1


async def test_a_fact_may_stand_in_the_words_read_from_a_picture() -> None:
    fact = capsule(fact="total 4,711 (on screen, step 2)")
    house = House(fact, read="Total  4,711")
    await house.write(chunk())
    assert house.ready[0].image_only == ()
    assert house.ready[0].capsule is not None
    for answer, read in ((fact, ""), (fact.replace("step 2", "step 3"), "Total  4,711")):
        other = House(answer, read=read, background_attempts=1, background_redos=0)
        await other.write(chunk())
        assert {r.rule for r in other.changes[0].chunk.refusals} >= {"fact_without_source"}


async def test_a_ceiling_stops_the_writing_visibly_and_the_chunk_stays_pending() -> None:
    house = House(GOOD, background_tokens=1_000)
    await house.write(chunk(), chunk(chunk_id="d"))
    assert [e.state for e in house.recorder.of(BackgroundChanged)] == ["stopped"]
    assert len(house.model.requests) == 1 and len(house.ready) == 1
    assert [c.chunk.chunk_id for c in house.changes] == ["c"]


async def test_the_flush_at_the_end_is_bounded() -> None:
    house = House(GOOD, settled=30.0)
    house.writer.submit(chunk())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await house.writer.flush(0.05)
    assert house.model.requests == [] and house.writer.desk.closed
    for job in house.background.jobs:
        job.cancel()
