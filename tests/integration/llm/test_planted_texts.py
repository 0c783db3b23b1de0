"""Bad texts over the wire, each refused under its rule's name; roles with lanes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re

import pytest
from pydantic import SecretStr

from app.domain.config import MemoryConfig, ModelsConfig, RoleModel
from app.domain.events import FallbackUsed, ModelCalled, ModelWaiting
from app.domain.messages import ModelRequest, Role, user
from app.domain.summaries import Boundary, ChunkState, HistoryChunk
from app.errors import ModelError
from app.llm.build import ModelHouse
from app.llm.lanes import Lanes
from app.memory import capsule_checks, wording
from app.memory.background import Desk
from app.memory.capsules import CapsuleWriter, Facts, Sources
from app.memory.chunk_lens import ChunkInput
from app.memory.lens import Given
from app.memory.summary_writing import SummaryWriter
from tests.stand_ins.gemini_server import (
    Behaviour,
    GeminiServer,
    Recorded,
    hang,
    says,
    unavailable,
)
from tests.unit.memory.capsules import SOURCES, SPOILT, capsule_json
from tests.unit.memory.desk import Background, Clock, ports
from tests.unit.memory.sentences import RIGHT, SOURCE, WRONG
from tests.unit.memory.steps import step

MAIN, SPARE, LITE = "gemini-3.8-flash", "gemini-3.5-flash", "gemini-3.5-flash-lite"
ONE = MemoryConfig(background_attempts=1)


async def _no_wait(_: ModelWaiting) -> None:
    return None


def house(server: GeminiServer, **own: object) -> ModelHouse:
    role = RoleModel(model=MAIN, fallback=SPARE, lite=LITE, timeout=10)
    roles = dict.fromkeys(Role, role)
    if own:
        roles[Role.SUMMARIZER] = RoleModel.model_validate({**role.model_dump(), **own})
    config = ModelsConfig(
        provider="gemini",
        gemini_api_key=SecretStr("AIza-common"),
        gemini_base_url=server.url,
        roles=roles,
        max_attempts=1,
    )
    return ModelHouse(config, Clock())


def given() -> Given:
    return Given("# STEP\nStep 1\n# PICTURES\nnone", (), (SOURCE,), None, None, False)


async def test_every_planted_sentence_is_refused_by_its_rule() -> None:
    texts = iter([s.text for s in WRONG])
    with GeminiServer(background=lambda _: says(next(texts))) as server:
        models = house(server)
        made, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        for sentence in WRONG:
            outcome = await writer.write(step(1), given(), full=False)
            assert outcome.text == "", sentence.text
            assert {r.rule for r in outcome.refusals} == sentence.rules, sentence.text
        await models.close()
    assert len(WRONG) >= 60 and len(server.background_requests) == len(WRONG)


async def test_every_right_sentence_is_taken() -> None:
    texts = iter([s.text for s in RIGHT])
    with GeminiServer(background=lambda _: says(next(texts))) as server:
        models = house(server)
        made, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        for sentence in RIGHT:
            outcome = await writer.write(step(1), given(), full=False)
            assert outcome.text == sentence.text and outcome.model == MAIN
        await models.close()


def chunk() -> HistoryChunk:
    return HistoryChunk(
        chunk_id="c",
        session_id="t",
        start_step=3,
        end_step=5,
        start_step_id="id3",
        end_step_id="id5",
        source_step_ids=("id3", "id4", "id5"),
        boundary=Boundary.STEPS,
    )


def capsule_writer(models: ModelHouse, config: MemoryConfig) -> CapsuleWriter:
    made, *_ = ports(models.build(_no_wait))

    async def steps(first: int, last: int) -> list[object]:
        return [step(n) for n in range(first, last + 1)]

    async def settled(first: int, last: int) -> None:
        return None

    sources = Sources(steps, lambda a, b: Facts(), settled)  # type: ignore[arg-type]
    return CapsuleWriter(made, config, Background(), sources, lambda c: None)


CHUNK_INPUT = ChunkInput("# CHUNK\nSteps 3-5\n# TURNS\n", SOURCES)


async def test_every_planted_capsule_is_refused_by_its_rule_from_both_models() -> None:
    asked: list[Recorded] = []
    current = [""]

    def answer(request: Recorded) -> Behaviour:
        asked.append(request)
        return says(current[0])

    with GeminiServer(background=answer) as server:
        models = house(server)
        writer = capsule_writer(models, ONE)
        for spoilt in SPOILT:
            current[0] = capsule_json(**spoilt.changes)
            written = await writer.answers(chunk(), CHUNK_INPUT)
            assert written.checked is None
            assert spoilt.rule in {r.rule for r in written.refusals}, spoilt
        await models.close()
    assert [r.model for r in asked[:2]] == [MAIN, SPARE]
    assert len(asked) == 2 * len(SPOILT)


UNREADABLE = (
    ("unfinished", ""),
    ("json", "Here is the capsule you asked for."),
    ("json", capsule_json()[:-1]),
    ("json", f"```json\n{capsule_json()}\n```"),
    ("schema", "[]"),
    ("schema", "null"),
    ("schema", f"[{capsule_json()}]"),
)


@pytest.mark.parametrize(("rule", "text"), UNREADABLE)
async def test_what_is_no_capsule_is_refused_over_the_wire(rule: str, text: str) -> None:
    with GeminiServer(background=lambda _: says(text)) as server:
        models = house(server)
        writer = capsule_writer(models, ONE)
        written = await writer.answers(chunk(), CHUNK_INPUT)
        await models.close()
    assert written.checked is None
    assert {r.rule for r in written.refusals} == {rule}


def test_every_rule_of_a_capsule_is_planted() -> None:
    named = set(re.findall(r'rule="(\w+)"', inspect.getsource(capsule_checks)))
    named |= {"json", "schema", "judging_word", "third_person", "value_without_source"}
    planted = {s.rule for s in SPOILT} | {rule for rule, _ in UNREADABLE}
    assert planted == named | {"unfinished"}


def test_every_rule_of_a_summary_is_planted() -> None:
    named = set(re.findall(r'rule="(\w+)"', inspect.getsource(wording))) | {"list", "markdown"}
    assert {rule for s in WRONG for rule in s.rules} == named


async def test_a_capsule_is_asked_for_again_with_the_reasons_and_taken_from_the_fallback() -> None:
    answers = iter(["no JSON", capsule_json(doing=""), capsule_json()])
    with GeminiServer(background=lambda _: says(next(answers))) as server:
        models = house(server)
        written = await capsule_writer(models, MemoryConfig()).answers(chunk(), CHUNK_INPUT)
        await models.close()
    assert written.checked is not None and written.checked.passed
    assert written.attempts == 3 and written.model == SPARE
    assert {r.rule for r in written.refusals} == {"json", "schema"}
    bodies = [r.body["contents"][0]["parts"][0]["text"] for r in server.background_requests]
    assert "# CORRECTION" not in bodies[0] and "- json: " in bodies[1]
    assert "doing is empty" in bodies[2]


async def test_a_chunk_that_never_passes_is_failed_and_says_why() -> None:
    with GeminiServer(background=lambda _: says("{}")) as server:
        models = house(server)
        changed = await capsule_writer(models, MemoryConfig()).write(chunk())
        await models.close()
    assert changed.state is ChunkState.FAILED and changed.attempts == 4
    assert changed.version == 0 and changed.capsule is None and changed.refusals


async def test_a_role_has_its_own_endpoint_and_key() -> None:
    with GeminiServer() as common, GeminiServer(key="AIza-own") as own:
        models = house(common, gemini_base_url=own.url, gemini_api_key="AIza-own")
        made, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        outcome = await writer.write(step(1), given(), full=False)
        await models.close()
    assert outcome.text and not common.background_requests
    assert [r.key for r in own.background_requests] == ["AIza-own"]
    assert len(models.lanes._lanes) == 1


@pytest.mark.parametrize(("lite", "model"), [(True, LITE), (False, MAIN)])
async def test_lite_mode_asks_the_lite_model(lite: bool, model: str) -> None:
    with GeminiServer() as server:
        models = house(server)
        made, *_ = ports(models.build(_no_wait))
        config = MemoryConfig(summary_lite=lite, background_attempts=1)
        writer = SummaryWriter(Desk(made, config, Role.SUMMARIZER, "summaries"), config)
        outcome = await writer.write(step(1), given(), full=False)
        await models.close()
    assert outcome.lite is lite
    assert [r.model for r in server.background_requests] == [model]


async def test_the_fallback_model_answers_for_one_that_is_away() -> None:
    def answer(request: Recorded) -> Behaviour:
        return unavailable() if request.model == MAIN else says(RIGHT[0].text)

    with GeminiServer(background=answer) as server:
        models = house(server)
        made, recorder, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        outcome = await writer.write(step(1), given(), full=False)
        await models.close()
    assert outcome.text == RIGHT[0].text and outcome.model == SPARE
    (used,) = recorder.of(FallbackUsed)
    assert used.kind == "summaries_model" and MAIN in used.detail


async def test_a_call_that_failed_says_how_often_it_was_tried() -> None:
    with GeminiServer(background=lambda _: unavailable()) as server:
        models = house(server)
        made, recorder, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        outcome = await writer.write(step(1), given(), full=False)
        await models.close()
    assert outcome.text == ""
    (called,) = recorder.of(ModelCalled)
    assert called.call.outcome == "model_unavailable"
    assert called.call.attempts == len(server.background_requests) == 2


async def operate(models: ModelHouse) -> None:
    """An operator's call that the server does not answer."""
    request = ModelRequest(role=Role.OPERATOR, system="", messages=(user("go on"),))
    with contextlib.suppress(ModelError):
        await models.build(_no_wait).generate(request)


