"""The task page in a real browser: live, reloaded, reconnected, restarted, and never wrong."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, Route, expect

from app.domain.actions import Verdict
from app.domain.events import ControlApplied, FallbackUsed, QuestionAsked, TaskStateChanged
from app.domain.summaries import SummaryStatus
from app.domain.tasks import Question, TaskState
from tests.integration.web.conftest import House, SignIn, serving
from tests.unit.console.stories import begin, rich_story, tap

pytestmark = pytest.mark.browser

SHOW_TAB = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
NUMBERS = "nodes => nodes.map(n => Number(n.dataset.n))"


async def numbers(page: Page) -> list[int]:
    return await page.eval_on_selector_all("#turns > li", NUMBERS)


async def watched(page: Page) -> list[str]:
    """What the browser complains about: nothing may be blocked or fail."""
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: problems.append(str(error)))
    return problems


async def test_turns_arrive_in_order_and_in_time(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    page = await (await signed_in(house)).new_page()
    problems = await watched(page)
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await story.opened()
    delays = []
    for number in range(1, 8):
        await story.turn(finish=False)
        decided = time.monotonic()
        await page.wait_for_selector(f"#turn-{number}", timeout=20_000)
        delays.append(time.monotonic() - decided)
        await expect(page.locator(f"#turn-{number} .pill")).to_have_text("acting")
        await story.finish()
        await expect(page.locator(f"#turn-{number} .pill")).to_have_text("executed")
    assert await numbers(page) == [7, 6, 5, 4, 3, 2, 1]
    assert sorted(delays)[len(delays) // 2] < 1.0, f"updates took too long: {delays}"
    await expect(page.locator("#screen")).to_contain_text("step 7")
    await story.ends(TaskState.COMPLETED, answer="The totals follow.", cited=[2, 5])
    await expect(page.locator("#outcome")).to_contain_text("The totals follow.")
    await expect(page.locator("#head .pill")).to_have_text("Completed")
    assert problems == []


async def test_a_reload_shows_what_was_pushed(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    for _ in range(5):
        await story.turn()
    await page.wait_for_selector("#turn-5 .tone-ok")
    parts = ("#turns", "#plan", "#world", "#context", "#memory", "#fallbacks", "#spend", "#head")
    pushed = [await page.locator(part).inner_text() for part in parts]
    await page.reload()
    again = [await page.locator(part).inner_text() for part in parts]
    assert _without_clock(again) == _without_clock(pushed)
    await story.turn()
    await page.wait_for_selector("#turn-6 .tone-ok")
    assert await numbers(page) == [6, 5, 4, 3, 2, 1]


def _without_clock(texts: list[str]) -> list[str]:
    """The running time in the head goes on between two looks."""
    return [line for text in texts for line in text.split("\n") if ":" not in line]


async def test_nothing_is_missing_or_twice_after_a_restart(
    tmp_path: Path, signed_in: SignIn
) -> None:
    async with serving(tmp_path / "data") as house:
        port = house.port
        context = await signed_in(house)
        story = await begin(house.app)
        for _ in range(3):
            await story.turn()
        page = await context.new_page()
        await page.goto(f"{house.url}/tasks/{story.task_id}")
        await expect(page.locator("#connection")).to_have_text("● live")
        assert await numbers(page) == [3, 2, 1]
        task_id = story.task_id
    await expect(page.locator("#connection")).to_contain_text("connection lost")
    async with serving(tmp_path / "data", port) as house:
        await expect(page.locator("#connection")).to_have_text("● live", timeout=20_000)
        await expect(page.locator("#head .pill")).not_to_have_text("Running")
        other = await begin(house.app, "another task", device="other")
        await other.turn()
        assert await numbers(page) == [3, 2, 1]
        await page.reload()
        assert await numbers(page) == [3, 2, 1]
        assert page.url.endswith(task_id)


async def test_a_dropped_socket_resumes_after_the_last_number(
    house: House, signed_in: SignIn
) -> None:
    story = await begin(house.app)
    await story.turn()
    page = await (await signed_in(house)).new_page()
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    last = await page.locator("#seq").get_attribute("data-seq")
    house.app.state.service.bus.close()  # as at a restart: every viewer is closed with 1012
    await expect(page.locator("#connection")).to_contain_text("connection lost")
    for _ in range(4):
        await story.turn()
    await page.wait_for_selector("#turn-5 .tone-ok")
    assert await numbers(page) == [5, 4, 3, 2, 1]
    assert len(sockets) == 2
    assert sockets[1].endswith(f"after={last}")


async def test_a_message_that_was_seen_is_dropped(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    await story.turn()
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    before = await page.locator("#turns").inner_html()
    await page.evaluate(
        """() => {
            const socket = document.querySelector("#live")._htmx.ws.connection.socket;
            const old = '<data id="seq" data-seq="1" hx-swap-oob="true"></data>';
            const wipe = '<ol id="turns" hx-swap-oob="true"></ol>';
            socket.dispatchEvent(new MessageEvent("message", { data: old + wipe }));
        }"""
    )
    await asyncio.sleep(0.2)
    assert await page.locator("#turns").inner_html() == before


async def test_a_viewer_far_behind_gets_the_newest_window(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    await story.turn()
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await page.evaluate(SHOW_TAB, True)  # a tab in the background gives its socket up
    await expect(page.locator("#connection")).to_contain_text("connection lost")
    for _ in range(60):
        await story.turn(elements=("Next",))
    await page.evaluate(SHOW_TAB, False)
    await page.wait_for_selector("#turn-61")
    assert await numbers(page) == list(range(61, 21, -1))
    await page.click("#earlier a")
    await page.wait_for_selector("#turn-1")
    assert await numbers(page) == list(range(61, 0, -1))


async def test_earlier_turns_come_on_demand(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    for _ in range(95):
        await story.turn(elements=("Next",))
    page = await (await signed_in(house)).new_page()
    # By key: turns get their height as they come into view (`content-visibility`), so that a link
    # just scrolled to may move between the press and the release of a mouse that does not wait.
    earlier = page.locator("#earlier a")
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    assert await numbers(page) == list(range(95, 55, -1))
    await earlier.press("Enter")
    await page.wait_for_selector("#turn-16")
    await earlier.press("Enter")
    await page.wait_for_selector("#turn-1")
    assert await numbers(page) == list(range(95, 0, -1))
    await expect(page.locator("#earlier")).to_be_hidden()
    await page.goto(f"{house.url}/tasks/{story.task_id}?order=oldest")
    assert await numbers(page) == list(range(56, 96))
    await earlier.press("Enter")
    await page.wait_for_selector("#turn-16")
    assert await numbers(page) == list(range(16, 96))
    await expect(page.locator("#connection")).to_have_text("● live")
    await story.turn()
    await page.wait_for_selector("#turn-96")
    assert (await numbers(page))[-1] == 96


async def test_what_was_opened_and_typed_survives_updates(house: House, signed_in: SignIn) -> None:
    story = await rich_story(house.app)
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await page.fill("#say-text", "use the second coupon")
    await page.locator("#revisions summary").click()
    await story.planned("Read the base price", "Report", revision=3, reason="shorter", done=1)
    await story.turn(verdict=Verdict.UNCERTAIN)
    await expect(page.locator("#plan")).to_contain_text("3 revisions")
    assert await page.input_value("#say-text") == "use the second coupon"
    assert await page.locator("#revisions").get_attribute("open") is not None


@pytest.mark.parametrize("late", ["htmx.min.js", "hx-ws.min.js", "hx-upsert.min.js", "app.js"])
async def test_a_page_goes_live_whichever_script_comes_last(
    house: House, signed_in: SignIn, late: str
) -> None:
    story = await begin(house.app)
    page = await (await signed_in(house)).new_page()

    async def arrives_late(route: Route) -> None:
        await asyncio.sleep(0.5)
        await route.continue_()

    await page.route(f"**/{late}*", arrives_late)
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await story.turn()
    await expect(page.locator("#turns > li")).to_have_count(1)


async def test_a_badge_changes_live_and_opens_by_key(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    await story.turn()
    await story.summary_pending(1)
    page = await (await signed_in(house)).new_page()
    problems = await watched(page)
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    badge = page.locator("#summary-1")
    await expect(badge).to_have_attribute("data-status", "pending")
    await badge.locator("summary").first.focus()
    await page.keyboard.press("Enter")
    await expect(badge).to_contain_text("It is being written")

    await story.summary_ready(1, "I tap “Apply discount”.")
    await expect(badge).to_have_attribute("data-status", "visual_ready")
    await expect(badge.locator("summary").first).to_have_text("summary ready")
    await expect(badge).to_contain_text("I tap “Apply discount”.")  # open, so it is read anew
    picture = badge.locator("img")
    await expect(picture).to_have_js_property("complete", True)
    assert await picture.evaluate("image => image.naturalWidth") > 0, "the evidence is a picture"

    await story.summary_moved(1, SummaryStatus.STALE, reason="the prompt moved on")
    await expect(badge.locator("summary").first).to_have_text("summary stale")
    await expect(badge).to_contain_text("the prompt moved on")
    assert problems == []


async def test_a_turn_that_changes_keeps_what_was_opened(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    await story.turn()
    await story.summary_pending(1)
    await story.summary_ready(1, "I tap “Apply discount”.")
    await story.chunk_closed(1, 1)
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await page.locator("#summary-1 > summary").click()
    await page.locator("#boundary-1 > summary").click()
    await expect(page.locator("#summary-1")).to_contain_text("I tap")
    await expect(page.locator("#boundary-1")).to_contain_text("Step 1 (T+")
    await story.recorder.record(FallbackUsed(kind="late", detail="news", step_number=1))
    await expect(page.locator("#turn-1")).to_contain_text("Second best used (late): news")
    await expect(page.locator("#summary-1")).to_contain_text("I tap")
    await expect(page.locator("#boundary-1")).to_contain_text("Step 1 (T+")
    await expect(page.locator("#fallbacks")).to_contain_text("late news")


async def test_chunks_and_background_work_are_live(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    for _ in range(3):
        await story.turn()
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await expect(page.locator("#boundary-3")).to_be_hidden()
    await story.chunk_closed(1, 3)
    boundary = page.locator("#boundary-3")
    await expect(boundary).to_contain_text("capsule pending")
    await boundary.locator("summary").first.click()
    await expect(boundary).to_contain_text("Its capsule is being written.")
    await story.chunk_ready(1, 3)
    await expect(boundary).to_contain_text("capsule ready v1")
    await expect(boundary).to_contain_text("I compare the totals")
    await expect(page.locator("#memory")).to_contain_text("1 ready")
    await story.background("chunks", "paused", "paused for 30 s")
    await expect(page.locator("#memory")).to_contain_text("paused for 30 s")
    assert await numbers(page) == [3, 2, 1]
    pushed = await page.locator("#memory").inner_text()
    await page.reload()
    assert await page.locator("#memory").inner_text() == pushed


async def test_late_news_of_turns_that_are_not_shown_adds_none(
    house: House, signed_in: SignIn
) -> None:
    story = await begin(house.app)
    for _ in range(60):
        await story.turn(elements=("Next",))
    page = await (await signed_in(house)).new_page()
    problems = await watched(page)
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    await story.summary_pending(2)
    await story.chunk_closed(1, 3)
    await story.recorder.record(FallbackUsed(kind="late", detail="news", step_number=3))
    await story.turn()
    await page.wait_for_selector("#turn-61 .tone-ok")
    assert await numbers(page) == list(range(61, 20, -1))
    assert problems == []


async def test_a_click_shows_its_receipt_and_a_refusal_its_reason(
    house: House, signed_in: SignIn
) -> None:
    story = await begin(house.app, device="nobody")
    await story.turn()
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await page.get_by_role("button", name="Pause").click()
    # No worker holds this task, so the service refuses; the page says why.
    await expect(page.locator("#receipts [role=alert]")).to_be_visible()
    await page.get_by_role("button", name="Cancel").click()
    receipts = page.locator("#receipts")
    await expect(receipts).to_contain_text("Cancel")
    await expect(receipts).to_contain_text("delivered")
    receipt = await page.locator("#receipts li").first.get_attribute("data-receipt")
    await story.recorder.record(
        ControlApplied(receipt_id=receipt or "", control="cancel", applied=True, step_number=1)
    )
    await expect(receipts).to_contain_text("applied at step 1")


async def test_a_question_is_asked_and_goes_away(house: House, signed_in: SignIn) -> None:
    story = await begin(house.app)
    await story.turn(tap(0, "Send"))
    page = await (await signed_in(house)).new_page()
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#connection")).to_have_text("● live")
    question = Question(question_id="q", kind="question", text="Which account?", step_number=2)
    await story.recorder.record(
        QuestionAsked(question=question),
        TaskStateChanged(state=TaskState.WAITING, previous=TaskState.RUNNING),
    )
    await expect(page.locator("#ask")).to_contain_text("Which account?")
    await story.recorder.record(
        TaskStateChanged(state=TaskState.RUNNING, previous=TaskState.WAITING)
    )
    await expect(page.locator("#ask")).to_be_empty()


async def test_arrow_keys_lead_through_the_steps(house: House, signed_in: SignIn) -> None:
    story = await rich_story(house.app)
    page = await (await signed_in(house)).new_page()
    problems = await watched(page)
    await page.goto(f"{house.url}/tasks/{story.task_id}/steps/3")
    await page.keyboard.press("ArrowRight")
    await page.wait_for_url("**/steps/4")
    await page.keyboard.press("ArrowLeft")
    await page.wait_for_url("**/steps/3")
    assert problems == []


async def test_the_page_reads_without_script(house: House, browser: Browser) -> None:
    story = await rich_story(house.app)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{house.url}/open?token={house.app.state.one_time_token}")
    await page.goto(f"{house.url}/tasks/{story.task_id}")
    await expect(page.locator("#turns")).to_contain_text("Apply discount")
    await page.fill("#recall-query", "Total")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator(".hit").first).to_be_visible()
