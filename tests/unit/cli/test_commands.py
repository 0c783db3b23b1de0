"""Commands as a shell sees them: output, JSON and exit codes, on a data directory of their own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import structlog

from app.cli import main


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Artemis = Callable[..., Ran]


@pytest.fixture
def artemis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Artemis]:
    """Runs `artemis …` in this process, in an empty folder without any server."""
    for name in [name for name in os.environ if name.startswith("ARTEMIS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    # Nobody listens there, so a command opens the data directory itself.
    monkeypatch.setenv("ARTEMIS_PORT", "1")
    monkeypatch.setenv("ARTEMIS_LOG_LEVEL", "error")

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["artemis", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, shown.out, shown.err)

    yield run
    # A command has pointed the log at this test's standard error.
    structlog.reset_defaults()


def test_without_a_server_a_command_opens_the_store_itself(artemis: Artemis) -> None:
    listed = artemis("tasks", "list", "--json")
    assert (listed.code, json.loads(listed.out)) == (0, [])
    assert "no tasks yet" in artemis("tasks", "list").out
    assert Path("data/artemis.db").is_file()


def test_a_configured_device_is_listed_and_can_be_retired(artemis: Artemis) -> None:
    Path("artemis.toml").write_text('[devices.pixel]\nplatform = "android"\n')
    (device,) = json.loads(artemis("devices", "list", "--json").out)
    assert (device["name"], device["platform"]) == ("pixel", "android")
    assert artemis("devices", "retire", "pixel").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tasks", "show", "0123456789ab"), "no task"),
        (("devices", "test", "nobody"), "nobody"),
        (("run", "go", "--device", "nobody"), "nobody"),
        (("run", "go", "--schema", "missing.json"), "missing.json"),
        (("bench", "step", "--steps", "0"), "0 steps"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_2(
    artemis: Artemis, words: tuple[str, ...], said: str
) -> None:
    ran = artemis(*words)
    assert ran.code == 2
    assert ran.err.startswith("artemis: ") and ran.err.count("\n") == 1
    assert said in ran.err.lower()


def test_a_schema_that_is_no_object_is_refused(artemis: Artemis) -> None:
    Path("schema.json").write_text("[1]")
    assert artemis("run", "go", "--schema", "schema.json").code == 2


def test_a_wrong_setting_stops_every_command(artemis: Artemis) -> None:
    Path("artemis.toml").write_text("prot = 1\n")
    ran = artemis("tasks", "list")
    assert ran.code == 2
    assert ran.err.startswith("artemis: prot: ")


def test_a_server_that_is_named_must_answer(
    artemis: Artemis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTEMIS_URL", "http://127.0.0.1:1")
    ran = artemis("tasks", "list")
    assert ran.code == 2
    assert "http://127.0.0.1:1" in ran.err
    assert not Path("data").exists(), "nothing is started beside a server that was named"


def test_doctor_names_each_thing_with_its_fix(artemis: Artemis) -> None:
    ran = artemis("doctor", "--json")
    findings = {finding["name"]: finding for finding in json.loads(ran.out)}
    assert {"Python", "Node.js", "Appium", "Chromium", "ChromeDriver", "Data"} <= set(findings)
    assert findings["Python"]["ok"] and findings["Data"]["ok"]
    assert not findings["Server"]["ok"] and findings["Server"]["fix"]
    missing = [f for f in findings.values() if f["needed"] and not f["ok"]]
    assert ran.code == (1 if missing else 0)
    assert all(f["fix"] for f in missing)


def test_an_unknown_option_is_refused_before_anything_runs(artemis: Artemis) -> None:
    ran = artemis("serve", "--prot", "1")
    assert ran.code == 2
    assert "--prot" in ran.err
    assert not Path("data").exists()


def test_help_lists_every_group(artemis: Artemis) -> None:
    text = artemis("--help").out
    for word in ("serve", "demo", "run", "tasks", "devices", "doctor", "bench", "delete"):
        assert word in text
