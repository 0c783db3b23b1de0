"""What the console shows of the memory: badges, chunks, background work, what was second best."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import event

from app.console.memory import read_fallbacks, read_memory
from app.console.regions import change
from app.console.templating import lasting
from app.domain.config import MemoryConfig
from app.domain.events import FallbackUsed, ModelCalled, TextRead, TextRefused, ToolServed
from app.domain.messages import Usage
from app.domain.screens import ArtifactRef
from app.domain.summaries import Boundary, Refusal, SummaryStatus
from app.domain.tasks import ModelCallRecord, TaskState
from tests.unit.console.stories import Story, begin, rich_story
from tests.unit.console.test_pages import sound
from tests.unit.console.test_regions import fragments, only_out_of_band, stored

STATES = {
    1: ("visual_ready", "summary ready"),
    2: ("visual_ready", "summary ready"),
    3: ("stale", "summary stale"),
    4: ("visual_ready", "summary ready"),
    5: ("visual_failed", "summary failed"),
    6: ("pending", "summary pending"),
    7: ("pending", "summary pending"),
}


def badges(text: str) -> dict[int, tuple[str, str]]:
    """State and words of every badge."""
    found = re.findall(
        r'id="summary-(\d+)" data-status="(\w+)".*?<span>(summary \w+)</span>', text, re.DOTALL
    )
    return {int(number): (status, words) for number, status, words in found}


async def get(http: httpx2.AsyncClient, story: Story, path: str = "") -> str:
    answer = await http.get(f"/tasks/{story.task_id}{path}")
    assert answer.status_code == 200, path
    sound(answer.text)
    return answer.text


async def after(story: Story, seq: int) -> list[Any]:
    return [stored_event for stored_event in await stored(story) if stored_event.seq > seq]


async def last_seq(story: Story) -> int:
    return (await stored(story))[-1].seq


# --- badges and summaries ----------------------------------------------------------------------


async def test_every_turn_tells_the_state_of_its_summary(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    text = await get(http, story)
    assert badges(text) == STATES
    assert text.count("badge-flag") == 1, "the summary that contradicts the validator"


async def test_a_step_without_a_summary_shows_no_badge(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app, switches={"visual_step_summary": False})
    await story.turn()
    text = await get(http, story)
    assert badges(text) == {}
    assert '<details class="badge" id="summary-1" hidden>' in text
    answer = await http.get(f"/tasks/{story.task_id}/steps/1/summary")
    assert answer.status_code == 404


async def test_a_change_of_state_pushes_the_badge_that_a_reload_shows(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    await story.turn()
    await story.summary_pending(1)
    viewer, seq = fragments(story), await last_seq(story)
    await story.summary_ready(1, "I tap the button.")
    message = await viewer.message(await after(story, seq))
    only_out_of_band(message)
    assert badges(message) == {1: ("visual_ready", "summary ready")}
    assert '<li class="turn' not in message, "the turn itself stays as it is"
    pushed = re.search(r'<details class="badge.*?</details>', message, re.DOTALL)
    assert pushed
    badge = pushed[0].replace(' hx-swap-oob="outerMorph"', "")
    assert badge in await get(http, story)


async def test_late_news_of_an_old_turn_never_adds_it_to_a_list(app: FastAPI) -> None:
    """A page shows the newest turns: what happens to an older one must not bring it in."""
    story = await begin(app)
    for _ in range(45):
        await story.turn(elements=("Next",))
    seq = await last_seq(story)
    await story.summary_pending(2)
    await story.chunk_closed(1, 3)
    await story.recorder.record(
        TextRead(
            step_number=1,
            screenshot=ArtifactRef(sha256="0" * 64, media_type="image/png", size=1),
            problem="the reader stopped",
        )
    )
    await story.turn()
    message = await fragments(story).message(await after(story, seq))
    only_out_of_band(message)
    added = re.findall(r"<hx-upsert.*?</hx-upsert>", message, re.DOTALL)
    assert [re.findall(r'<li class="turn[^>]*id="turn-(\d+)"', a) for a in added] == [["46"]]
    assert 'id="turn-1" data-n="1" hx-swap-oob="outerMorph"' in message
    assert re.search(r'id="summary-2"[^>]*hx-swap-oob="outerMorph"', message)
    assert re.search(r'id="boundary-3"[^>]*hx-swap-oob="outerMorph"', message)


async def test_a_summary_says_what_it_was_made_from(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    text = await get(http, story, "/steps/2/summary")
    shot = (await app.state.queries.steps.one(story.task_id, 2)).step.observation.screenshot
    assert "I tap “Catalogue” to find the base price $9.37." in text
    assert f"/artifacts/{shot.sha256}" in text
    for words in (
        "the picture before, the difference of the element lists",
        "gemini-3.8-flash",
        "prompt 3",
        "4.2 s after the step",
        "version 2",
        "1 attempt",
        "Version 1",
        "the badge on the picture “NEW”",
        '<span class="chip">NEW</span>',
    ):
        assert words in text, words
    assert text.index("to find the base price") < text.index("Version 1")


async def test_a_failed_summary_names_the_rules_that_refused_it(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    text = await get(http, story, "/steps/5/summary")
    for words in ("visual_failed", "2 attempts", "2 refusals", "judging word", "$26"):
        assert words in text, words
    conflict = await get(http, story, "/steps/4/summary")
    assert "Contradicts the validator" in conflict
    assert "the validator saw the screen change" in conflict
    assert "lite" in conflict
    pending = await get(http, story, "/steps/6/summary")
    assert "It is being written" in pending


# --- chunks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "where"), [("newest", "above"), ("oldest", "below")])
async def test_a_chunk_ends_between_two_turns(
    app: FastAPI, http: httpx2.AsyncClient, order: str, where: str
) -> None:
    story = await rich_story(app)
    text = await get(http, story, f"?order={order}")
    boundary = text.index('id="boundary-3" data-state="ready"')
    card = text.index('<article class="card" aria-label="Step 3"')
    assert (boundary < card) is (where == "above")
    four = text.index('<article class="card" aria-label="Step 4"')
    assert (four < boundary) is (where == "above")
    between = text[min(boundary, card) : max(boundary, card)] if where == "above" else text
    assert "closed at a change of app" in between
    assert "capsule ready v1" in text
    assert "capsule failed" in text
    assert "capsule pending" in text


async def test_the_three_bands_come_on_demand(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    address = re.search(r'hx-get="(/tasks/[^"]+/chunks/1)"', await get(http, story))
    assert address
    text = (await http.get(address[1])).text
    sound(text)
    for words in (
        "I compare the totals with the price list.",
        "Base price $9.37 (screen, step 1)",
        "The total for 5 is not read yet.",
        "I look for the price list.",
        "ready 9.5 s after it closed",
        "version 1",
    ):
        assert words in text, words
    lines = re.findall(r"<li>(Step \d.*?)</li>", text, re.DOTALL)
    assert [line.split(" ")[1] for line in lines] == ["1", "2", "3"]
    assert "→ executed" in lines[0]
    failed = await get(http, story, "/chunks/4")
    assert "No capsule passed the checks" in failed
    assert "Step 5" in failed
    assert (await http.get(f"/tasks/{story.task_id}/chunks/2")).status_code == 404


async def test_earlier_versions_of_a_capsule_stay_readable(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    await story.chunk_ready(1, 3, version=2, model="gemini-3.5-flash")
    text = await get(http, story, "/chunks/1")
    assert "version 2" in text
    assert "Version 1" in text


async def test_a_closed_chunk_and_its_capsule_are_pushed(app: FastAPI) -> None:
    story = await begin(app)
    for _ in range(3):
        await story.turn()
    viewer, seq = fragments(story), await last_seq(story)
    await story.chunk_closed(1, 3, boundary=Boundary.GOAL)
    closed = await viewer.message(await after(story, seq))
    only_out_of_band(closed)
    assert "closed at an instruction" in closed
    assert "capsule pending" in closed
    seq = await last_seq(story)
    await story.chunk_ready(1, 3)
    assert "capsule ready v1" in await viewer.message(await after(story, seq))


# --- background work ----------------------------------------------------------------------------


async def works(story: Story, **config: Any) -> dict[str, Any]:
    queries = story.app.state.queries
    task = await queries.tasks.get(story.task_id)
    view = await read_memory(queries, task, MemoryConfig(**config))
    return {work.name: work for work in view.works}


async def test_background_work_tells_its_state_and_why(app: FastAPI) -> None:
    story = await rich_story(app)
    found = await works(story)
    summaries, chunks = found["Step summaries"], found["Chunks"]
    assert (summaries.sign.word, summaries.reason) == (
        "with the lite model",
        "quota pressure: the service said 429",
    )
    assert (chunks.sign.word, chunks.reason) == ("stopped", "the ceiling of $2 is reached")
    assert {c.sign.word: c.number for c in summaries.counts} == {
        "pending": 2,
        "ready": 3,
        "failed": 1,
        "stale": 1,
    }
    assert {c.sign.word: c.number for c in chunks.counts} == {"pending": 1, "ready": 1, "failed": 1}
    await story.background("summaries", "running", "the lite model's answers came without trouble")
    assert (await works(story))["Step summaries"].sign.word == "writing"


async def test_work_that_is_switched_off_says_so(app: FastAPI) -> None:
    story = await begin(app, switches={"history_chunks": False})
    await story.turn()
    await story.summary_pending(1)
    found = await works(story)
    assert found["Chunks"].sign.word == "off"
    assert found["Step summaries"].sign.word == "writing"
    assert (await works(story, pro_memory_enabled=False))["Step summaries"].sign.word == "off"
    await story.ends(TaskState.COMPLETED)
    late = (await works(story))["Step summaries"]
    assert (late.sign.word, late.reason) == (
        "goes on at the next start",
        "1 left when the task ended",
    )
    await story.summary_ready(1, "I tap the button.")
    assert (await works(story))["Step summaries"].sign.word == "up to date"


async def test_background_spend_stands_against_its_ceiling(app: FastAPI) -> None:
    story = await begin(app)
    await story.turn()
    await story.recorder.record(_background_call(story, "summarizer", tokens=1_500, cost=0.5))
    summaries = (await works(story, background_tokens=6_000, background_cost_usd=2.0))[
        "Step summaries"
    ]
    assert [(m.name, m.used, m.limit, m.percent) for m in summaries.meters] == [
        ("tokens", "1.5K", "6.0K", 25.0),
        ("spent", "$0.50", "$2.00", 25.0),
    ]


async def test_refused_answers_are_counted_by_rule(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await begin(app)
    await story.turn()
    judging = Refusal(rule="judging_word", detail="“successfully”")
    invented = Refusal(rule="value_without_source", detail="$26")

    def refused(kind: Any, *refusals: Refusal) -> TextRefused:
        return TextRefused(kind=kind, step_number=1, model="m", refusals=refusals)

    await story.recorder.record(
        refused("summaries", judging, invented),
        refused("summaries", judging),
        refused("chunks", invented),
    )
    found = await works(story)
    assert found["Step summaries"].refused == (("judging_word", 2), ("value_without_source", 1))
    assert found["Chunks"].refused == (("value_without_source", 1),)
    assert "judging word 2×, value without source 1×" in await get(http, story)


async def test_a_summariser_that_fails_marks_no_turn(app: FastAPI) -> None:
    """A dead service fails for every step: the badge and the state tell it, once."""
    story = await begin(app)
    await story.turn()
    seq = await last_seq(story)
    call = _background_call(story, "summarizer", outcome="model_unavailable")
    await story.recorder.record(call)
    what = change(await after(story, seq))
    assert what.changed == frozenset()
    assert "memory" in what.regions


async def test_pictures_that_nobody_reads_are_told(app: FastAPI) -> None:
    story = await begin(app)
    await story.turn()
    assert "Texts in pictures" not in await works(story)
    shot = ArtifactRef(sha256="0" * 64, media_type="image/png", size=1)
    await story.recorder.record(
        TextRead(step_number=1, screenshot=shot, lines=4),
        TextRead(step_number=1, screenshot=shot, problem="the reader stopped"),
    )
    found = (await works(story))["Texts in pictures"]
    assert {c.sign.word: c.number for c in found.counts} == {"read": 1, "not read": 1}
    assert found.reason == "the reader stopped"
    await story.recorder.record(
        FallbackUsed(kind="no_ocr", detail="the extra is not installed", step_number=1)
    )
    found = (await works(story))["Texts in pictures"]
    assert (found.sign.word, found.reason) == ("off", "the extra is not installed")


def _background_call(
    story: Story, role: str, *, tokens: int = 0, cost: float = 0.0, outcome: str = "ok"
) -> ModelCalled:
    return ModelCalled(
        call=ModelCallRecord(
            call_id=f"{story.task_id}-{role}",
            role=role,
            step_number=1,
            outcome=outcome,
            usage=Usage(prompt=tokens),
            cost_usd=cost,
        )
    )


async def test_figures_of_the_whole_task_come_on_demand(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    address = re.search(r'hx-get="(/tasks/[^"]+/figures)"', await get(http, story))
    assert address
    text = (await http.get(address[1])).text
    sound(text)
    assert f'href="/tasks/{story.task_id}/steps/4#summary">step 4</a>' in text, "the conflict"
    assert "1 without a trigger" in text
    assert "5 versions" in text
    assert "4.2 s" in text


# --- second best --------------------------------------------------------------------------------


async def test_fallbacks_are_counted_by_kind_with_their_last_detail(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    empty = await get(http, story)
    assert "never used" in empty
    for number, kind in enumerate(("no_tree", "model", "no_tree"), 1):
        await story.turn(extra=[FallbackUsed(kind=kind, detail=f"d{number}", step_number=number)])
    found = await read_fallbacks(app.state.queries, story.task_id)
    assert [tuple(kind) for kind in found.kinds] == [("no tree", 2, "d3", 3), ("model", 1, "d2", 2)]
    assert found.total == 3
    assert "3 times" in await get(http, story)


async def test_recalls_without_a_trigger_are_counted(app: FastAPI) -> None:
    story = await begin(app)

    def recall(number: int, trigger: str, name: str = "recall_history") -> ToolServed:
        return ToolServed(step_number=number, name=name, args={}, result="", trigger=trigger)

    await story.turn(tools=[recall(1, "an old value"), recall(1, ""), recall(1, "", "read_note")])
    await story.turn(tools=[recall(2, ""), recall(2, "an old value"), recall(2, "the same screen")])
    found = await read_fallbacks(app.state.queries, story.task_id)
    assert (found.recalls, found.untriggered, found.untriggered_step) == (5, 2, 2)
    assert dict(found.triggers) == {"an old value": 2, "the same screen": 1}


# --- one step, as it was ------------------------------------------------------------------------


async def test_a_step_is_replayed_with_what_was_known_then(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    text = await get(http, story, "/steps/4")
    believed = text[text.index('aria-label="Believed state"') :]
    assert "Checkout" in believed
    checks = text[text.index('aria-label="Required checks"') :].split("</section>")[0]
    assert checks.count("not seen yet") == 2, "one of them was closed by step 5"
    assert "Notes at this step" not in text
    assert "I set the quantity to “3”" in text
    assert "Chunk of steps 4 to 5" in text
    assert "Notes at this step" in await get(http, story, "/steps/7")
    first = await get(http, story, "/steps/1")
    assert "Nothing yet when it decided" in first
    assert "After the step" in first
    both = await get(http, story, "/steps/2")
    assert "to find the base price" in both
    assert "the badge on the picture" in both, "all versions"


async def test_only_the_agent_s_own_prompt_decided_a_step(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    await story.turn()
    await story.recorder.record(_background_call(story, "summarizer"))
    address = f"/tasks/{story.task_id}/steps/1/prompt"
    assert (await http.get(address)).headers["location"].endswith(f"{story.task_id}-c1")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4.23, "4.2 s"), (119, "119.0 s"), (120, "2 min"), (7_200, "2 h"), (12_120_143, "140 days")],
)
def test_a_time_to_ready_reads_well_however_long(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


# --- cost ---------------------------------------------------------------------------------------


@contextmanager
def statements(app: FastAPI) -> Iterator[list[str]]:
    """The questions that the pages ask the store."""
    asked: list[str] = []
    engine = app.state.queries.tasks._db._engine.sync_engine

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("SELECT"):
            asked.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


async def test_forty_badges_cost_as_many_questions_as_one(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    await story.turn()
    await story.summary_pending(1)
    with statements(app) as one:
        await get(http, story)
    for number in range(2, 41):
        await story.turn()
        await story.summary_pending(number)
        await story.summary_moved(
            number,
            SummaryStatus.VISUAL_FAILED,
            refusals=(Refusal(rule="third_person", detail="the user"),),
        )
        if number % 10 == 0:
            await story.chunk_closed(number - 9, number)
    with statements(app) as forty:
        text = await get(http, story)
    assert len(badges(text)) == 40
    assert one
    assert len(forty) == len(one)
