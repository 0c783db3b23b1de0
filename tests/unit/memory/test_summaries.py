"""Writing summaries in the background: states, versions, redoing, pressure, ceilings, pictures."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

import pytest
from PIL import Image as Picture

from app.domain.actions import Verdict
from app.domain.config import MemoryConfig
from app.domain.events import (
    BackgroundChanged,
    Event,
    FallbackUsed,
    ModelCalled,
    SummaryChanged,
    TextRefused,
)
from app.domain.memory import SearchEntry
from app.domain.messages import Image, Message, ModelReply, ModelRequest, Text, Usage
from app.domain.screens import ScreenDiff
from app.domain.summaries import SummaryStatus
from app.domain.tasks import Recovery, Spent, StepRecord
from app.errors import Conflict, ModelError, ModelQuota, ModelUnavailable
from app.memory.agreement import contradiction, omissions
from app.memory.summaries import Summaries
from tests.unit.memory.desk import Artifacts, Background, ports
from tests.unit.memory.steps import observation
from tests.unit.memory.steps import step as plain_step

GOOD = "I tapped the button that the plan names, and another page was shown."
BAD = "I successfully tapped the button, and another page was shown."
Answer = str | ModelError
READY, FAILED, STALE = (
    SummaryStatus.VISUAL_READY,
    SummaryStatus.VISUAL_FAILED,
    SummaryStatus.STALE,
)


class Scripted:
    """Answers in order; the last answer again and again."""

    def __init__(self, *answers: Answer, cost: float = 0.0) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.cost = cost
        self.at_once = 0
        self.most_at_once = 0

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ModelError):
            raise answer
        return ModelReply(
            message=Message(role="model", parts=(Text(text=answer),)),
            usage=Usage(prompt=1_000, output=50),
            provider="test",
            model="lite" if request.lite else "full",
            cost_usd=self.cost,
        )


class House:
    """One task's summaries over a scripted model."""

    def __init__(self, *answers: Answer, cost: float = 0.0, **settings: object) -> None:
        self.model = Scripted(*answers, cost=cost)
        self.config = MemoryConfig.model_validate(settings)
        made, self.recorder, self.artifacts, self.clock = ports(self.model)
        self.background = Background()
        self.told: dict[int, str] = {}
        self.summaries = Summaries(
            made, self.config, self.background, self.told.__setitem__, spent=Spent()
        )

    async def write(self, *steps: StepRecord) -> None:
        for step in steps:
            self.summaries.submit(step)
        await self.background.done()

    @property
    def changes(self) -> list[SummaryChanged]:
        return self.recorder.of(SummaryChanged)

    @property
    def moves(self) -> list[str]:
        return [e.state for e in self.recorder.of(BackgroundChanged)]


def step(number: int) -> StepRecord:
    return plain_step(number)


async def test_a_step_is_summarised_recorded_indexed_and_told() -> None:
    house = House(GOOD)
    await house.write(step(1), step(2))
    assert [(c.step_number, c.status) for c in house.changes] == [(1, READY), (2, READY)]
    summary = house.changes[0].summary
    assert summary is not None and summary.version == 1 and summary.text == GOOD
    assert summary.evidence.model == "full" and summary.evidence.decision_image_name is None
    assert house.told == {1: GOOD, 2: GOOD}
    assert [(e.step_number, e.kind.value) for e in house.recorder.index] == [
        (1, "summary"),
        (2, "summary"),
    ]
    assert house.summaries.recent(1) == ((2, GOOD),)
    assert house.summaries.counts() == {READY: 2}
    assert len(house.recorder.of(ModelCalled)) == 2


async def test_submitting_returns_at_once_and_one_call_runs_at_a_time() -> None:
    house = House(GOOD)
    for number in range(1, 21):
        house.summaries.submit(step(number))
    assert house.model.requests == [] and len(house.background.jobs) == 1
    await house.background.done()
    assert house.model.most_at_once == 1 and len(house.told) == 20


