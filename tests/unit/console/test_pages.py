"""Every page with everything in it, with nothing in it, and with hostile text in every field."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import httpx2
import pytest
from fastapi import FastAPI

from app.domain import actions as act
from app.domain.actions import Outcome, Verdict
from app.domain.events import (
    Compacted,
    FallbackUsed,
    InstructionInjected,
    LoopNoticed,
    NoteWritten,
    QuestionAsked,
    TaskStateChanged,
    ToolServed,
)
from app.domain.memory import Departure, ZoneTokens
from app.domain.screens import Alert
from app.domain.summaries import Capsule, Interval, Refusal, SummaryStatus
from app.domain.tasks import Instruction, Note, Question, Recovery, TaskState
from tests.unit.console.stories import Story, begin, rich_story, tap

HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<hx-partial hx-target=#head>{{ 7*7 }}{% raw %}<b hx-swap-oob=true id=seq>%(x)s{0}"
)
VOID = frozenset("area base br col embed hr img input link meta source track wbr data".split())


class Page(HTMLParser):
    """Tags, addresses and whether the markup is balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.problems: list[str] = []
        self.feed(text)
        self.problems += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID - {"data"}:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    @property
    def addresses(self) -> set[str]:
        return {value for name, value in self.attributes if name in ("href", "src") and value}


def sound(text: str) -> Page:
    """A page that is balanced, with unique ids, and nothing that the policy would block."""
    page = Page(text)
    assert page.problems == []
    doubles = {name for name in page.ids if page.ids.count(name) > 1}
    assert doubles == set()
    inline = [name for name, _ in page.attributes if name == "style" or name.startswith("on")]
    assert inline == []
    assert all(address.startswith(("/", "?", "#")) for address in page.addresses)
    return page


PATHS = (
    "",
    "?order=oldest",
    "?before=4",
    "/steps/1",
    "/steps/4",
    "/steps/7",
    "/recall?query=discount",
    "/turns?before=5",
    "/steps/4/elements",
    "/steps/2/summary",
    "/steps/5/summary",
    "/chunks/1",
    "/chunks/4",
    "/figures",
)


async def all_pages(story: Story, http: httpx2.AsyncClient) -> dict[str, str]:
    pages = {}
    base = f"/tasks/{story.task_id}"
    for path in (
        "/",
        "/devices",
        *(base + path for path in PATHS),
        f"{base}/calls/{story.task_id}-c4",
    ):
        answer = await http.get(path)
        assert answer.status_code == 200, (path, answer.text[:500])
        pages[path] = answer.text
    return pages


