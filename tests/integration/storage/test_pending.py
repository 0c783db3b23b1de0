"""What people asked for and nobody answered is found again."""

from __future__ import annotations

from app.domain.events import ControlApplied, ControlRequested
from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import new_id, spec


async def test_requests_without_an_outcome_come_back_in_their_order(store: Store) -> None:
    task_id = (await store.tasks.create(new_id(), spec())).task.task_id
    other_id = (await store.tasks.create(new_id(), spec())).task.task_id
    asked = [
        ControlRequested(receipt_id="a", control="inject", text="first “one”"),
        ControlRequested(receipt_id="b", control="look"),
        ControlRequested(receipt_id="c", control="inject", text="second"),
    ]
    for request in asked:
        await store.tasks.request(task_id, request)
    elsewhere = ControlRequested(receipt_id="d", control="inject", text="of another task")
    await store.tasks.request(other_id, elsewhere)
    recorder = store.recorder(task_id)
    assert await recorder.pending() == tuple(asked)
    await recorder.record(
        ControlApplied(receipt_id="b", control="look", applied=True, step_number=1),
        ControlApplied(receipt_id="c", control="inject", applied=False, step_number=1),
    )
    assert await recorder.pending() == (asked[0],)