async def test_a_refused_text_is_asked_for_again_with_the_reasons() -> None:
    house = House(BAD, GOOD)
    await house.write(step(1))
    (change,) = house.changes
    assert change.status is READY and change.attempts == 2
    assert {r.rule for r in change.refusals} == {"judging_word"}
    second = house.model.requests[1].messages[0].text
    assert "# CORRECTION" in second and "judging_word: “successfully” judges" in second


async def test_what_never_passes_fails_within_bounds_and_is_tried_again_when_idle() -> None:
    house = House(BAD, background_attempts=2, background_redos=2)
    await house.write(step(1), step(2))
    assert [(c.step_number, c.status) for c in house.changes] == [(1, FAILED), (2, FAILED)]
    assert len(house.model.requests) == 2 * 2 * 3
    assert house.told == {}
    order = [r.step_number for r in house.model.requests]
    assert order[:4] == [1, 1, 2, 2], "what waits comes before what is tried again"


async def test_a_failed_one_becomes_ready_by_a_later_version() -> None:
    house = House(BAD, BAD, GOOD)
    await house.write(step(1))
    assert [c.status for c in house.changes] == [FAILED, READY]
    newest = house.summaries.of(1)
    assert newest is not None and newest.version == 2 and house.told == {1: GOOD}


async def test_a_rejected_one_is_stale_and_written_anew_while_the_old_one_serves() -> None:
    house = House(GOOD, BAD, GOOD.replace("tapped", "pressed"))
    await house.write(step(1))
    await house.summaries.reject(step(1), "the reviewer saw something else")
    assert house.summaries.of(1) is not None and house.summaries.book.status(1) is STALE
    await house.background.done()
    assert [c.status for c in house.changes] == [READY, STALE, READY]
    assert [s.version for s in house.summaries.book.versions(1)] == [1, 2]
    assert "pressed" in house.told[1]


async def test_what_failed_can_be_rejected_and_what_is_pending_cannot() -> None:
    house = House(BAD, BAD, GOOD, background_redos=0)
    await house.write(step(1))
    assert house.summaries.book.status(1) is FAILED
    await house.summaries.reject(step(1), "write it")
    await house.summaries.reject(step(1), "write it, I said")
    await house.background.done()
    assert [c.status for c in house.changes] == [FAILED, READY]
    assert len(house.model.requests) == 3, "it is queued once"
    house.summaries.submit(step(2))
    with pytest.raises(Conflict):
        await house.summaries.reject(step(2), "too early")
    with pytest.raises(Conflict):
        await house.summaries.reject(step(9), "nobody knows it")
    await house.background.done()


async def test_what_is_being_written_anew_is_not_queued_a_second_time() -> None:
    house = House(BAD, BAD, GOOD, background_redos=1)
    generate, inside, go_on = house.model.generate, asyncio.Event(), asyncio.Event()

    async def held(request: ModelRequest) -> ModelReply:
        if len(house.model.requests) == 2:
            inside.set()
            await go_on.wait()
        return await generate(request)

    house.model.generate = held  # type: ignore[method-assign]
    house.summaries.submit(step(1))
    await asyncio.wait_for(inside.wait(), 5)
    await house.summaries.reject(step(1), "it is missing")
    go_on.set()
    await house.background.done()
    assert [c.status for c in house.changes] == [FAILED, READY]
    assert len(house.model.requests) == 3
    await house.summaries.reject(step(1), "once more")
    await house.background.done()
    assert house.summaries.book.newest_version(1) == 3


async def test_a_rejected_one_that_cannot_be_written_stays_stale_and_is_taken_up_again() -> None:
    house = House(GOOD, BAD)
    await house.write(step(1))
    await house.summaries.reject(step(1), "the reviewer saw something else")
    await house.background.done()
    assert [c.status for c in house.changes] == [READY, STALE]
    newest = house.summaries.of(1)
    assert newest is not None and house.told == {1: GOOD}
    again = House("I looked at the page and its rows.", background_redos=0)
    again.summaries.take_up([step(1)], {1: STALE}, {1: newest})
    await again.background.done()
    assert [c.status for c in again.changes] == [READY]
    assert [s.version for s in again.summaries.book.versions(1)] == [1, 2]


