"""Steps, prompts, artifacts and events over REST."""

from __future__ import annotations

import json

import httpx2
import pytest
from fastapi import FastAPI

from app.domain.tasks import TaskState
from tests.unit.console.stories import Story, begin, picture, rich_story


def base(story: Story) -> str:
    return f"/api/v1/tasks/{story.task_id}"


async def test_a_step_comes_whole_and_in_a_list(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    page = (await http.get(f"{base(story)}/steps", params={"limit": 3})).json()
    assert [step["step_number"] for step in page["steps"]] == [1, 2, 3]
    assert page["next_after"] == 3
    last = (await http.get(f"{base(story)}/steps", params={"after": 3, "limit": 50})).json()
    assert [step["step_number"] for step in last["steps"]] == [4, 5, 6, 7]
    assert last["next_after"] is None
    step = (await http.get(f"{base(story)}/steps/5")).json()
    assert step["verdict"] == "no_visible_change"
    assert step["observation"]["tree"]["elements"][1]["text"] == "Apply discount"
    assert (await http.get(f"{base(story)}/steps/99")).status_code == 404


async def test_everything_recorded_can_be_read(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    calls = (await http.get(f"{base(story)}/calls", params={"step": 4})).json()["calls"]
    assert [call["role"] for call in calls] == ["operator"]
    prompt = await http.get(f"{base(story)}/calls/{calls[0]['call_id']}/prompt")
    assert prompt.json()["step_number"] == 4
    assert [
        r["plan"]["revision"] for r in (await http.get(f"{base(story)}/plan-revisions")).json()
    ] == [1, 2]
    assert len((await http.get(f"{base(story)}/checks")).json()) == 2
    assert (await http.get(f"{base(story)}/notes")).json()[0]["key"] == "prices"
    world = (await http.get(f"{base(story)}/world")).json()
    assert world["world"]["current_page"] == "Checkout"
    assert world["remembered"][0]["value"] == "$9.37"
    recall = await http.post(f"{base(story)}/recall", json={"query": "discount"})
    assert recall.json()["results"]
    for part in ("steps", "calls", "plan-revisions", "checks", "notes", "world", "events"):
        assert (await http.get(f"/api/v1/tasks/unknown/{part}")).status_code == 404, part


async def picture_of(story: Story, http: httpx2.AsyncClient, number: int = 1) -> str:
    step = (await http.get(f"{base(story)}/steps/{number}")).json()
    return str(step["observation"]["screenshot"]["sha256"])


async def test_a_picture_is_served_for_good(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    path = f"{base(story)}/artifacts/{await picture_of(story, http)}"
    answer = await http.get(path)
    assert answer.content == picture(1)
    assert answer.headers["content-type"] == "image/png"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = await http.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


@pytest.mark.parametrize(
    ("asked", "status", "first", "last"),
    [
        ("bytes=0-9", 206, 0, 9),
        ("bytes=10-", 206, 10, None),
        ("bytes=-5", 206, -5, None),
        ("bytes=0-999999999", 206, 0, None),
        ("bytes=999999999-", 416, 0, 0),
        ("bytes=9-3", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=-", 416, 0, 0),
        ("bytes=0-1,4-5", 200, 0, None),
        ("lines=1-2", 200, 0, None),
    ],
)
async def test_a_range_is_answered_as_the_rules_say(
    app: FastAPI,
    http: httpx2.AsyncClient,
    asked: str,
    status: int,
    first: int,
    last: int | None,
) -> None:
    story = await begin(app)
    await story.turn()
    path = f"{base(story)}/artifacts/{await picture_of(story, http)}"
    answer = await http.get(path, headers={"Range": asked})
    whole = picture(1)
    assert answer.status_code == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(whole)}"
        return
    expected = whole[first:] if last is None else whole[first : last + 1]
    assert answer.content == expected
    if status == 206:
        start = first if first >= 0 else len(whole) + first
        end = start + len(expected) - 1
        assert answer.headers["content-range"] == f"bytes {start}-{end}/{len(whole)}"


async def test_another_tasks_artifact_is_not_found(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await begin(app)
    await story.turn()
    sha = await picture_of(story, http)
    other = await begin(app, "other", device="other")
    assert (await http.get(f"{base(other)}/artifacts/{sha}")).status_code == 404
    assert (await http.get(f"{base(story)}/artifacts/{'0' * 64}")).status_code == 404
    assert (await http.get(f"{base(story)}/artifacts/..%2f..%2fetc")).status_code in (404, 422)


async def test_what_a_browser_could_run_is_only_saved(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    markup = b"<script>alert(1)</script>"
    refs = {
        kind: await app.state.artifacts.put(markup + kind.encode(), kind)
        for kind in ("text/html", "image/svg+xml", "text/xml", "text/plain")
    }
    shown = await story.observation(["x"], picture(1))
    for number, (kind, ref) in enumerate(refs.items(), 1):
        story.number = number - 1
        await story.turn(source_ref=ref)
        answer = await http.get(f"{base(story)}/artifacts/{ref.sha256}")
        expected = "text/plain" if kind == "text/plain" else "application/octet-stream"
        assert answer.headers["content-type"].startswith(expected), kind
        assert answer.headers["content-disposition"].startswith("attachment")
    assert shown.tree.elements


async def test_events_come_in_pages_without_gaps(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    seen: list[int] = []
    while True:
        params = {"after": seen[-1] if seen else 0, "limit": 7}
        page = (await http.get(f"{base(story)}/events", params=params)).json()
        if not page["events"]:
            break
        seen += [event["seq"] for event in page["events"]]
    assert seen == list(range(1, page["last_seq"] + 1))


async def test_a_stream_ends_with_its_task_and_resumes(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    await story.turn()
    await story.ends(TaskState.COMPLETED)
    answer = await http.get(f"{base(story)}/events/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: ")
    ]
    numbers = [event["seq"] for event in events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert events[-1]["event"]["state"] == "completed"
    rest = await http.get(
        f"{base(story)}/events/stream", headers={"Last-Event-ID": str(numbers[-2])}
    )
    assert rest.text.count("data: ") == 1
    done = await http.get(
        f"{base(story)}/events/stream", headers={"Last-Event-ID": str(numbers[-1])}
    )
    assert done.status_code == 204


async def test_health_tells_the_truth(app: FastAPI, http: httpx2.AsyncClient) -> None:
    await begin(app)
    assert (await http.get("/healthz")).json()["status"] == "ok"
    assert (await http.get("/readyz")).json()["status"] == "ok"
    health = (await http.get("/api/v1/health")).json()
    assert health["figures"]["by_state"] == {"running": 1}
    assert health["providers"] == ["offline"]
