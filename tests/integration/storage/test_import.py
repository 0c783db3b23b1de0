"""Recorded runs become tasks like any other, whole or not at all, and answer questions."""

from __future__ import annotations

import io
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.bench.questions import measure, read_questions
from app.devices.replay import ReplayDevice
from app.domain.actions import LabelSource, Outcome, Tap, Verdict
from app.domain.config import OcrConfig, PerceptionConfig
from app.domain.events import TaskCreated
from app.domain.memory import RecallQuery, TextKind
from app.domain.screens import Bounds, PictureText, Screenshot, Size, TextLine
from app.domain.tasks import StepState, TaskState
from app.errors import Conflict, InvalidInput, NotFound
from app.storage.deletion import delete_task
from app.storage.importing import Batch, store_run
from app.tasks.archive import FOLDER, Archive, lay_in
from app.tasks.background import BackgroundWork
from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import decided, entries, finished, spec

RUNS = Path(__file__).parents[2] / "data" / "trajectories"
WORDS = "read from the picture: ZQ-4711"


class Reader:
    """An Ocr port that reads the same words from every picture."""

    problem = ""

    def __init__(self) -> None:
        self.read_pictures = 0

    async def read(self, screenshot: Screenshot, *, urgent: bool = False) -> PictureText:
        self.read_pictures += 1
        line = TextLine(text=WORDS, bounds=Bounds(left=0, top=0, right=9, bottom=9))
        return PictureText(lines=(line,), size=Size(width=10, height=10))


def archive_of(store: Store, data: Path, ocr: Reader | None = None) -> Archive:
    return Archive(
        store.db,
        store.artifacts,
        data,
        PerceptionConfig(),
        store.viewer,
        store.clock,
        BackgroundWork(),
        ocr,
    )


def recording(folder: Path, *lines: str | dict[str, Any], **about: Any) -> Path:
    """A recorded run written by hand."""
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps({"name": "small", "goal": "look", **about}))
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "steps.jsonl").write_text("\n".join(written) + "\n")
    return folder


@pytest.mark.parametrize("name", sorted(p.parent.name for p in RUNS.glob("*/task.json")))
async def test_a_run_becomes_a_task(store: Store, tmp_path: Path, name: str) -> None:
    archive = archive_of(store, tmp_path)
    task = await archive.take_in(lay_in(RUNS / name, tmp_path))
    written = [json.loads(line) for line in (RUNS / name / "steps.jsonl").read_text().splitlines()]
    assert (task.steps, task.state.ended) == (len(written), True)
    history = await store.recorder(task.task_id).history()
    for line, step in zip(written, history.steps, strict=True):
        assert (step.step_number, step.state) == (line["step"], StepState.DONE)
        assert (step.verdict is Verdict.ERROR) == (line["error"] is True)
        assert (line["thought"] or "") in step.thinking
        shown = step.after if line["observed"] == "result" else step.observation
        other = step.observation if line["observed"] == "result" else step.after
        assert other is None or (other.screenshot, other.source_ref) == (None, None)
        if line["ui"]:
            assert shown is not None and shown.source_ref is not None
            assert await store.artifacts.get(shown.source_ref)
        if line["screenshot"]:
            assert shown is not None and shown.screenshot is not None
            assert await store.artifacts.get(shown.screenshot)
    events = await store.queries.tasks.events(task.task_id, limit=5_000)
    assert [event.seq for event in events] == list(range(1, task.last_seq + 1))


async def test_its_device_plays_it_back(store: Store, tmp_path: Path) -> None:
    archive = archive_of(store, tmp_path)
    task = await archive.take_in(lay_in(RUNS / "appagent-wifi-5", tmp_path))
    device = ReplayDevice(await store.devices.get(task.spec.device))
    await device.open()
    view = await device.observe()
    assert view.screenshot is not None and view.source is not None
    assert device.position == (0, 5)


