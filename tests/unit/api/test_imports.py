"""Importing over the API: only recordings in the data directory, whole or with the line named."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx2
import pytest

from app.tasks.archive import FOLDER, lay_in

RUNS = Path(__file__).parents[2] / "data" / "trajectories"
API = "/api/v1"


async def test_a_recording_becomes_a_task_and_goes_with_it(
    http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    name = lay_in(RUNS / "aw-text-calendar-two-weeks-20", data)
    made = await http.post(f"{API}/imports", json={"name": name})
    task = made.json()
    assert (made.status_code, task["steps"]) == (201, 20)
    assert made.headers["location"] == f"{API}/tasks/{task['task_id']}"
    left = (await http.get(f"{API}/imports/{task['task_id']}", params={"wait": 50})).json()
    task_id = task["task_id"]
    assert left == {
        "task": task_id, "pictures": 0, "problem": "", "writing": False, "settled": True
    }  # fmt: skip
    events = (await http.get(f"{API}/tasks/{task_id}/events", params={"limit": 500})).json()
    written = [e["event"] for e in events["events"] if e["event"]["type"] == "summary_changed"]
    ready = {e["step_number"] for e in written if e["status"] == "visual_ready"}
    assert ready == set(range(1, 21))
    query = {"query": "Meeting with HR", "include_details": True}
    found = (await http.post(f"{API}/tasks/{task['task_id']}/recall", json=query)).json()
    assert set(found) == {"results", "tokens", "truncated"}
    assert {"step_number", "kind", "excerpt", "score"} <= set(found["results"][0])
    scores = [hit["score"] for hit in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert (await http.delete(f"{API}/tasks/{task['task_id']}")).status_code == 204
    assert not (data / FOLDER / name).exists()


async def test_a_broken_line_is_named(http: httpx2.AsyncClient, tmp_path: Path) -> None:
    folder = tmp_path / "data" / FOLDER / "broken"
    shutil.copytree(RUNS / "aw-text-calendar-two-weeks-20", folder)
    path = folder / "steps.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:6], lines[6][:-9], *lines[7:]]))
    answer = await http.post(f"{API}/imports", json={"name": "broken"})
    assert answer.status_code == 422
    assert "line 7" in answer.json()["detail"]
    assert (await http.get(f"{API}/tasks")).json()["total"] == 0
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "status"), [("..", 422), ("a/b", 422), ("/etc", 422), ("", 422), ("none", 404)]
)
async def test_nothing_else_is_read(http: httpx2.AsyncClient, name: str, status: int) -> None:
    assert (await http.post(f"{API}/imports", json={"name": name})).status_code == status


async def test_an_unknown_task_has_no_import(http: httpx2.AsyncClient) -> None:
    assert (await http.get(f"{API}/imports/none")).status_code == 404
