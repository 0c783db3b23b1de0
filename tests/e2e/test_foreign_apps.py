"""Web apps that nobody here wrote, driven by the same agent as any other app."""

from __future__ import annotations

from pathlib import Path
from random import Random, SystemRandom

import pytest

from app.domain.actions import Verdict
from app.domain.tasks import StepRecord
from tests.e2e.foreign import RANGES, TODO_FOLDER, datasette, draw_peaks, todo_app
from tests.e2e.stack import Server


def texts(step: StepRecord) -> list[str]:
    return [e.text for e in step.observation.tree.elements]


def add_device(server: Server, name: str, app: str, url: str) -> None:
    body = {"server_url": server.appium_url, "apps": {app: url}, "home": url}
    server.ask("PUT", f"/devices/{name}", json=body)


@pytest.mark.skipif(not TODO_FOLDER.is_dir(), reason="needs the packages of package.json")
def test_a_list_of_things_to_do_is_kept(server: Server) -> None:
    things = SystemRandom().sample(
        ["Buy milk", "Call Ada", "Fix the lamp", "Water plants", "Write to Bo", "Oil the lock"], 3
    )
    done = SystemRandom().choice(things)
    with todo_app() as url:
        add_device(server, "todo", "Todo", url)
        adding = [f'type "{thing}" into "What needs to be done?" and submit' for thing in things]
        goal = "\n".join(
            [
                'open "Todo"',
                *adding,
                'read the number in "items left" as before',
                f'turn on "{done}"',
                'tap "Active"',
                'read the number in "items left" as left',
                'tap "Completed"',
                f'check "{done}"',
                'tap "Clear completed"',
                'tap "All"',
                'answer "{before} at first, {left} left."',
            ]
        )
        ended = server.run(goal, device="todo")
    assert (ended["state"], ended["answer"]) == ("completed", "3 at first, 2 left."), ended
    steps = server.steps(ended["task"])
    seen = {s.step_number: set(texts(s)) & set(things) for s in steps}
    rest = set(things) - {done}
    filtered = [seen[n] for n in range(ended["cited_steps"][-1], len(steps) + 1)]
    assert filtered == [rest, {done}, set(), rest]
    # The app was in front already, so opening it changed nothing.
    assert [s.verdict for s in steps] == [
        Verdict.NO_VISIBLE_CHANGE,
        *[Verdict.EXECUTED] * (len(steps) - 1),
    ]


def test_a_database_is_filtered_sorted_and_read(server: Server, tmp_path: Path) -> None:
    rng = Random(SystemRandom().randrange(2**31))
    peaks = draw_peaks(rng)
    where = rng.choice(RANGES)
    inside = [p for p in peaks if p[1] == where]
    name, _, height, _ = max(inside, key=lambda p: p[2])
    other = rng.choice(peaks)
    with datasette(tmp_path, peaks) as url:
        add_device(server, "data", "Atlas", url)
        goal = f"""\
open "Atlas"
tap "peaks"
tap "range"
tap "{where}"
check "{len(inside)} rows where"
select "Sort by height" in "Sort by id"
turn on "descending"
tap "Apply"
check "sorted by height descending"
read "name" as highest
read "height" as height
open "Atlas"
tap "peaks"
select "name" in "- column -"
type "{other[0]}" into "_filter_value"
tap "Apply"
check "1 row where"
read "climbed" as year
answer "{{highest}} has {{height}} metres; {other[0]} was climbed in {{year}}."
"""
        ended = server.run(goal, device="data")
    expected = f"{name} has {height} metres; {other[0]} was climbed in {other[3]}."
    assert (ended["state"], ended["answer"]) == ("completed", expected), ended
    steps = {s.step_number: texts(s) for s in server.steps(ended["task"])}
    first, second = ended["cited_steps"]
    assert f"name: {name}" in steps[first]
    assert f"height: {height}" in steps[first]
    assert f"climbed: {other[3]}" in steps[second]