async def test_actions_are_ours_where_their_place_is_known(store: Store, tmp_path: Path) -> None:
    ui = (
        '<hierarchy><node class="android.widget.Button" text="Send 12" clickable="true"'
        ' bounds="[0,0][100,50]"/></hierarchy>'
    )
    folder = recording(
        tmp_path / "run",
        {"step": 1, "action_type": "tap", "x": 50, "y": 20, "ui": "1.xml", "observed": "before",
         "result": "tapped", "error": False},
        {"step": 2, "action_type": "telepathy", "action": {"tool": "mind_link", "force": 9}},
        {"step": 3, "action_type": "key", "key": "BACK", "error": True, "result": "no such key"},
        coordinate_space="device pixels", screen={"width": 100, "height": 200},
        outcome="success", final_answer="It was Send 12.",
    )  # fmt: skip
    (folder / "1.xml").write_text(ui)
    task = await archive_of(store, tmp_path / "d").take_in(lay_in(folder, tmp_path / "d"))
    assert (task.state, task.answer) == (TaskState.COMPLETED, "It was Send 12.")
    tap, other, key = (await store.recorder(task.task_id).history()).steps
    assert isinstance(tap.action, Tap)
    assert (tap.action.target.text, tap.action.target.label_source) == (
        "Send 12",
        LabelSource.HIT_TEST,
    )
    assert (tap.action.target.point.x, tap.action.target.point.y) == (500, 100)
    assert (other.action, other.verdict) == (None, Verdict.UNCERTAIN)
    assert other.action_text == "telepathy: tool mind_link force 9"
    assert key.action_text == "back"
    assert key.receipt is not None
    assert (key.receipt.outcome, key.receipt.message) == (Outcome.ERROR, "no such key")
    search = store.search(task.task_id)
    assert (await search.search(RecallQuery(query="mind_link"))).results[0].step_number == 2


BROKEN: list[tuple[tuple[str | dict[str, Any], ...], str]] = [
    (({"step": 1}, '{"step": 2'), "line 2 is not JSON"),
    (({"step": 1}, "", "[1]"), "line 3"),
    (({"step": 1}, {"step": 3}), "line 2: step 3 follows step 1"),
    (({"step": 1}, {"step": 1}), "line 2: step 1 follows step 1"),
    (({"step": 1, "t": "soon"},), "line 1: t:"),
    (({"step": 1, "observed": "later"},), "line 1: observed:"),
    (({"step": 1, "screenshot": "gone.png"},), "step 1: the recording lacks the file gone.png"),
    (({"step": 1, "ui": "../../etc/passwd"},), "step 1: the recording names a file outside"),
    (({"step": 1, "ui": "/etc/passwd"},), "step 1: the recording names a file outside"),
    (("[" * 100_000,), "line 1 is not JSON"),
    (('{"step": 1, "x": NaN}',), "line 1 is not JSON: NaN is no number"),
    (({"step": 1, "t": 1e300},), "line 1: t:"),
    (({"step": 1, "timestamp": "0001-01-01T00:00:00"},), "line 1: timestamp:"),
    (({"step": 1, "ui": "a\0b"},), "step 1: the recording names what no file can be"),
    (({"step": 1, "ui": "a" * 5_000},), "step 1: the recording names what no file can be"),
    (('{"step": 1, "ui": "\\ud800"}',), "step 1: the recording names what no file can be"),
    (('{"step": 1, "action": ' + "[" * 900 + "]" * 900 + "}",), "line 1: action"),
    ((), "holds no steps"),
]


