"""`artemis bench questions`: recorded runs are imported, their questions asked of recall."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.config import OcrConfig, PerceptionConfig
from app.domain.memory import RecallQuery
from app.domain.values import Value
from app.errors import InvalidInput
from app.perception.ocr import OcrService, missing_extra
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.search import Search
from app.tasks.archive import Archive, lay_in
from app.tasks.background import BackgroundWork
from app.tasks.bus import Bus
from app.tasks.clock import SystemClock

BEST = 5
QUESTIONS = "questions.jsonl"
LONG_POLL = 60.0
ENOUGH = 0.8


class Sections(Protocol):
    """The sections of the settings that an import uses."""

    @property
    def perception(self) -> PerceptionConfig: ...

    @property
    def ocr(self) -> OcrConfig: ...


class Question(BaseModel):
    """One line of questions.jsonl; what it says beside this is for people."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    question: str = Field(min_length=1)
    steps: tuple[int, ...] = Field(min_length=1)
    """Any of them answers it."""
    where: str = ""
    """What of the step holds the answer."""


class Answered(Value):
    """What recall made of one question."""

    id: str
    question: str
    where: str
    steps: tuple[int, ...]
    given: tuple[int, ...]
    """The best five steps, best first."""
    rank: int | None
    """Place of the first answering step among them."""
    covered: float
    """Share of the answering steps among them."""


class Report(Value):
    """The benchmark's answer."""

    questions: tuple[Answered, ...]
    found: int
    """Questions with an answering step among the best five."""
    share: float
    covered: float
    """Mean share of the answering steps among the best five."""
    pictures_unread: str
    """Why the text of pictures was not searched; empty when it was."""


async def main(settings: Sections, path: Path, *, as_json: bool) -> int:
    """Measures and prints; exit code 0 when four of five questions are answered."""
    report = await measure(settings, path)
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.share >= ENOUGH else 1


async def measure(settings: Sections, path: Path, questions: str = QUESTIONS) -> Report:
    """Imports every run below the path that has questions, into a store of its own."""
    runs = await asyncio.to_thread(lambda: sorted(p.parent for p in path.rglob(questions)))
    if not runs:
        raise InvalidInput(f"there is no {questions} in {path} or below")
    clock, bus, background = SystemClock(), Bus(), BackgroundWork()
    ocr = OcrService(settings.ocr, clock, missing=missing_extra())
    answered: list[Answered] = []
    problem = ""
    with tempfile.TemporaryDirectory(prefix="artemis-bench-") as folder:
        data = Path(folder)
        await migrate(f"sqlite:///{data / 'bench.db'}")
        database = Database(f"sqlite:///{data / 'bench.db'}")
        artifacts = FileArtifacts(data / "artifacts")
        archive = Archive(
            database, artifacts, data, settings.perception, bus.publish, clock, background, ocr
        )
        try:
            for run in runs:
                name = await asyncio.to_thread(lay_in, run, data)
                task = await archive.take_in(name)
                while not (left := await archive.pending(task.task_id, LONG_POLL)).settled:
                    continue
                problem = problem or left.problem
                search = Search(database, task.task_id)
                answered += [await _ask(search, q) for q in read_questions(run / questions)]
        finally:
            await ocr.close()
            await background.drain(5.0)
            await database.close()
    found = sum(a.rank is not None for a in answered)
    return Report(
        questions=tuple(answered),
        found=found,
        share=round(found / len(answered), 4),
        covered=round(sum(a.covered for a in answered) / len(answered), 4),
        pictures_unread=problem,
    )


async def _ask(search: Search, question: Question) -> Answered:
    """The question's own words are the query, with the default limits."""
    result = await search.search(RecallQuery(query=question.question[:20_000]))
    given = tuple(hit.step_number for hit in result.results[:BEST])
    places = [place for place, step in enumerate(given, 1) if step in question.steps]
    return Answered(
        id=question.id,
        question=question.question,
        where=question.where,
        steps=question.steps,
        given=given,
        rank=places[0] if places else None,
        covered=round(len(places) / len(set(question.steps)), 4),
    )


def read_questions(path: Path) -> list[Question]:
    """Raises InvalidInput, which names the line."""
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                questions.append(Question.model_validate_json(line))
            except ValidationError as error:
                fault = error.errors(include_url=False, include_input=False)[0]
                raise InvalidInput(f"{path} line {number}: {fault['msg']}") from None
    return questions


def lines(report: Report) -> Iterator[str]:
    """The report as a table."""
    yield f"{'question':<44}{'rank':>5}{'covered':>9}  given (answered by)"
    for answer in report.questions:
        rank = answer.rank if answer.rank is not None else "–"
        given = " ".join(map(str, answer.given)) or "nothing"
        wanted = " ".join(map(str, answer.steps[:8])) + (" …" if len(answer.steps) > 8 else "")
        yield f"{answer.id[-44:]:<44}{rank:>5}{answer.covered:>9.0%}  {given} ({wanted})"
    yield ""
    yield (
        f"{report.found} of {len(report.questions)} questions ({report.share:.0%}) have an"
        f" answering step among the best {BEST}; {report.covered:.0%} of all answering steps"
    )
    if report.pictures_unread:
        yield f"without the text of pictures: {report.pictures_unread}"