async def test_a_version_of_an_older_prompt_is_stale_and_written_anew_when_idle() -> None:
    house = House(GOOD)
    await house.write(step(1))
    newest = house.summaries.of(1)
    assert newest is not None
    old = newest.model_copy(
        update={"evidence": newest.evidence.model_copy(update={"prompt_version": 0})}
    )
    again = House("I looked at the page and its rows.", background_redos=0)
    states = {1: READY, 2: SummaryStatus.PENDING}
    again.summaries.take_up([step(1), step(2)], states, {1: old})
    assert again.told == {1: GOOD}, "it serves until then"
    await again.background.done()
    told = [(c.step_number, c.status) for c in again.changes]
    assert told == [(2, READY), (1, STALE), (1, READY)], "what is pending comes first"
    assert again.changes[1].reason.startswith("the prompt has moved on")
    current = House(GOOD)
    current.summaries.take_up([step(1)], {1: READY}, {1: newest})
    await current.background.done()
    assert current.model.requests == []


async def test_every_refused_answer_is_recorded_with_its_rules() -> None:
    house = House(BAD, "Summary: I looked.", GOOD, background_attempts=2)
    await house.write(step(1))
    refused = house.recorder.of(TextRefused)
    assert [(r.step_number, [x.rule for x in r.refusals]) for r in refused] == [
        (1, ["judging_word"]),
        (1, ["heading"]),
    ]
    assert [r.model for r in refused] == ["full", "full"]
    last = house.changes[-1]
    assert last.status is READY and last.attempts == 3 and len(last.refusals) == 2


async def test_words_read_from_the_picture_are_a_source() -> None:
    text = "I read the total of 4,711 in the picture of the page."
    house = House(text)

    async def picture_text(step: StepRecord) -> str:
        return "Total  4,711" if step.step_number == 3 else "nothing of it"

    house.summaries._writer._picture_text = picture_text
    shown = await with_pictures(house.artifacts, before="white", after="navy")
    steps = [shown.model_copy(update={"step_number": n, "step_id": f"id{n}"}) for n in (1, 2, 3)]
    await house.write(*steps)
    found = [house.summaries.of(n) for n in (1, 2, 3)]
    marked = [s.image_only for s in found if s is not None]
    assert marked == [("4,711",), ("4,711",), ()], "what is only repeated has no source"


async def test_what_the_store_refuses_is_not_told() -> None:
    house = House(GOOD)

    async def refuse(*events: Event, index: Sequence[SearchEntry] = ()) -> None:
        if any(isinstance(e, SummaryChanged) for e in events):
            raise Conflict("another process was first")

    house.recorder.record = refuse  # type: ignore[method-assign]
    await house.write(step(1))
    assert house.told == {} and house.summaries.late == 1


async def test_lite_mode_redoes_violations_with_the_full_model() -> None:
    house = House(BAD, GOOD, GOOD, summary_lite=True)
    await house.write(step(1))
    assert [r.lite for r in house.model.requests] == [True, True, False]
    assert [c.status for c in house.changes] == [READY, STALE, READY]
    first, _, last = house.changes
    assert first.summary is not None and first.summary.lite
    assert last.summary is not None and not last.summary.lite and last.summary.version == 2


async def test_an_important_omission_is_redone() -> None:
    kept = step(1).model_copy(update={"remembered": {"total": "¥1,280"}, "notes": ("order",)})
    whole = "I kept ¥1,280 as the total and wrote the note order."
    house = House(GOOD, whole)
    await house.write(kept)
    assert [c.status for c in house.changes] == [READY, STALE, READY]
    assert house.changes[0].reason == "left out: the kept value total, the note order"
    assert house.changes[-1].reason == "" and house.told[1] == whole
    repaired = step(2).model_copy(
        update={"recoveries": (Recovery(trigger="error", diagnosis="a dialog"),)}
    )
    house = House(GOOD, background_redos=1)
    await house.write(repaired)
    assert "the Failure Analyzer's intervention" in house.changes[0].reason