@pytest.mark.parametrize(("lines", "told"), BROKEN)
async def test_a_broken_line_is_named_and_nothing_is_kept(
    store: Store, tmp_path: Path, lines: tuple[str | dict[str, Any], ...], told: str
) -> None:
    folder = recording(tmp_path / "run", *lines)
    with pytest.raises(InvalidInput) as caught:
        lay_in(folder, tmp_path)
    assert told in caught.value.message
    assert not list((tmp_path / FOLDER).glob("*"))
    # The same for one that reached the folder in another way.
    shutil.copytree(folder, tmp_path / FOLDER / "other")
    with pytest.raises(InvalidInput) as caught:
        await archive_of(store, tmp_path).take_in("other")
    assert told in caught.value.message
    assert not list((tmp_path / FOLDER).glob("*"))
    assert (await store.queries.tasks.page()).total == 0


@pytest.mark.parametrize("goal", [None, "", "  ", 5, ["look"], {"a": "look"}])
def test_a_goal_is_a_text(tmp_path: Path, goal: object) -> None:
    folder = recording(tmp_path / "run", {"step": 1}, goal=goal)
    with pytest.raises(InvalidInput, match=r"task\.json names no goal"):
        lay_in(folder, tmp_path / "data")


@pytest.mark.parametrize("name", ["task.json", "steps.jsonl"])
def test_a_pipe_is_never_waited_for(tmp_path: Path, name: str) -> None:
    folder = recording(tmp_path / "run", {"step": 1})
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InvalidInput, match=f"holds no {name}"):
        lay_in(folder, tmp_path / "data")


async def test_odd_but_usable_recordings_are_taken(store: Store, tmp_path: Path) -> None:
    folder = recording(
        tmp_path / "run",
        {"step": 1, "screenshot": "broken.png", "ui": "broken.xml", "thought": "a\0b"},
        '{"step": 2, "thought": "half \\ud800 a character", "result": "\\udfff"}',
    )
    bom = "\ufeff".encode()
    about = json.dumps({"goal": "look \ud800", "name": "../../etc", "final_answer": "\udc00"})
    (folder / "task.json").write_bytes(bom + about.encode())
    steps = (folder / "steps.jsonl").read_bytes()
    (folder / "steps.jsonl").write_bytes(bom + steps.replace(b"\n", b"\r\n"))
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "broken.xml").write_bytes(b'<hierarchy><node text="cut off')
    task = await archive_of(store, tmp_path / "d").take_in(lay_in(folder, tmp_path / "d"))
    assert (task.steps, task.spec.goal) == (2, "look ?")
    first, _ = (await store.recorder(task.task_id).history()).steps
    assert first.observation.problems
    assert {p.parent for p in (tmp_path / "d" / FOLDER).iterdir()} == {tmp_path / "d" / FOLDER}
    hits = (await store.search(task.task_id).search(RecallQuery(query="character"))).results
    assert [hit.step_number for hit in hits] == [2]


async def test_a_picture_of_what_a_step_led_to_is_given(store: Store, tmp_path: Path) -> None:
    folder = recording(
        tmp_path / "run",
        {"step": 1, "thought": "the gauge", "screenshot": "1.png", "observed": "result"},
    )
    Image.new("RGB", (40, 40), "red").save(folder / "1.png")
    task = await archive_of(store, tmp_path / "d").take_in(lay_in(folder, tmp_path / "d"))
    query = RecallQuery(query="gauge", include_images=True)
    (hit,) = (await store.search(task.task_id).search(query)).results
    assert hit.image is not None
    assert Image.open(io.BytesIO(await store.artifacts.get(hit.image))).size == (40, 40)


async def test_a_store_that_refuses_in_mid_import_keeps_nothing(store: Store) -> None:
    at = store.clock.now()
    step = decided(1)
    batches = [
        Batch(at, (TaskCreated(spec=spec("look", "old")),)),
        Batch(at, (step,), entries(1, "first")),
        # Nobody decided a second step.
        Batch(at, (finished(decided(2)),)),
    ]
    with pytest.raises(Conflict):
        await store_run(store.db, store.artifacts, store.viewer, "t", spec("look", "old"), batches)
    assert store.viewer.seen == []
    assert (await store.queries.tasks.page()).total == 0


