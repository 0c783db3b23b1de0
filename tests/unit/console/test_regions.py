"""What is pushed to a page: out-of-band fragments only, for every event, whatever is in it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import get_args

import pytest
from fastapi import FastAPI

from app.console.dependencies import templates
from app.console.regions import TOUCHES, Fragments, change
from app.console.taskview import REGIONS, WINDOW, TaskReader
from app.domain.events import Event, StoredEvent
from tests.unit.console.stories import Story, begin, goes_on, rich_story
from tests.unit.console.test_pages import HOSTILE, hostile_story, sound

OUT_OF_BAND = {"hx-upsert", "hx-partial"}


class Roots(HTMLParser):
    """Top-level elements and text of a message."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._depth == 0:
            self.found.append((tag, dict(attrs)))
        if tag not in ("img", "input"):
            self._depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._depth == 0:
            self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth == 0:
            self.text += data.strip()


def only_out_of_band(message: str) -> Roots:
    """One stray element or word at the top would replace the whole page."""
    roots = Roots(message)
    assert roots.text == ""
    assert roots.found
    for tag, attributes in roots.found:
        assert tag in OUT_OF_BAND or "hx-swap-oob" in attributes, (tag, attributes)
    return roots


async def stored(story: Story) -> list[StoredEvent]:
    events = await story.app.state.queries.tasks.events(story.task_id)
    return list(events)


def fragments(story: Story, order: str = "newest") -> Fragments:
    reader = TaskReader(story.app.state.queries, story.task_id)
    return Fragments(templates(), reader, order)


def test_every_event_type_has_its_regions() -> None:
    union = get_args(get_args(Event)[0])
    assert set(TOUCHES) == set(union)
    for regions in TOUCHES.values():
        assert regions <= set(REGIONS)


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_each_event_is_pushed_out_of_band(app: FastAPI, order: str) -> None:
    story = await rich_story(app)
    await goes_on(story)
    viewer = fragments(story, order)
    events = await stored(story)
    assert len({type(event.event) for event in events}) > 12
    for event in events:
        message = await viewer.message([event])
        roots = only_out_of_band(message)
        sound(message)
        assert roots.found[0][1]["data-seq"] == str(event.seq)


async def test_hostile_text_stays_text_in_what_is_pushed(app: FastAPI) -> None:
    story = await hostile_story(app)
    message = await fragments(story).message(await stored(story))
    only_out_of_band(message)
    page = sound(message)
    assert HOSTILE not in message
    assert "script" not in page.tags
    swaps = [value for name, value in page.attributes if name == "hx-swap-oob"]
    assert set(swaps) == {"outerMorph"}


async def test_many_events_make_one_message_with_each_region_once(app: FastAPI) -> None:
    story = await rich_story(app)
    message = await fragments(story).message(await stored(story))
    roots = only_out_of_band(message)
    names = [attributes["id"] for _, attributes in roots.found if "id" in attributes]
    assert len(names) == len(set(names))
    assert sound(message).tags.count("article") >= 7


async def test_a_turn_is_added_once_and_then_changed_in_place(app: FastAPI) -> None:
    story = await begin(app)
    viewer = fragments(story)
    await story.turn(finish=False)
    first = await viewer.message(await stored(story))
    assert first.count("<hx-upsert") == 1
    before = (await stored(story))[-1].seq
    await story.finish()
    later = [event for event in await stored(story) if event.seq > before]
    second = await viewer.message(later)
    assert "<hx-upsert" not in second
    assert 'id="turn-1" data-n="1" hx-swap-oob="outerMorph"' in second


async def test_a_viewer_far_behind_gets_a_new_list_instead_of_every_turn(app: FastAPI) -> None:
    story = await begin(app)
    for _ in range(WINDOW + 20):
        await story.turn(elements=("Next",))
    message = await fragments(story).message(await stored(story))
    only_out_of_band(message)
    assert message.count('<li class="turn') == WINDOW
    assert "hx-upsert" not in message


def test_a_change_is_the_union_of_what_its_events_touch() -> None:
    from datetime import UTC, datetime

    from app.domain.events import NoteWritten, SessionOpened
    from app.domain.tasks import Note

    def at(seq: int, event: Event) -> StoredEvent:
        return StoredEvent(seq=seq, task_id="t", at=datetime.now(UTC), event=event)

    note = NoteWritten(note=Note(key="k", text="t", step_number=1))
    found = change([at(3, note), at(4, SessionOpened(device="d", description="")), at(5, note)])
    assert found.regions == {"notes", "now"}
    assert found.added == found.changed == frozenset()
    assert found.last_seq == 5