@pytest.mark.parametrize(
    ("text", "moved", "said"),
    [
        ("I tapped, and nothing changed on the screen.", True, "nothing changed"),
        ("I tapped; the screen stayed the same.", True, "screen stayed the same"),
        ("I tapped; the page did not change.", True, "page did not change"),
        ("The total was unchanged on the new page.", True, ""),
        ("The banner said “nothing changed” on the page.", True, ""),
        ("I waited until nothing changed any more.", True, ""),
        ("I tapped, and nothing changed on the screen.", False, ""),
        ("I tapped, and a new page was shown.", False, "a new page was shown"),
        ("I tapped; the dialog opened.", False, "dialog opened"),
        ("No dialog appeared after my tap.", False, ""),
        ("I expected a new page to be shown.", False, ""),
        ("I looked whether the dialog closed.", False, ""),
    ],
)
def test_only_what_is_told_as_seen_contradicts(text: str, moved: bool, said: str) -> None:
    verdict = Verdict.EXECUTED if moved else Verdict.NO_VISIBLE_CHANGE
    seen = step(1).model_copy(update={"verdict": verdict})
    if not moved:
        seen = seen.model_copy(update={"diff": ScreenDiff(changed=False)})
    found = contradiction(text, seen)
    assert f"“{said}”" in found if said else not found


def test_a_long_kept_value_need_not_be_told_whole() -> None:
    kept = step(1).model_copy(update={"remembered": {"text": "row “A”  and more of it. " * 40}})
    start = 'I kept row "A" and more of it. ' + "row 'A' and more of it. " * 8
    assert omissions(start.replace("'A'", '"A"'), kept) == ()
    assert omissions("I kept a text.", kept) == ("the kept value text",)


async def test_a_contradiction_of_the_validator_is_marked() -> None:
    house = House("I tapped the button, and nothing changed on the screen.")
    await house.write(step(1))
    summary = house.summaries.of(1)
    assert summary is not None and "nothing changed" in summary.conflict
    unmoved = step(1).model_copy(update={"diff": ScreenDiff(changed=False)})
    house = House("I tapped the button, and nothing changed on the screen.")
    await house.write(unmoved)
    summary = house.summaries.of(1)
    assert summary is not None and summary.conflict == ""


async def test_shadow_mode_writes_and_tells_nobody() -> None:
    house = House(GOOD, visual_step_summary_shadow=True)
    await house.write(step(1))
    assert house.changes[0].status is READY and house.told == {}


async def test_quota_pressure_goes_to_lite_then_pauses_then_comes_back() -> None:
    quota = ModelQuota("used up")
    house = House(quota, quota, GOOD, background_pause=30, background_redos=0)
    await house.write(*(step(n) for n in range(1, 12)))
    assert house.moves == ["lite", "paused", "lite", "running"]
    assert [r.lite for r in house.model.requests[:4]] == [False, True, False, True]
    assert house.clock.slept == [30.0]
    assert house.summaries.counts() == {FAILED: 2, READY: 9}


async def test_an_answer_beside_a_busy_operator_is_counted_by_its_own_name() -> None:
    house = House(GOOD)
    answers = iter(["busy_lane: let in", "model: full did not answer", "busy_lane: x; model: y"])
    generate = house.model.generate

    async def noted(request: ModelRequest) -> ModelReply:
        return (await generate(request)).model_copy(update={"fallback": next(answers)})

    house.model.generate = noted  # type: ignore[method-assign]
    await house.write(*(step(n) for n in range(1, 4)))
    kinds = [e.kind for e in house.recorder.of(FallbackUsed)]
    assert kinds == ["summaries_busy_lane", "summaries_model", "summaries_model"]


async def test_a_dead_model_makes_pauses_that_grow_and_no_step_is_lost() -> None:
    house = House(ModelUnavailable("503"), background_failures=3, background_redos=0)
    await house.write(*(step(n) for n in range(1, 9)))
    assert set(house.moves) == {"paused"}
    assert house.clock.slept == [30.0, 60.0, 120.0, 240.0, 480.0]
    assert house.summaries.counts() == {FAILED: 8}
    assert all(c.reason for c in house.changes)


