"""A fuzzer driven by the OpenAPI document finds no failure and no undocumented answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans
from schemathesis import Case
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from app.domain.tasks import TaskState
from tests.integration.web.conftest import House, serving
from tests.unit.console.stories import rich_story


@dataclass
class Target:
    house: House
    task_id: str
    artifact: str


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The service in a thread of its own: the fuzzer is not asynchronous."""
    data = tmp_path_factory.mktemp("contract") / "data"
    ready, stop = threading.Event(), threading.Event()
    found: list[Target] = []

    async def serve() -> None:
        async with serving(data) as house:
            story = await rich_story(house.app)
            await story.ends(TaskState.COMPLETED, answer="done")
            step = (await house.app.state.queries.steps.one(story.task_id, 1)).step
            found.append(Target(house, story.task_id, step.observation.screenshot.sha256))
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    stop.set()
    thread.join(30)


# A well-formed request may still name an unknown device: that is a documented 422.
FUZZ = settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_are_as_documented(target: Target, mode: GenerationMode) -> None:
    document = schemathesis.openapi.from_url(
        f"{target.house.url}/api/v1/openapi.json", headers=target.house.bearer
    )
    operations = [result.ok() for result in document.get_all_operations()]
    assert len(operations) > 30
    for operation in operations:
        if operation.label == "POST /api/v1/devices/{name}/test":
            continue  # opens a real device session; tested on its own

        @FUZZ
        @given(case=operation.as_strategy(generation_mode=mode), real=booleans())
        def check(case: Case, real: bool) -> None:
            if "wait" in (case.query or {}):
                case.query.pop("wait")
            if real and mode is GenerationMode.POSITIVE and case.method != "DELETE":
                use_real_names(case, target)
            case.call_and_validate(
                headers=target.house.bearer, timeout=20, excluded_checks=[positive_data_acceptance]
            )

        if operation.path_parameters or mode is GenerationMode.POSITIVE or operation.body:
            check()


def use_real_names(case: Case, target: Target) -> None:
    """Made-up names only ever find nothing; these run the routes to their end."""
    known = {
        "task_id": target.task_id,
        "sha256": target.artifact,
        "call_id": f"{target.task_id}-c1",
        "number": 3,
    }
    for name in case.path_parameters or {}:
        if name in known:
            case.path_parameters[name] = known[name]
