"""The benchmark of a step: what it reports, and that a step writes at most three times."""

from __future__ import annotations

import asyncio
import json

import pytest

from app.bench import step
from app.bench.meter import Part
from app.errors import InvalidInput
from app.settings import Settings

STEPS = 20


@pytest.fixture(scope="module")
def report() -> step.Report:
    return asyncio.run(step.measure(Settings(), STEPS))


def test_every_step_is_measured_with_its_parts(report: step.Report) -> None:
    assert report.steps == STEPS
    assert set(report.parts) == set(Part) - {Part.OUTSIDE}
    parts = [figures.wall_ms.median for figures in report.parts.values()]
    assert all(part > 0 for part in parts)
    assert max(parts) < report.step.wall_ms.median <= report.step.wall_ms.p95
    assert set(report.picture) == {"decode", "dhash", "jpeg"}


def test_a_step_takes_three_write_transactions(report: step.Report) -> None:
    """Looked, decided, done: fewer would mean that a step is not written before it acts."""
    assert report.transactions == step.MAX_TRANSACTIONS
    assert report.kept


async def test_people_and_programs_read_the_same(
    report: step.Report, capsys: pytest.CaptureFixture[str]
) -> None:
    table = "\n".join(step.lines(report))
    for part in report.parts:
        assert f"  {part.value} " in table
    assert "write transactions a step: 3 (limit 3: kept)" in table
    assert "NOT KEPT" in "\n".join(step.lines(report.model_copy(update={"transactions": 4})))
    assert await step.main(Settings(), 2, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert step.Report.model_validate(document).steps == 2


@pytest.mark.parametrize("steps", [0, -1, step.MAX_STEPS + 1])
async def test_a_senseless_number_of_steps_is_refused(steps: int) -> None:
    with pytest.raises(InvalidInput):
        await step.measure(Settings(), steps)
