"""A person at the console of the real stack: submit, watch, pause, say, resume, reload, crash."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page, async_playwright, expect

from app.devices.demo.world import DemoWorld
from app.devices.installation import find_chromium
from app.domain.actions import LaunchApp
from app.domain.events import InstructionInjected, StoredEvent, TurnStarted
from app.domain.tasks import StepState, TaskState
from tests.e2e.stack import Server
from tests.integration.web.conftest import FLAGS

ROUNDS = 3
GOAL = f"""\
open "Clock"
home
wait 6 s
repeat {ROUNDS} times {{
  open "Settings"
  tap "Battery"
  read "Battery level" as level
  home
}}
open "Contacts"
answer "The battery is at {{level}}."
"""
WAITING = 3
"""The step that leaves time for a pause: what is said then is heard between two rounds."""
LONG = 60_000
"""Milliseconds for what the phone has to do first."""
NOTE_BADGES = """() => {
  window.badges = {};
  const note = () => document.querySelectorAll("#turns .badge[data-status]").forEach(badge => {
    const seen = window.badges[badge.id] ??= [];
    if (seen.at(-1) !== badge.dataset.status) seen.push(badge.dataset.status);
  });
  const watched = { subtree: true, childList: true, attributeFilter: ["data-status"] };
  new MutationObserver(note).observe(document.documentElement, watched);
  note();
}"""
"""Keeps every state that each badge has shown on this page."""


async def test_a_task_from_submission_to_answer(server: Server) -> None:
    address = await asyncio.to_thread(server.post, "/open-addresses")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium().path, args=FLAGS)
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        await page.goto(f"{server.address}{address['path']}")
        task_id = await _submit(page)
        await page.evaluate(NOTE_BADGES)

        await page.wait_for_selector(f"#turn-{WAITING}", timeout=LONG)
        await _pause_say_resume(page)
        await _summaries_became_ready(page)

        number = (await _numbers(page))[0] + 2
        await page.wait_for_selector(f"#turn-{number}", timeout=LONG)
        await page.reload()
        await expect(page.locator("#connection")).to_have_text("● live")
        shown = await _numbers(page)
        assert shown == list(range(shown[0], 0, -1)), "a reload lost or doubled turns"

        await asyncio.to_thread(server.kill)
        await expect(page.locator("#connection")).to_contain_text("connection lost")
        await asyncio.to_thread(server.start)
        await expect(page.locator("#connection")).to_have_text("● live", timeout=LONG)

        await expect(page.locator("#head .pill").first).to_have_text("Completed", timeout=2 * LONG)
        level = DemoWorld(server.seed).battery.level
        await expect(page.locator("#outcome")).to_contain_text(f"The battery is at {level}")
        await _nothing_missing_or_twice(server, page, task_id)
        await browser.close()


async def _submit(page: Page) -> str:
    await page.fill("textarea[name=goal]", GOAL)
    await page.select_option("select[name=device]", "demo")
    await page.click("button:has-text('Start')")
    await page.wait_for_url("**/tasks/*")
    await expect(page.locator("#connection")).to_have_text("● live")
    return page.url.rpartition("/")[2]


async def _pause_say_resume(page: Page) -> None:
    """Each click shows its receipt, and the state follows."""
    state = page.locator("#head .pill").first
    await page.click("button:has-text('Pause')")
    await expect(state).to_have_text("Paused", timeout=LONG)
    await page.fill("#say input", 'open "Notes"')
    await page.click("#say button")
    await expect(page.locator("#receipts")).to_contain_text('open "Notes"')
    await page.click("button:has-text('Resume')")
    await expect(state).to_have_text("Running", timeout=LONG)
    await expect(page.locator("#receipts")).to_contain_text("applied", timeout=LONG)


async def _summaries_became_ready(page: Page) -> None:
    """Badges changed before the reader's eyes, without a reload, and open by key."""
    await expect(page.locator("#summary-2")).to_have_attribute("data-status", "visual_ready")
    states = await page.evaluate("window.badges")
    assert ["pending", "visual_ready"] in states.values(), states
    await page.locator("#summary-2 > summary").press("Enter")
    await expect(page.locator("#summary-2")).to_contain_text("after the step's end")
    await page.locator("#summary-2 > summary").press("Enter")


async def _numbers(page: Page) -> list[int]:
    """The turns on the page, in their order."""
    texts = await page.locator("#turns > li").evaluate_all("all => all.map(li => li.dataset.n)")
    return [int(text) for text in texts]


async def _nothing_missing_or_twice(server: Server, page: Page, task_id: str) -> None:
    task = await asyncio.to_thread(server.task, task_id)
    steps = await asyncio.to_thread(server.steps, task_id)
    events = await asyncio.to_thread(server.events, task_id)
    assert task.state is TaskState.COMPLETED
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert await _numbers(page) == [s.step_number for s in reversed(steps)]
    pushed = await page.locator("#turns").inner_text()
    await page.reload()
    assert await page.locator("#turns").inner_text() == pushed

    said = [e.event for e in events if isinstance(e.event, InstructionInjected)]
    assert [i.instruction.text for i in said] == ['open "Notes"']
    opened = [s.step_number for s in steps if s.action == LaunchApp(app="Notes")]
    assert opened == [said[0].instruction.step_number], "obeyed once, at the turn that heard it"
    assert any(s.state is StepState.INTERRUPTED for s in steps) or _began_again(events)


def _began_again(events: list[StoredEvent]) -> bool:
    """The crash fell between two steps: the same step number was observed twice."""
    numbers = [e.event.step_number for e in events if isinstance(e.event, TurnStarted)]
    return len(numbers) > len(set(numbers))