async def arrived(server: GeminiServer) -> None:
    """Until the operator's request is there."""
    for _ in range(500):
        if server.requests:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("no request came")


@pytest.mark.parametrize(
    ("own_key", "own_model", "patience", "kinds"),
    [
        (True, False, 30.0, []),
        (False, True, 30.0, []),
        (False, False, 0.1, ["summaries_busy_lane"]),
    ],
)
async def test_beside_an_open_operator_call_only_the_isolated_or_patient_is_asked(
    own_key: bool, own_model: bool, patience: float, kinds: list[str]
) -> None:
    own: dict[str, object] = {"gemini_api_key": "AIza-own"} if own_key else {}
    own |= {"model": LITE} if own_model else {}
    with GeminiServer([hang()]) as server:
        models = house(server, **own)
        models.lanes = Lanes(patience=patience)
        operator = asyncio.create_task(operate(models))
        await arrived(server)
        made, recorder, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        async with asyncio.timeout(10):
            outcome = await writer.write(step(1), given(), full=False)
        assert outcome.text and not operator.done()
        server.closing.set()
        await operator
        await models.close()
    assert [e.kind for e in recorder.of(FallbackUsed)] == kinds
    assert models.lanes.admitted_busy == len(kinds)


async def test_without_isolation_it_waits_for_the_open_operator_call() -> None:
    with GeminiServer([hang()]) as server:
        models = house(server)
        operator = asyncio.create_task(operate(models))
        await arrived(server)
        made, *_ = ports(models.build(_no_wait))
        writer = SummaryWriter(Desk(made, ONE, Role.SUMMARIZER, "summaries"), ONE)
        writing = asyncio.create_task(writer.write(step(1), given(), full=False))
        await asyncio.sleep(0.3)
        assert not server.background_requests and not writing.done()
        server.closing.set()
        await operator
        await writing
        await models.close()


async def test_background_calls_of_one_lane_run_one_at_a_time() -> None:
    active, most = [0], [0]

    def slow(_: Recorded) -> Behaviour:
        active[0] += 1
        most[0] = max(most[0], active[0])
        server.closing.wait(0.05)
        active[0] -= 1
        return says(RIGHT[0].text)

    with GeminiServer(background=slow) as server:
        models = house(server)
        made, *_ = ports(models.build(_no_wait))
        desks = [Desk(made, ONE, Role.SUMMARIZER, "summaries") for _ in range(4)]
        writers = [SummaryWriter(desk, ONE) for desk in desks]
        await asyncio.gather(*(w.write(step(1), given(), full=False) for w in writers))
        await models.close()
    assert most == [1] and len(server.background_requests) == 4