async def test_every_page_is_sound_and_its_links_lead_somewhere(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await rich_story(app)
    addresses: set[str] = set()
    for path, text in (await all_pages(story, http)).items():
        page = sound(text)
        if "<main" in text:
            assert "main" in page.ids, path
        addresses |= page.addresses
    links = {a.split("#")[0] for a in addresses if a.startswith("/")} - {""}
    assert len(links) > 20
    for link in sorted(links):
        answer = await http.get(link)
        assert answer.status_code in (200, 303), link


async def test_pages_of_an_empty_store_say_what_to_do(http: httpx2.AsyncClient) -> None:
    home = await http.get("/")
    sound(home.text)
    assert "No task yet" in home.text
    assert "Add a device" in home.text
    devices = await http.get("/devices")
    sound(devices.text)
    assert "No device yet" in devices.text
    filtered = await http.get("/", params={"q": "nothing like it"})
    assert "No task passes this filter" in filtered.text


async def hostile_story(app: FastAPI) -> Story:
    story = await begin(app, HOSTILE, device=HOSTILE[:90])
    await story.opened()
    await story.planned(HOSTILE, HOSTILE, reason=HOSTILE)
    await story.planned(HOSTILE, revision=2, reason=HOSTILE)
    await story.checked(**{HOSTILE: None})
    targets = tap(1, HOSTILE)
    for action in (
        targets,
        act.InputText(text=HOSTILE, target=targets.target),
        act.LaunchApp(app=HOSTILE[:200]),
        act.Drag(start=targets.target, end=targets.target),
    ):
        await story.turn(
            action,
            thinking=HOSTILE,
            elements=(HOSTILE, HOSTILE),
            verdict=Verdict.ERROR,
            outcome=Outcome.ERROR,
            message=HOSTILE,
            remembered={HOSTILE[:40]: HOSTILE},
            recoveries=[Recovery(trigger=HOSTILE, diagnosis=HOSTILE)],
            tools=[ToolServed(step_number=1, name=HOSTILE, args={"q": HOSTILE}, result=HOSTILE)],
            extra=[
                FallbackUsed(kind=HOSTILE, detail=HOSTILE, step_number=1),
                LoopNoticed(step_number=1, detail=HOSTILE),
            ],
            title=HOSTILE,
            url=HOSTILE,
            alert=Alert(text=HOSTILE),
            toasts=(HOSTILE,),
            problems=(HOSTILE,),
            notes=(HOSTILE,),
        )
    await hostile_memory(story)
    await story.recorder.record(
        NoteWritten(note=Note(key=HOSTILE[:100], text=HOSTILE, step_number=2)),
        InstructionInjected(instruction=Instruction(number=1, text=HOSTILE, step_number=2)),
        QuestionAsked(
            question=Question(question_id="q", kind="question", text=HOSTILE, step_number=4)
        ),
        TaskStateChanged(state=TaskState.WAITING, previous=TaskState.RUNNING, reason=HOSTILE),
    )
    return story


async def hostile_memory(story: Story) -> None:
    refusals = (Refusal(rule=HOSTILE, detail=HOSTILE),)
    for number in (1, 2):
        await story.summary_pending(number)
    await story.summary_ready(1, HOSTILE, conflict=HOSTILE, image_only=(HOSTILE,))
    await story.summary_moved(2, SummaryStatus.VISUAL_FAILED, reason=HOSTILE, refusals=refusals)
    capsule = Capsule(
        doing=HOSTILE,
        did=HOSTILE,
        effect=HOSTILE,
        entry_state=HOSTILE,
        exit_state=HOSTILE,
        verified_facts=(HOSTILE,),
        unresolved=(HOSTILE,),
        failed_paths=(HOSTILE,),
        important_entities=(HOSTILE,),
        intervals=(Interval(start_step=1, end_step=3, text=HOSTILE),),
    )
    await story.chunk_closed(1, 3)
    await story.chunk_ready(
        1, 3, capsule=capsule, model=HOSTILE, image_only=(HOSTILE,), refusals=refusals
    )
    await story.background("summaries", "paused", HOSTILE)
    await story.recorder.record(
        Compacted(
            step_number=2,
            before=ZoneTokens(stable=9),
            after=ZoneTokens(stable=8),
            departures=(Departure(what=HOSTILE, why=HOSTILE, tokens=1),),
        )
    )


async def test_hostile_text_is_text_everywhere(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await hostile_story(app)
    base = f"/tasks/{story.task_id}"
    paths = ["/", base, f"{base}/turns", f"{base}/calls/{story.task_id}-c2"]
    paths += [f"{base}/steps/{n}{end}" for n in (1, 2, 3, 4) for end in ("", "/elements")]
    paths += [f"{base}/steps/1/summary", f"{base}/steps/2/summary", f"{base}/chunks/1"]
    for path in (*paths, f"{base}/recall?query=alert"):
        text = (await http.get(path)).text
        page = sound(text)
        assert "<script>alert" not in text, path
        assert page.tags.count("script") in (0, 4), path
        assert not any(name == "onerror" for name, _ in page.attributes), path
        # Only what this server writes: the pages have none, the fragments their own.
        assert not re.search(r"<b hx-swap-oob", text), path
        assert "49" not in re.findall(r">(\d+)<", text) or "7*7" in text


async def test_an_answer_and_its_reason_are_text(app: FastAPI, http: httpx2.AsyncClient) -> None:
    story = await begin(app)
    await story.turn()
    await story.ends(TaskState.COMPLETED, answer=HOSTILE, reason=HOSTILE, cited=[1])
    text = (await http.get(f"/tasks/{story.task_id}")).text
    sound(text)
    assert "&lt;script&gt;alert(1)" in text
    assert 'href="/tasks/' + story.task_id + '/steps/1"' in text


async def test_a_task_of_a_thousand_steps_opens_within_a_second(
    app: FastAPI, http: httpx2.AsyncClient
) -> None:
    story = await begin(app)
    shot = None
    for number in range(1, 1_001):
        await story.turn(elements=("Next", "Back"), shot=shot)
        await story.summary_pending(number)
        if number % 10 == 0:
            await story.summary_ready(number, "I tap “Next” to see the page after it.")
            await story.chunk_closed(number - 9, number)
            await story.chunk_ready(number - 9, number)
    # Of the processor, as nothing here waits for anything else.
    began = time.process_time()
    answer = await http.get(f"/tasks/{story.task_id}")
    seconds = time.process_time() - began
    assert answer.text.count('<li class="turn') == 40
    assert answer.text.count('data-status="visual_ready"') == 4
    assert len(answer.content) < 400_000
    assert seconds < 1.0


async def test_errors_are_pages_for_people(app: FastAPI, http: httpx2.AsyncClient) -> None:
    for path, status in (
        ("/nothing", 404),
        ("/tasks/unknown", 404),
        ("/tasks/unknown/steps/1", 404),
        ("/devices?edit=nobody", 404),
    ):
        answer = await http.get(path)
        assert answer.status_code == status, path
        sound(answer.text)
        assert "Back to the tasks" in answer.text
    part = await http.get("/tasks/unknown/turns", headers={"HX-Request": "true"})
    assert part.status_code == 404
    assert "<html" not in part.text


async def test_a_refused_form_comes_back_as_it_was(http: httpx2.AsyncClient) -> None:
    form = {"goal": "x <b>", "device": "nobody", "steps": "12", "answer_schema": "{broken"}
    answer = await http.post("/tasks", data=form)
    assert answer.status_code == 422
    sound(answer.text)
    assert "not JSON" in answer.text
    assert 'value="12"' in answer.text
    assert "x &lt;b&gt;</textarea>" in answer.text
    for field, value in (("steps", "-1"), ("minutes", "abc"), ("cost_usd", "inf"), ("goal", " ")):
        refused = await http.post("/tasks", data={"goal": "x", "device": "d", field: value})
        assert refused.status_code == 422, field
        assert 'role="alert"' in refused.text


async def test_a_device_is_added_changed_and_retired(http: httpx2.AsyncClient) -> None:
    form = {
        "name": "pixel.8",
        "platform": "android",
        "server_url": "http://127.0.0.1:9",
        "capabilities": '{"appium:udid": "emulator-5554"}',
        "apps": "settings = com.android.settings",
    }
    assert (await http.post("/devices", data=form)).status_code == 303
    page = (await http.get("/devices")).text
    sound(page)
    assert 'id="device-pixel.8"' in page
    edit = (await http.get("/devices", params={"edit": "pixel.8"})).text
    assert "settings = com.android.settings" in edit
    assert "emulator-5554" in edit
    for field, value in (("capabilities", "{"), ("apps", "no equals"), ("name", "a b")):
        answer = await http.post("/devices", data={**form, field: value})
        assert answer.status_code == 422, field
        sound(answer.text)
    assert (await http.post("/devices/pixel.8/retire")).status_code == 303
    assert "1 retired" in (await http.get("/devices")).text


async def test_a_form_sent_twice_makes_one_task(http: httpx2.AsyncClient) -> None:
    device = {"name": "pixel", "platform": "android", "server_url": "http://127.0.0.1:9"}
    await http.post("/devices", data=device)
    form = {"goal": "open Settings", "device": "pixel", "idempotency_key": "once"}
    first = await http.post("/tasks", data=form)
    second = await http.post("/tasks", data=form)
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"]


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\\\evil", "x"])
async def test_signing_in_never_leads_elsewhere(app: FastAPI, wanted: str) -> None:
    from app.console.session import _own_path

    assert _own_path(wanted) == "/"
    assert _own_path("/tasks/1?a=b") == "/tasks/1?a=b"


async def test_the_one_time_address_opens_once(app: FastAPI) -> None:
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    url = f"/open?token={app.state.one_time_token}"
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as one:
        assert (await one.get("/", headers={"Accept": "text/html"})).status_code == 401
        ahead = await one.get(url, headers={"Sec-Purpose": "prefetch"})
        assert ahead.status_code == 204
        assert (await one.get(url)).status_code == 303
        assert (await one.get("/")).status_code == 200
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as two:
        again = await two.get(url)
        assert again.status_code == 401
        assert "used already" in again.text
        sound(again.text)
