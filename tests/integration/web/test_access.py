"""Signing in and using forms in a real browser, also where it sends no Sec-Fetch headers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from tests.integration.web.conftest import FLAGS, House, SignIn, serving
from tests.unit.console.stories import begin

pytestmark = pytest.mark.browser

NAME = "phones.example"
TOKEN = "a long random word"
OPENS_SOCKET = """url => new Promise(done => {
    const socket = new WebSocket(url);
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
})"""


async def test_the_console_works_by_name_without_tls(tmp_path: Path, chromium: str) -> None:
    """Such an origin is not trustworthy: the browser leaves Sec-Fetch-Site out."""
    flags = [*FLAGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
    async with (
        serving(tmp_path / "data", allowed_hosts=(NAME,), access_token=TOKEN) as house,
        async_playwright() as playwright,
    ):
        story = await begin(house.app)
        await story.turn()
        browser = await playwright.chromium.launch(executable_path=chromium, args=flags)
        page = await browser.new_page()
        url = f"http://{NAME}:{house.port}/tasks/{story.task_id}"
        answer = await page.goto(url)
        assert answer is not None and answer.status == 401
        await page.fill("input[name=token]", "wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("not the access token")
        await page.fill("input[name=token]", TOKEN)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(url)
        await expect(page.locator("#connection")).to_have_text("● live")
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.locator("#receipts")).to_contain_text("delivered")
        await browser.close()


async def test_a_browser_without_the_cookie_can_do_nothing(
    house: House, signed_in: SignIn, chromium: str
) -> None:
    """The phone's browser, say: same machine, same address, another profile."""
    story = await begin(house.app)
    owner = await signed_in(house)
    assert owner.browser is not None
    phone = await (await owner.browser.new_context()).new_page()
    answer = await phone.goto(f"{house.url}/tasks/{story.task_id}")
    assert answer is not None and answer.status == 401
    assert "closed to this browser" in await phone.inner_text("main")
    posted = await phone.evaluate(
        "path => fetch(path, { method: 'POST' }).then(answer => answer.status)",
        f"/api/v1/tasks/{story.task_id}/cancel",
    )
    assert posted == 401
    opened = await phone.evaluate(
        OPENS_SOCKET,
        f"ws://127.0.0.1:{house.port}/tasks/{story.task_id}/live",
    )
    assert opened is False
    events = await house.app.state.queries.tasks.events_of(story.task_id, "control_requested")
    assert events == ()


@asynccontextmanager
async def foreign_page() -> AsyncIterator[str]:
    """A page on another port, without any policy that would hold its script back."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<!doctype html><title>foreign</title>"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
        writer.write(head.encode() + b"\r\nConnection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_page_of_another_origin_cannot_ride_on_the_cookie(
    house: House, signed_in: SignIn
) -> None:
    """Another port on this machine is the same site: the cookie goes along, and is not enough."""
    story = await begin(house.app)
    page = await (await signed_in(house)).new_page()
    base = f"127.0.0.1:{house.port}/tasks/{story.task_id}"
    async with foreign_page() as url:
        await page.goto(url)
        opened = await page.evaluate(OPENS_SOCKET, f"ws://{base}/live")
        async with page.expect_response("**/cancel") as answer:
            await page.evaluate(
                """url => {
                    const form = document.createElement("form");
                    Object.assign(form, { method: "post", action: url });
                    document.body.append(form);
                    form.submit();
                }""",
                f"http://{base}/cancel",
            )
        refused = await answer.value
    assert refused.status == 403
    assert "artemis_" in (await refused.request.all_headers()).get("cookie", "")
    assert opened is False
    events = await house.app.state.queries.tasks.events_of(story.task_id, "control_requested")
    assert events == ()
