"""`artemis import` and `artemis recall` without a server, as a shell sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.recall import step_range
from app.errors import InvalidInput
from tests.unit.cli.test_commands import Artemis, artemis

__all__ = ["artemis"]

RUNS = Path(__file__).parents[2] / "data" / "trajectories"


def test_a_run_is_imported_and_asked(artemis: Artemis) -> None:
    run = RUNS / "bench-agentdevice-runtime-state-106"
    made = artemis("import", str(run), "--json", "--wait")
    assert made.code == 0, made.err
    document = json.loads(made.out.splitlines()[-1])
    assert (document["steps"], document["problem"]) == (106, "")
    task = document["task"]

    asked = artemis("recall", task, "emulator not found in PATH", "--json")
    answer = json.loads(asked.out)
    assert set(answer) == {"results", "tokens", "truncated"}
    assert answer["results"][0]["step_number"] == 65
    assert "emulator not found in PATH" in answer["results"][0]["excerpt"]

    within = artemis("recall", task, "emulator not found in PATH", "--steps", "1-60", "--json")
    assert all(hit["step_number"] <= 60 for hit in json.loads(within.out)["results"])
    ledger = artemis("recall", task, "--steps", "7-9")
    assert [line.split()[0] for line in ledger.out.splitlines()] == ["7", "8", "9"]
    shown = artemis("recall", task, "probe2", "--details", "--images")
    assert "Step 65" in shown.out
    assert "nothing recorded matches" in artemis("recall", task, "Zugspitze").out


def test_a_folder_that_is_no_recording_is_refused(artemis: Artemis, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = artemis("import", str(tmp_path / "empty"))
    assert (refused.code, refused.out) == (2, "")
    assert "task.json" in refused.err
    assert not list(Path("data").glob("recordings/*"))


@pytest.mark.parametrize(
    ("text", "steps"), [("7-12", (7, 12)), ("7", (7, 7)), ("12-7", (12, 7)), (" 3 - 4 ", (3, 4))]
)
def test_a_range_is_read(text: str, steps: tuple[int, int]) -> None:
    assert step_range(text) == steps


@pytest.mark.parametrize("text", ["x", "1-x", "-", "1-2-3", "-5", "9999999999"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        step_range(text)
