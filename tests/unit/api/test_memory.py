"""Summaries, chunks, their rejection and a task's figures over REST."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from app.domain.actions import Verdict
from app.domain.events import Compacted, FallbackUsed, LoopNoticed, TextRefused, ToolServed
from app.domain.memory import ZoneTokens
from app.domain.summaries import Refusal, SummaryStatus
from app.domain.tasks import Recovery, TaskState
from tests.unit.console.stories import Story, begin, tap


def base(story: Story) -> str:
    return f"/api/v1/tasks/{story.task_id}"


async def read(http: httpx2.AsyncClient, story: Story, part: str, **params: Any) -> Any:
    answer = await http.get(f"{base(story)}/{part}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def seven_steps(app: FastAPI) -> Story:
    story = await begin(app)
    await story.opened()
    for number in range(1, 8):
        recovery = Recovery(trigger="no change", diagnosis="a dialog")
        loop = LoopNoticed(step_number=5, detail="the same tap came twice without effect")
        recall = ToolServed(
            step_number=4,
            name="recall_history",
            args={"query": "base price"},
            result="Step 2 (screen): Base price $9.37 a unit",
        )
        await story.turn(
            tap(0, f"Row {number}"),
            verdict=Verdict.ERROR if number == 6 else Verdict.EXECUTED,
            recoveries=[recovery] if number == 6 else [],
            tools=[recall] if number == 4 else [],
            extra=[loop] if number == 5 else [],
        )
    return story


async def written(app: FastAPI) -> Story:
    """Seven steps, of which four have a summary, and one chunk with its capsule."""
    story = await seven_steps(app)
    for number in range(1, 7):
        await story.summary_pending(number)
    for number in range(1, 5):
        await story.summary_ready(number, f"I looked at the list, as step {number} says.")
    await story.summary_moved(2, SummaryStatus.STALE)
    await story.summary_ready(2, "I looked at “4,711” twice.", 2, image_only=("4,711",))
    await story.summary_moved(3, SummaryStatus.STALE)
    await story.summary_ready(3, "Nothing changed.", 2, conflict="says “Nothing changed”")
    await story.summary_moved(
        5,
        SummaryStatus.VISUAL_FAILED,
        attempts=2,
        refusals=(Refusal(rule="judging_word", detail="“failed” judges"),),
        reason="refused by the checks",
    )
    await story.chunk_closed(1, 4)
    await story.chunk_ready(1, 4)
    await story.chunk_ready(1, 4, 2, over_length=True)
    return story


async def test_summaries_come_in_pages_and_whole(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await written(app)
    page = await read(http, story, "summaries", limit=4)
    assert [s["step_number"] for s in page["summaries"]] == [1, 2, 3, 4]
    assert page["summaries"][1]["versions"][0]["version"] == 2
    assert page["summaries"][2]["versions"][0]["conflict"] == "says “Nothing changed”"
    assert page["next_after"] == 4
    rest = await read(http, story, "summaries", after=4)
    assert [(s["status"], s["attempts"]) for s in rest["summaries"]] == [
        ("visual_failed", 2),
        ("pending", 0),
    ]
    assert rest["summaries"][0]["refusals"][0]["rule"] == "judging_word"
    assert rest["next_after"] is None
    one = await read(http, story, "summaries/2")
    assert [v["version"] for v in one["versions"]] == [1, 2]
    assert one["versions"][0]["evidence"]["seconds_to_ready"] == 4.2
    assert (await http.get(f"{base(story)}/summaries/7")).status_code == 404


async def test_chunks_come_with_all_versions(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await written(app)
    (chunk,) = await read(http, story, "chunks")
    assert (chunk["start_step"], chunk["version"], chunk["attempts"]) == (1, 2, 1)
    view = await read(http, story, "chunks/1")
    assert [v["version"] for v in view["versions"]] == [1, 2]
    assert (await http.get(f"{base(story)}/chunks/2")).status_code == 404


async def test_the_figures_count_the_whole_record(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await written(app)
    rules = (Refusal(rule="judging_word", detail="x"), Refusal(rule="list", detail="y"))
    nothing = "Nothing recorded matches. Nothing was invented in its place."
    await story.recorder.record(
        TextRefused(kind="summaries", step_number=5, model="m", refusals=rules),
        TextRefused(kind="summaries", step_number=5, model="m", refusals=rules[:1]),
        TextRefused(kind="chunks", step_number=4, model="m", refusals=rules[1:]),
        ToolServed(
            step_number=6,
            name="recall_history",
            args={"query": "z"},
            result=nothing,
            trigger="an old exact value is needed",
        ),
        FallbackUsed(kind="model", detail="another one", step_number=6),
        Compacted(step_number=6, before=ZoneTokens(frozen=4_000), after=ZoneTokens(frozen=900)),
        ToolServed(step_number=6, name="notes", args={}, result="no recall_history here"),
    )
    told = await read(http, story, "figures")
    assert told["steps"] == 7
    assert told["verdicts"] == {"executed": 6, "error": 1}
    assert told["repeated_actions"] == 1 and told["analyzer_activations"] == 1
    assert (told["recalls"], told["recall_hits"], told["recalls_without_trigger"]) == (2, 1, 1)
    assert told["conflicts"] == [3] and told["compactions"] == 1
    assert told["fallbacks"] == {"model": 1} and told["waits"] == 0
    assert told["turn"]["count"] == 7 and told["step_interval"]["count"] == 6
    assert told["history_tokens"] > 0
    summaries, chunks = told["summaries"], told["chunks"]
    assert summaries["states"] == {"visual_ready": 4, "visual_failed": 1, "pending": 1}
    assert summaries["versions"] == 6 and summaries["image_only"] == 1
    assert summaries["refused"] == 2
    assert summaries["refusals"] == {"judging_word": 2, "list": 1}
    assert summaries["ready"] == {"count": 6, "median": 4.2, "p95": 4.2, "longest": 4.2}
    assert chunks["states"] == {"ready": 1} and chunks["versions"] == 2
    assert chunks["refusals"] == {"list": 1} and chunks["ready"]["longest"] == 9.5


async def test_a_task_without_anything_has_figures(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await seven_steps(app)
    told = await read(http, story, "figures")
    assert told["summaries"]["ready"]["count"] == 0 and told["conflicts"] == []
    for part in ("figures", "summaries", "chunks", "summaries/1", "chunks/1"):
        assert (await http.get(f"/api/v1/tasks/unknown/{part}")).status_code == 404, part


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 422, "nothing is rejected"),
        ({"steps": [0]}, 422, ""),
        ({"steps": [6]}, 409, "still to be written"),
        ({"steps": [1, 7]}, 404, "no summary"),
        ({"chunk": 6}, 404, "no closed chunk"),
        ({"steps": [1], "why": "x"}, 422, ""),
    ],
)
async def test_what_cannot_be_rejected_is_told(
    app: FastAPI, http: httpx2.AsyncClient, body: dict[str, Any], status: int, says: str
) -> None:
    story = await written(app)
    answer = await http.post(f"{base(story)}/resummarise", json=body)
    assert answer.status_code == status
    assert says in answer.json()["detail"]
    (first, *_) = (await read(http, story, "summaries"))["summaries"]
    assert first["status"] == "visual_ready", "nothing was changed"


async def test_rejected_texts_are_written_anew(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await written(app)
    await story.ends(TaskState.COMPLETED, "17")
    body = {"steps": [1, 5], "chunk": 3, "reason": "the price is missing"}
    answer = await http.post(f"{base(story)}/resummarise", json=body)
    assert answer.status_code == 202, answer.text
    async with asyncio.timeout(20):
        while True:
            one = await read(http, story, "summaries/1")
            five = await read(http, story, "summaries/5")
            view = await read(http, story, "chunks/1")
            done = one["status"] == five["status"] == "visual_ready"
            if done and view["chunk"]["version"] == 3:
                break
            await asyncio.sleep(0.02)
    assert [v["version"] for v in one["versions"]] == [1, 2]
    assert five["versions"], "what had failed is written as well"
    events = await app.state.queries.tasks.events_of(story.task_id, "summary_changed")
    reasons = [e.event.reason for e in events if e.event.step_number == 1]
    assert "rejected by api: the price is missing" in reasons
    (chunk,) = await app.state.queries.tasks.events_of(story.task_id, "chunk_changed", limit=1)
    assert chunk.event.reason == "rejected by api: the price is missing"
