"""The server dies or is stopped in the middle of a task, and is started again on the same data."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from random import Random, SystemRandom

import pytest

from app.devices.demo.money import cart_totals, money
from app.devices.demo.records import OrderLine
from app.domain.actions import Verdict
from app.domain.events import (
    ControlApplied,
    ControlRequested,
    InstructionInjected,
    StepDecided,
    StepFinished,
    StoredEvent,
    TaskStateChanged,
)
from app.domain.tasks import StepState, TaskState
from app.llm.offline.commands import quoted
from tests.e2e.journeys import Guide, Journey, Read
from tests.e2e.stack import Server, until


def walk(server: Server) -> Journey:
    """Reads, walks about and answers: a task that can be broken off anywhere."""
    guide = Guide(server.seed, Random(SystemRandom().randrange(2**31)))
    journey = Journey()
    journey.go(guide.about_phone())
    for visit in [v for v in guide.detours() if not v.changes][:4]:
        journey.go(visit)
    journey.go(guide.a_product())
    journey.go(guide.a_person())
    told = ", ".join(f"{r.label} {{{r.name}}}" for r in journey.reads)
    journey.lines.append(f'answer "{told}"')
    journey.answer = told.format_map({r.name: r.value for r in journey.reads})
    return journey


def wait_for_step(server: Server, task_id: str, number: int) -> None:
    until(f"step {number}", lambda: server.task(task_id).steps >= number, 60)


def check_record(server: Server, task_id: str) -> list[StoredEvent]:
    """Every event once, without a gap; every step decided once and ended once."""
    events = server.events(task_id)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    decided = [e.event.step_number for e in events if isinstance(e.event, StepDecided)]
    finished = [e.event.step_number for e in events if isinstance(e.event, StepFinished)]
    assert decided == finished == list(range(1, server.task(task_id).steps + 1))
    return events


def states(events: list[StoredEvent]) -> list[TaskState]:
    return [e.event.state for e in events if isinstance(e.event, TaskStateChanged)]


def shown_in(server: Server, task_id: str, read: Read) -> set[int]:
    wanted = {f"{read.label}:", read.value}
    steps = server.steps(task_id)
    return {s.step_number for s in steps if wanted <= {e.text for e in s.observation.tree.elements}}


def test_a_killed_server_goes_on_with_its_task(server: Server) -> None:
    journey = walk(server)
    task_id = server.submit(journey.goal)
    wait_for_step(server, task_id, 6)
    before = server.helpers()
    assert any("appium" in words for words in before.values())
    assert any("--user-data-dir" in words for words in before.values())
    server.kill()
    orphans = set(server.helpers()) & set(before)
    assert orphans, "a killed server leaves its Appium behind; else this test shows nothing"
    server.start()
    assert not orphans & set(server.helpers())
    ended = server.ended(task_id)
    assert (ended.state, ended.answer) == (TaskState.COMPLETED, journey.answer), ended.reason
    events = check_record(server, task_id)
    assert states(events) == [
        TaskState.RUNNING,
        TaskState.INTERRUPTED,
        TaskState.RUNNING,
        TaskState.COMPLETED,
    ]
    for step in server.steps(task_id):
        if step.state is StepState.INTERRUPTED:
            assert step.verdict is Verdict.UNCERTAIN
            assert step.receipt is not None
            assert "may have happened" in step.receipt.message
    assert set(ended.cited_steps) <= set().union(
        *(shown_in(server, task_id, read) for read in journey.reads)
    )


def test_a_stopped_server_leaves_nothing_running_and_goes_on_later(server: Server) -> None:
    """The command that follows the task waits for the server, and ends as if nothing had been."""
    journey = walk(server)
    before = server.get("/tasks")["total"]
    with server.begin("run", journey.goal, "--json") as following:
        until("the task", lambda: server.get("/tasks")["total"] > before)
        task_id = server.get("/tasks")["tasks"][0]["task_id"]
        wait_for_step(server, task_id, 4)
        assert server.stop() == 0
        assert server.helpers() == {}
        server.start()
        out, errors = following.communicate(timeout=120)
    assert following.returncode == 0, errors
    document = json.loads(out.splitlines()[-1])
    assert (document["state"], document["answer"]) == ("completed", journey.answer), document
    assert TaskState.INTERRUPTED in states(check_record(server, task_id))


@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_an_order_is_never_placed_twice(server: Server, delay: float) -> None:
    """Killed while the order is being placed: the outcome is looked for, not repeated."""
    guide = Guide(server.seed, Random(SystemRandom().randrange(2**31)))
    world, product = guide.world, guide.products[0]
    number = world.order_number(len(world.past_orders))
    line = OrderLine(sku=product.sku, name=product.name, unit_cents=product.price_cents, quantity=1)
    total = money(cart_totals((line,)).total_cents)
    task_id = server.submit(
        f"""\
open "Shop"
tap {quoted(product.name)}
tap "Add to cart"
tap "Cart: 1"
tap "Checkout"
type "Robin Park" into "Full name"
type "5 Mill Lane" into "Address"
type "Porto" into "City"
tap "I accept the terms"
tap "Place order"
open "Shop"
tap "Orders"
tap "Order {number}"
read "Total" as total
answer "{number} costs {{total}}"
"""
    )
    until("the order is decided", lambda: server.task(task_id).steps >= 10, 60)
    for _ in itertools.takewhile(lambda i: i < delay / 0.05, itertools.count()):
        server.task(task_id)
    server.kill()
    server.start()
    ended = server.ended(task_id)
    check_record(server, task_id)
    placed = Counter(order["number"] for order in server.phone_state()["orders"])
    presses = [s for s in server.steps(task_id) if "[Place order]" in s.action_text]
    assert len(presses) == 1
    assert placed[number] <= 1
    if placed[number]:
        assert (ended.state, ended.answer) == (TaskState.COMPLETED, f"{number} costs {total}")
    else:
        assert ended.state is TaskState.FAILED
        assert number in ended.reason


def test_a_paused_task_stays_paused_and_hears_what_it_was_told_before(server: Server) -> None:
    journey = walk(server)
    task_id = server.submit(journey.goal)
    wait_for_step(server, task_id, 2)
    server.post(f"/tasks/{task_id}/pause")
    until("the pause", lambda: server.task(task_id).state is TaskState.PAUSED)
    said = 'open "Gauge"'
    server.post(f"/tasks/{task_id}/inject", {"text": said})
    server.kill()
    server.start()
    until("the pause again", lambda: server.task(task_id).state is TaskState.PAUSED)
    taken = server.task(task_id).steps
    server.post(f"/tasks/{task_id}/resume")
    until("the instruction", lambda: server.task(task_id).steps > taken)
    server.post(f"/tasks/{task_id}/cancel")
    assert server.ended(task_id).state is TaskState.CANCELLED
    events = check_record(server, task_id)
    heard = [e.event for e in events if isinstance(e.event, InstructionInjected)]
    assert [i.instruction.text for i in heard] == [said]
    asked = {e.event.receipt_id for e in events if isinstance(e.event, ControlRequested)}
    answered = [e.event.receipt_id for e in events if isinstance(e.event, ControlApplied)]
    assert sorted(answered) == sorted(asked)
    assert server.steps(task_id)[taken].action_text == "launch Gauge"