@pytest.mark.parametrize("name", ["..", "a/b", "", ".hidden", "no-such", "a\0b"])
async def test_only_its_own_folders_are_read(store: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        await archive_of(store, tmp_path).take_in(name)


async def test_a_linked_folder_is_none_of_its_own(store: Store, tmp_path: Path) -> None:
    outside = recording(tmp_path / "outside", {"step": 1})
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "link").symlink_to(outside)
    with pytest.raises(NotFound):
        await archive_of(store, tmp_path).take_in("link")
    assert outside.is_dir()


async def test_words_in_pictures_are_found_once_read(store: Store, tmp_path: Path) -> None:
    reader = Reader()
    archive = archive_of(store, tmp_path, reader)
    task = await archive.take_in(lay_in(RUNS / "bench-mobilemcp-crash-hunt-115", tmp_path))
    left = await archive.pending(task.task_id, 60)
    assert (left.pictures, left.settled, left.problem) == (0, True, "")
    assert reader.read_pictures > 5
    hits = await store.search(task.task_id).search(RecallQuery(query="ZQ-4711"))
    assert {hit.kind for hit in hits.results} == {TextKind.OCR}


async def test_without_a_reader_it_says_so(store: Store, tmp_path: Path) -> None:
    archive = archive_of(store, tmp_path)
    task = await archive.take_in(lay_in(RUNS / "appagent-wifi-5", tmp_path))
    left = await archive.pending(task.task_id, 60)
    assert left.settled and left.pictures > 0
    assert "not read" in left.problem


async def test_a_deleted_task_takes_its_recording_along(store: Store, tmp_path: Path) -> None:
    archive = archive_of(store, tmp_path)
    kept = await archive.take_in(lay_in(RUNS / "appagent-wifi-5", tmp_path))
    gone = await archive.take_in(lay_in(RUNS / "appagent-wifi-5", tmp_path))
    fresh = lay_in(RUNS / "appagent-wifi-5", tmp_path)
    await delete_task(store.db, store.artifacts, gone.task_id)
    await archive.tidy()
    assert {p.name for p in (tmp_path / FOLDER).iterdir()} == {kept.spec.device, fresh}
    assert {d.name for d in await store.devices.list()} == {kept.spec.device}


async def test_times_never_run_backwards(store: Store, tmp_path: Path) -> None:
    stamps = ("2026-01-01T10:00:00", None, "2026-01-01T09:00:00Z", "2026-01-01T10:00:09+00:00")
    folder = recording(
        tmp_path / "run", *({"step": n, "timestamp": t} for n, t in enumerate(stamps, 1))
    )
    task = await archive_of(store, tmp_path).take_in(lay_in(folder, tmp_path))
    steps = (await store.recorder(task.task_id).history()).steps
    assert [step.offset for step in steps] == [0.0, 1.0, 1.0, 9.0]
    assert all(a.started_at <= b.started_at for a, b in pairwise(steps))


class Sections:
    """Settings without a reader: the runs here have no pictures."""

    perception = PerceptionConfig()
    ocr = OcrConfig(enabled=False)


@pytest.mark.parametrize(
    ("name", "share"), [("questions.jsonl", 0.75), ("more-questions.jsonl", 0.9)]
)
async def test_questions_are_answered_by_their_steps(name: str, share: float) -> None:
    report = await measure(Sections(), RUNS, name)
    asked = [q for path in RUNS.glob(f"*/{name}") for q in read_questions(path)]
    assert len(report.questions) == len(asked) >= 25
    assert report.share >= share, [a.id for a in report.questions if a.rank is None]
    for answer in report.questions:
        assert (answer.rank is None) == (not set(answer.given) & set(answer.steps))
        assert len(answer.given) <= 5


def test_a_broken_question_is_named(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "a", "question": "what?", "steps": [1]}\n{"id": "b"}\n')
    with pytest.raises(InvalidInput, match="line 2"):
        read_questions(path)