async def test_closing_in_a_pause_leaves_the_rest_pending() -> None:
    house = House(ModelUnavailable("503"), background_failures=1, background_redos=0)
    held = asyncio.Event()

    async def never(seconds: float) -> None:
        held.set()
        await asyncio.Event().wait()

    house.clock.sleep = never  # type: ignore[method-assign]
    for number in range(1, 6):
        house.summaries.submit(step(number))
    await asyncio.wait_for(held.wait(), 5)
    await house.summaries.flush(0.01)
    await house.background.done()
    assert house.summaries.counts() == {FAILED: 1, SummaryStatus.PENDING: 4}
    again = House(GOOD)
    steps = [step(n) for n in range(1, 6)]
    states = {n: house.summaries.book.status(n) for n in range(1, 6)}
    again.summaries.take_up(steps, states, {})
    await again.background.done()
    assert again.summaries.counts() == {READY: 5}


@pytest.mark.parametrize(
    ("settings", "cost", "calls"),
    [({"background_tokens": 3_000}, 0.0, 3), ({"background_cost_usd": 0.5}, 0.2, 3)],
)
async def test_a_ceiling_stops_the_writing_visibly(
    settings: dict[str, float], cost: float, calls: int
) -> None:
    house = House(GOOD, cost=cost, **settings)
    await house.write(*(step(n) for n in range(1, 10)))
    assert len(house.model.requests) == calls
    assert house.moves == ["stopped"]
    assert house.summaries.counts() == {READY: 3, SummaryStatus.PENDING: 6}
    house.summaries.submit(step(10))
    await house.background.done()
    assert len(house.model.requests) == calls


def png(colour: str) -> bytes:
    stream = io.BytesIO()
    Picture.new("RGB", (360, 780), colour).save(stream, "PNG")
    return stream.getvalue()


async def with_pictures(artifacts: Artifacts, *, before: str, after: str) -> StepRecord:
    made = step(1)
    shot = await artifacts.put(png(before), "image/png")
    later = await artifacts.put(png(after), "image/png")
    return made.model_copy(
        update={
            "observation": made.observation.model_copy(update={"screenshot": shot}),
            "after": observation(2).model_copy(update={"screenshot": later}),
        }
    )


def images(request: ModelRequest) -> list[Image]:
    return [p for m in request.messages for p in m.parts if isinstance(p, Image)]


async def test_the_pictures_that_exist_are_sent_marked_and_named() -> None:
    house = House("I read the total of 4,711 in the picture of the page.")
    shown = await with_pictures(house.artifacts, before="white", after="navy")
    await house.write(shown)
    sent = images(house.model.requests[0])
    assert len(sent) == 2 and all(i.data.startswith(b"\xff\xd8") for i in sent)
    marked = Picture.open(io.BytesIO(sent[0].data)).convert("RGB")
    colours = marked.getcolors(marked.width * marked.height) or []
    reddish = sum(n for n, (r, g, b) in colours if r > 180 and g < 140 and b < 140)  # type: ignore[misc]
    assert reddish > 50, "the action's ring is drawn"
    (change,) = house.changes
    assert change.summary is not None
    evidence = change.summary.evidence
    assert evidence.decision_image_name == sent[0].ref.sha256
    assert evidence.post_image_name == sent[1].ref.sha256
    assert [p.sha256 for p in change.pictures] == [i.ref.sha256 for i in sent]
    assert change.summary.image_only == ("4,711",)


async def test_a_post_picture_that_is_not_independent_is_not_sent() -> None:
    house = House(GOOD)
    await house.write(await with_pictures(house.artifacts, before="white", after="white"))
    assert len(images(house.model.requests[0])) == 1
    house = House(GOOD, include_pre_image=False, include_post_image_when_available=False)
    await house.write(await with_pictures(house.artifacts, before="white", after="navy"))
    assert images(house.model.requests[0]) == []


async def test_waiting_for_a_range_ends_when_it_is_settled_or_hopeless() -> None:
    house = House(GOOD)
    for number in (1, 2, 3):
        house.summaries.submit(step(number))
    assert await house.summaries.settled(1, 2, 5)
    assert set(house.summaries.counts()) <= {READY, SummaryStatus.PENDING}
    await house.background.done()
    assert await house.summaries.settled(1, 9, 0.01), "what is not expected is not waited for"
