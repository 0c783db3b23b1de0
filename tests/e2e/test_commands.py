"""Commands as a person types them: exit codes, and a word for everything that is wrong."""

from __future__ import annotations

import json
import time
from pathlib import Path

from app.domain.events import InstructionInjected
from app.domain.tasks import TaskState
from tests.e2e.stack import Server, until

PATIENT = 'open "Clock"; repeat 60 times: wait 1 s; end; answer "waited"'


def running(server: Server, goal: str = PATIENT) -> str:
    """A task under way that has time."""
    done = server.command("run", goal, "--detach", "--json")
    assert done.returncode == 0, done.stderr
    task_id = str(json.loads(done.stdout)["task"])
    until("its first step", lambda: server.task(task_id).steps >= 1)
    return task_id


def test_a_run_ends_with_the_code_of_its_end(server: Server, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(
        '{"type": "object", "properties": {"model": {"type": "string"}}, "required": ["model"]}'
    )
    goal = 'open "Settings"; tap "About phone"; read "Model" as model; answer "It is {model}."'
    done = server.run(goal, "--schema", str(schema))
    assert (done["exit_code"], done["state"]) == (0, "completed")
    assert done["answer"] == f"It is {done['data']['model']}."
    failed = server.command("run", 'open "Shop"; give up "too dear"')
    assert failed.returncode == 1
    assert "failed after 2 steps: too dear" in failed.stdout
    limited = server.run(PATIENT, "--steps", "2")
    assert (limited["exit_code"], limited["code"]) == (1, "limit_steps")


def test_what_cannot_run_is_an_error_that_says_so(server: Server, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for words, told in (
        (("run", PATIENT, "--device", "nokia"), "there is no device 'nokia'"),
        (("run", PATIENT, "--models", "gemini"), "'gemini' are not available"),
        (("run", PATIENT, "--schema", str(broken)), "is not a JSON file"),
        (("run", "  "), "goal is empty"),
        (("tasks", "show", "nosuchtask"), "no task nosuchtask"),
        (("tasks", "say", "nosuchtask", "hello"), "no task nosuchtask"),
        (("tasks", "list", "--state", "sleeping"), "'sleeping' is not one of"),
        (("devices", "test", "nokia"), "nokia"),
        (("delete", "nosuchtask"), "no task nosuchtask"),
    ):
        done = server.command(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert told in done.stderr, (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_a_running_task_is_paused_told_resumed_and_cancelled(server: Server) -> None:
    task_id = running(server)
    assert server.command("tasks", "pause", task_id).returncode == 0
    until("the pause", lambda: server.task(task_id).state is TaskState.PAUSED)
    again = server.command("tasks", "pause", task_id)
    assert again.returncode == 2
    assert "paused already" in again.stderr
    assert server.command("tasks", "say", task_id, 'open "Notes"').returncode == 0
    assert server.command("tasks", "resume", task_id).returncode == 0
    until("the instruction", lambda: "launch Notes" in actions(server, task_id))
    early = server.command("delete", task_id)
    assert early.returncode == 2
    assert "Cancel it first" in early.stderr
    assert server.command("tasks", "cancel", task_id).returncode == 0
    until("the end", lambda: server.task(task_id).state is TaskState.CANCELLED)
    said = [e.event for e in server.events(task_id) if isinstance(e.event, InstructionInjected)]
    assert [i.instruction.text for i in said] == ['open "Notes"']
    late = server.command("tasks", "say", task_id, "hello")
    assert late.returncode == 2
    assert "cancelled" in late.stderr


def actions(server: Server, task_id: str) -> list[str]:
    return [s["action_text"] for s in server.get(f"/tasks/{task_id}/steps", limit=200)["steps"]]


def test_tasks_and_devices_are_listed_shown_and_deleted(server: Server) -> None:
    done = server.run('open "Reader"; answer "read"')
    task_id = done["task"]
    assert task_id in server.command("tasks", "list").stdout
    listed = json.loads(server.command("tasks", "list", "--json", "--state", "completed").stdout)
    assert task_id in [task["task_id"] for task in listed]
    shown = server.command("tasks", "show", task_id).stdout
    assert "launch Reader → executed" in shown
    assert "answer: read" in shown
    document = json.loads(server.command("tasks", "show", task_id, "--json").stdout)
    assert [s["step_number"] for s in document["step_records"]] == [1, 2]
    assert server.command("delete", task_id).returncode == 0
    assert server.command("tasks", "show", task_id).returncode == 2
    devices = json.loads(server.command("devices", "list", "--json").stdout)
    assert "demo" in [d["name"] for d in devices]
    assert "token" not in json.dumps(devices)
    tested = server.command("devices", "test", "demo", "--json")
    assert tested.returncode == 0, tested.stderr
    assert json.loads(tested.stdout)["ok"] is True


def test_the_doctor_finds_the_programs_and_the_server(server: Server) -> None:
    done = server.command("doctor", "--json")
    findings = {f["name"]: f for f in json.loads(done.stdout)}
    assert done.returncode == 0
    assert all(findings[n]["ok"] for n in ("Python", "Node.js", "Appium", "Chromium", "Data"))
    assert findings["Server"]["ok"] is True
    assert server.address in findings["Server"]["detail"]
    nowhere = server.command("doctor", ARTEMIS_CHROMIUM="/nowhere/chromium")
    assert nowhere.returncode == 1
    assert "✕ Chromium" in nowhere.stdout


def test_a_second_server_leaves_the_data_to_the_first(server: Server) -> None:
    done = server.command("serve", "--port", "0")
    assert done.returncode == 2
    assert f"is used by process {server.pid}" in done.stderr
    assert "ARTEMIS_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr
    taken = server.command("serve", ARTEMIS_DATA_DIR=str(server.folder / "other"))
    assert taken.returncode == 2
    assert "cannot be used" in taken.stderr
    other = {"ARTEMIS_DATA_DIR": str(server.folder / "other")}
    own = server.command("tasks", "list", "--json", **other, ARTEMIS_URL="")
    assert (own.returncode, json.loads(own.stdout)) == (0, []), own.stderr
    assert "keeps other data; using" in own.stderr
    told = server.command("tasks", "list", **other, ARTEMIS_URL=server.address)
    assert told.returncode == 2 and "Traceback" not in told.stderr


def test_a_run_without_a_server_brings_its_own(server: Server, tmp_path: Path) -> None:
    alone = Server(tmp_path / "alone", server.seed)
    began = time.monotonic()
    done = alone.run('open "Settings"; tap "Display"; answer "seen"')
    assert (done["exit_code"], done["answer"]) == (0, "seen"), (done, time.monotonic() - began)
    assert alone.helpers() == {}
    away = alone.command("tasks", "list", ARTEMIS_URL=alone.address)
    assert away.returncode == 2
    assert "no server answers" in away.stderr
