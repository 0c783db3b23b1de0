"""Submitting, listing, reading and controlling tasks over REST."""

from __future__ import annotations

import time

import httpx2
from fastapi import FastAPI

from app.domain.tasks import TaskState
from tests.unit.console.stories import begin, rich_story

TASKS = "/api/v1/tasks"


async def add_device(http: httpx2.AsyncClient, name: str = "pixel") -> None:
    # A replay device without a recording: its tasks fail, but can be submitted.
    body = {"platform": "android", "server_url": "http://127.0.0.1:9"}
    answer = await http.put(f"/api/v1/devices/{name}", json=body)
    assert answer.status_code == 200, answer.text


async def test_a_task_is_submitted_once_per_key(http: httpx2.AsyncClient) -> None:
    await add_device(http)
    body = {"goal": "open Settings", "device": "pixel"}
    first = await http.post(TASKS, json=body, headers={"Idempotency-Key": "k1"})
    again = await http.post(TASKS, json=body, headers={"Idempotency-Key": "k1"})
    assert first.status_code == again.status_code == 201
    assert first.json()["task_id"] == again.json()["task_id"]
    assert first.headers["location"] == f"{TASKS}/{first.json()['task_id']}"
    other = await http.post(TASKS, json={**body, "goal": "x"}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["code"] == "conflict"


async def test_what_cannot_be_used_is_said_with_its_place(http: httpx2.AsyncClient) -> None:
    for body, where in (
        ({"goal": "", "device": "pixel"}, "body.goal"),
        ({"goal": "x"}, "body.device"),
        ({"goal": "x", "device": "pixel", "limits": {"steps": 0}}, "body.limits.steps"),
        ({"goal": "x", "device": "pixel", "gaol": 1}, "body.gaol"),
    ):
        answer = await http.post(TASKS, json=body)
        assert answer.status_code == 422
        assert [field["where"] for field in answer.json()["fields"]] == [where]
    unknown = await http.post(TASKS, json={"goal": "x", "device": "nobody"})
    assert unknown.status_code == 422
    assert "nobody" in unknown.json()["detail"]


async def test_the_list_is_filtered_and_paged(app: FastAPI, http: httpx2.AsyncClient) -> None:
    stories = [await begin(app, f"goal number {i}", device=f"d{i}") for i in range(5)]
    await stories[0].ends(TaskState.FAILED, reason="no device")
    page = (await http.get(TASKS, params={"limit": 2})).json()
    assert [task["spec"]["goal"] for task in page["tasks"]] == ["goal number 4", "goal number 3"]
    rest = (await http.get(TASKS, params={"limit": 9, "cursor": page["next_cursor"]})).json()
    assert len(rest["tasks"]) == 3
    assert rest["next_cursor"] == ""
    failed = (await http.get(TASKS, params={"state": "failed"})).json()
    assert [task["task_id"] for task in failed["tasks"]] == [stories[0].task_id]
    found = (await http.get(TASKS, params={"q": "NUMBER 3", "device": "d3"})).json()
    assert [task["task_id"] for task in found["tasks"]] == [stories[3].task_id]
    assert (await http.get(TASKS, params={"cursor": "nonsense"})).status_code == 422


async def test_a_long_poll_returns_at_the_end_of_the_task(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    began = time.monotonic()
    running = await http.get(f"{TASKS}/{story.task_id}", params={"wait": 0.2})
    assert running.json()["state"] == "running"
    assert time.monotonic() - began >= 0.2
    await story.ends(TaskState.COMPLETED, answer="done")
    ended = await http.get(f"{TASKS}/{story.task_id}", params={"wait": 30})
    assert ended.json()["answer"] == "done"


async def test_controls_that_the_state_does_not_allow_are_conflicts(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    await story.ends(TaskState.COMPLETED)
    for control in ("pause", "resume", "look"):
        answer = await http.post(f"{TASKS}/{story.task_id}/{control}")
        assert answer.status_code == 409, control
    for control, body in (
        ("inject", {"text": "hello"}),
        ("answer", {"question_id": "q", "text": "yes"}),
        ("decide", {"question_id": "q", "approved": True}),
    ):
        answer = await http.post(f"{TASKS}/{story.task_id}/{control}", json=body)
        assert answer.status_code == 409, control


async def test_a_task_is_deleted_with_its_evidence(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await rich_story(app)
    assert (await http.delete(f"{TASKS}/{story.task_id}")).status_code == 409
    await story.ends(TaskState.FAILED)
    assert (await http.delete(f"{TASKS}/{story.task_id}")).status_code == 204
    assert (await http.get(f"{TASKS}/{story.task_id}")).status_code == 404


async def test_wrong_addresses_and_methods_are_problems(http: httpx2.AsyncClient) -> None:
    for method, path, status in (
        ("GET", "/api/v1/nothing", 404),
        ("GET", f"{TASKS}/unknown", 404),
        ("PATCH", TASKS, 405),
        ("GET", f"{TASKS}/with%20space", 422),
    ):
        answer = await http.request(method, path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
