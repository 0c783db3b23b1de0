"""Whatever happens in a task, its rows are what its events say."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.actions import Verdict
from app.domain.events import (
    ControlRequested,
    Event,
    ModelCalled,
    NoteWritten,
    QuestionAnswered,
    QuestionAsked,
    Remembered,
    StepDecided,
    StepFinished,
    StoredEvent,
    TaskStateChanged,
)
from app.domain.memory import RecallQuery
from app.domain.tasks import TRANSITIONS, Note, Question, StepState, TaskState
from app.errors import Conflict
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.queries import Queries
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from tests.unit.storage.samples import SteppingClock, Viewer, called, decided, entries, spec

anything = st.text(max_size=20)
number = st.integers(1, 4)
names = st.sampled_from(["a", "b", "ü"])
events = st.one_of(
    st.builds(
        TaskStateChanged,
        previous=st.sampled_from(TaskState),
        state=st.sampled_from(TaskState),
        reason=anything,
    ),
    st.builds(lambda n, text: decided(n, step_id=f"s{n}", thinking=text), number, anything),
    st.builds(
        lambda n, verdict: StepFinished(
            step_id=f"s{n}",
            step_number=n,
            state=StepState.DONE,
            verdict=verdict,
            ended_at=decided(n).started_at,
        ),
        number,
        st.sampled_from(Verdict),
    ),
    st.builds(lambda n, cost: called(n, cost_usd=cost), number, st.sampled_from([None, 0.5])),
    st.builds(
        lambda key, text, n: NoteWritten(note=Note(key=key, text=text, step_number=n)),
        names,
        anything,
        number,
    ),
    st.builds(Remembered, values=st.dictionaries(names, anything, max_size=3), step_number=number),
    st.builds(
        ControlRequested,
        receipt_id=anything,
        control=st.sampled_from(["pause", "resume", "cancel"]),
    ),
    st.builds(
        lambda name: QuestionAsked(
            question=Question(question_id=name, kind="question", text="?", step_number=1)
        ),
        names,
    ),
    st.builds(
        lambda name, answer: QuestionAnswered(
            question_id=name, question="?", answer=answer, step_number=1
        ),
        names,
        anything,
    ),
)


class Model:
    """The same task told by its events alone, without any code of the store."""

    def __init__(self) -> None:
        self.state = TaskState.QUEUED
        self.steps: list[tuple[StepDecided, StepFinished | None]] = []
        self.cost = 0.0
        self.unpriced = 0
        self.prompt = 0
        self.notes: dict[str, str] = {}
        self.remembered: dict[str, tuple[str, int]] = {}
        self.answers: dict[str, str | None] = {}
        self.pause = self.cancel = False

    def copy(self) -> Model:
        copy = Model()
        for name, value in vars(self).items():
            setattr(copy, name, value.copy() if isinstance(value, list | dict) else value)
        return copy

    def take(self, event: Event) -> bool:
        """Follows an event; false where it must be refused."""
        match event:
            case TaskStateChanged(state=state, previous=previous):
                if previous is not self.state or state not in TRANSITIONS[self.state]:
                    return False
                self.state = state
                if state.ended:
                    self.pause = self.cancel = False
            case StepDecided():
                if event.step_number != len(self.steps) + 1:
                    return False
                self.steps.append((event, None))
            case StepFinished(step_number=n):
                if n > len(self.steps) or self.steps[n - 1][1] is not None:
                    return False
                self.steps[n - 1] = (self.steps[n - 1][0], event)
            case ModelCalled(call=call):
                self.prompt += call.usage.prompt
                self.cost += call.cost_usd or 0
                self.unpriced += call.cost_usd is None
            case NoteWritten(note=note):
                self.notes[note.key] = note.text
            case Remembered(values=values, step_number=n):
                self.remembered |= {key: (value, n) for key, value in values.items()}
            case ControlRequested(control=control):
                self.cancel |= control == "cancel"
                self.pause = {"pause": True, "resume": False}.get(control, self.pause)
            case QuestionAsked(question=question):
                if question.question_id in self.answers:
                    return False
                self.answers[question.question_id] = None
            case QuestionAnswered(question_id=name, answer=answer):
                if self.answers.get(name, "unasked") is not None:
                    return False
                self.answers[name] = answer
        return True


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "artemis.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.lists(events, min_size=1, max_size=4), max_size=12))
def test_rows_are_the_fold_of_the_events(template: Path, batches: list[list[Event]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(template, Path(folder, "artemis.db"))
        asyncio.run(_run(Path(folder), batches))


async def _run(folder: Path, batches: list[list[Event]]) -> None:
    db = Database(f"sqlite:///{folder / 'artemis.db'}")
    try:
        await _compare(db, FileArtifacts(folder / "artifacts"), batches)
    finally:
        await db.close()


async def _compare(db: Database, artifacts: FileArtifacts, batches: list[list[Event]]) -> None:
    viewer, clock = Viewer(), SteppingClock()
    await TaskRepository(db, viewer, clock).create("t", spec())
    recorder = TaskRecorder(db, artifacts, "t", viewer, clock)
    model, accepted = Model(), 1
    for batch in batches:
        tried = model.copy()
        legal = all([tried.take(event) for event in batch])
        if legal:
            await recorder.record(*batch)
            model, accepted = tried, accepted + len(batch)
        else:
            with pytest.raises(Conflict):
                await recorder.record(*batch)
    queries = Queries(db, artifacts)
    stored: tuple[StoredEvent, ...] = await queries.tasks.events("t")
    assert [event.seq for event in stored] == list(range(1, accepted + 1))
    assert list(stored) == viewer.seen
    _assert_same(model, await recorder.history())


def _assert_same(model: Model, history) -> None:
    task = history.task
    assert task.state is model.state
    assert (task.cost_usd, task.unpriced_calls) == (model.cost, model.unpriced)
    assert task.usage.prompt == model.prompt
    assert (task.pause_requested, task.cancel_requested) == (model.pause, model.cancel)
    assert task.steps == len(model.steps)
    for (step, end), record in zip(model.steps, history.steps, strict=True):
        assert record.step_id == step.step_id
        assert record.verdict is (end.verdict if end else None)
        assert record.state is (end.state if end else StepState.DECIDED)
    assert [(note.key, note.text) for note in history.notes] == list(_clean(model.notes).items())
    assert list(history.remembered.items()) == list(_clean(model.remembered).items())
    answered = sorted(answer for answer in model.answers.values() if answer is not None)
    assert sorted(answer for _, answer, _ in history.answers) == sorted(map(_mend, answered))
    assert (history.open_question is None) == (None not in model.answers.values())


def _mend(value):
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return tuple(_mend(v) if isinstance(v, str) else v for v in value)


def _clean(values):
    return {key: _mend(value) for key, value in values.items()}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(st.text(min_size=1, max_size=60), max_size=8), query=st.text(max_size=200))
def test_any_query_over_any_text_is_answered(template: Path, texts: list[str], query: str) -> None:
    async def run(folder: Path) -> None:
        db = Database(f"sqlite:///{folder / 'artemis.db'}")
        try:
            viewer, clock = Viewer(), SteppingClock()
            await TaskRepository(db, viewer, clock).create("t", spec())
            recorder = TaskRecorder(db, FileArtifacts(folder / "a"), "t", viewer, clock)
            for n, text in enumerate(texts, start=1):
                await recorder.record(decided(n), index=entries(n, text))
            search = Search(db, "t")
            for asked in (query, *texts):
                result = await search.search(RecallQuery(query=asked, max_results=50))
                steps = [hit.step_number for hit in result.results]
                assert len(set(steps)) == len(steps)
                assert result.tokens <= 2_000
        finally:
            await db.close()

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(template, Path(folder, "artemis.db"))
        asyncio.run(run(Path(folder)))
