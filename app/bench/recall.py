"""`artemis bench recall`: recall against the plain full-text query, on a million texts."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from pydantic import computed_field

from app.bench.words import Question, Writer
from app.domain.memory import RecallQuery, SearchEntry
from app.domain.tasks import TaskSpec
from app.domain.values import Value
from app.errors import InvalidInput
from app.storage.artifacts import FileArtifacts
from app.storage.db import Database
from app.storage.migrations import migrate
from app.storage.recorder import TaskRecorder
from app.storage.repositories import TaskRepository
from app.storage.search import Search
from app.storage.search_text import spell
from app.tasks.bus import Bus
from app.tasks.clock import SystemClock

TASKS = 100
QUESTIONS = 200
"""Asked of all tasks together, and of the one long task."""
MAX_STEPS = 1_000_000
STEPS_AT_ONCE = 500
ADDED = 200
"""Steps whose texts are added, one by one, to the full store: enough to meet the index's merges."""
LARGE = 100_000
"""Steps from which the limits hold: a small store shows nothing."""
FASTER = 3.0
ADD_LIMIT = 5.0
"""Milliseconds: of the median, and of the 95th percentile of processor time. Of the time on the
clock the slowest also show what else the disk and the cores were busy with."""
BEST = 5
_BY_TASK = (
    "SELECT entry.step_number FROM search_fts JOIN search_entry AS entry"
    " ON entry.id = search_fts.rowid WHERE search_fts MATCH ? AND {where}"
    " ORDER BY bm25(search_fts) LIMIT 50"
)
PLAIN = _BY_TASK.format(where="entry.task_id = ?")
"""What anybody would write first."""
BOUNDED = _BY_TASK.format(where="search_fts.rowid BETWEEN ? AND ?")
"""The same, helped by knowing where the task's rows stand."""


class Spread(Value):
    """Milliseconds."""

    median: float
    p95: float


class Figures(Value):
    """One way of spreading the steps over tasks."""

    tasks: int
    steps_each: int
    texts: int
    queries: int
    ours: Spread
    plain: Spread
    """`MATCH … ORDER BY bm25` over the task's rows."""
    bounded: Spread
    """The plain query with the task's range of row ids given to it."""
    recall: float
    """Share of planted answers among the best five."""
    plain_recall: float
    add: Spread
    """Adding the texts of one more step."""
    add_cpu: Spread
    """Its processor time, over all threads."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def faster(self) -> float:
        """How many times, at the 95th percentile."""
        return round(self.plain.p95 / self.ours.p95, 1)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def faster_than_bounded(self) -> float:
        return round(self.bounded.p95 / self.ours.p95, 1)

    @property
    def quick_to_add(self) -> bool:
        return max(self.add.median, self.add_cpu.p95) < ADD_LIMIT


class Report(Value):
    """The benchmark's answer."""

    steps: int
    many: Figures
    """The steps in a hundred tasks."""
    one: Figures
    """The steps in a single task."""

    @property
    def kept(self) -> bool:
        """Never worse at finding; in a large store faster by the limit as well."""
        both = (self.many, self.one)
        found = all(f.recall >= f.plain_recall for f in both)
        fast = all(f.faster >= FASTER and f.quick_to_add for f in both)
        return found and (fast or self.steps < LARGE)


async def main(steps: int, *, as_json: bool) -> int:
    """Measures and prints; exit code 0 when recall is not worse and, in a large store, faster."""
    report = await measure(steps)
    text = report.model_dump_json(indent=2) if as_json else "\n".join(lines(report))
    sys.stdout.write(text + "\n")
    return 0 if report.kept else 1


async def measure(steps: int) -> Report:
    """Fills two stores of its own, one after the other."""
    if not 100 <= steps <= MAX_STEPS:
        raise InvalidInput(f"{steps} steps cannot be measured", hint=f"give 100 to {MAX_STEPS:,}")
    tasks = min(TASKS, steps // 10)
    return Report(
        steps=steps, many=await _measure(tasks, steps // tasks), one=await _measure(1, steps)
    )


async def _measure(tasks: int, steps: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="artemis-bench-") as folder:
        path = Path(folder) / "bench.db"
        await migrate(f"sqlite:///{path}")
        database = Database(f"sqlite:///{path}")
        try:
            store = _Store(database, FileArtifacts(Path(folder) / "artifacts"))
            asked: list[tuple[str, Question]] = []
            for seed in range(tasks):
                writer = Writer(seed, steps, max(1, QUESTIONS // tasks))
                task_id = await store.fill(writer)
                asked += [(task_id, question) for question in writer.questions]
            with closing(sqlite3.connect(path)) as plain:
                return await _ask(store, plain, asked[:QUESTIONS], tasks, steps)
        finally:
            await database.close()


class _Store:
    """A store of tasks that hold nothing but texts."""

    def __init__(self, database: Database, artifacts: FileArtifacts) -> None:
        self.database = database
        self._artifacts = artifacts
        self._bus, self._clock = Bus(), SystemClock()

    async def fill(self, writer: Writer) -> str:
        task_id = uuid.uuid4().hex[:12]
        tasks = TaskRepository(self.database, self._bus.publish, self._clock)
        await tasks.create(task_id, TaskSpec(goal="texts", device="none"))
        for first in range(1, writer.steps + 1, STEPS_AT_ONCE):
            last = min(first + STEPS_AT_ONCE - 1, writer.steps)
            await self.add(task_id, writer.texts(first, last))
        return task_id

    async def add(self, task_id: str, texts: Iterable[SearchEntry]) -> None:
        recorder = TaskRecorder(
            self.database, self._artifacts, task_id, self._bus.publish, self._clock
        )
        await recorder.record(index=tuple(texts))


async def _ask(
    store: _Store,
    plain: sqlite3.Connection,
    asked: list[tuple[str, Question]],
    tasks: int,
    steps: int,
) -> Figures:
    """Each question in all ways, one after the other, so that a busy moment hits them alike."""
    numbers = dict(plain.execute("SELECT task_id, number FROM task"))
    times: dict[str, list[float]] = {"ours": [], "plain": [], "bounded": []}
    times |= {"add": [], "add_cpu": []}
    found = plain_found = 0
    for task_id, question in asked:
        began = time.perf_counter()
        result = await Search(store.database, task_id).search(RecallQuery(query=question.query))
        times["ours"].append(time.perf_counter() - began)
        found += question.step in [hit.step_number for hit in result.results[:BEST]]
        words = " OR ".join(f'"{spell(word)}"' for word in question.query.split())
        first = numbers[task_id] << 32
        began = time.perf_counter()
        rows = plain.execute(PLAIN, (words, task_id)).fetchall()
        times["plain"].append(time.perf_counter() - began)
        began = time.perf_counter()
        plain.execute(BOUNDED, (words, first, first + (1 << 32) - 1)).fetchall()
        times["bounded"].append(time.perf_counter() - began)
        plain_found += question.step in list(dict.fromkeys(row[0] for row in rows))[:BEST]
    more = Writer(-1, ADDED, 0)
    for number in range(1, ADDED + 1):
        texts = tuple(more.texts(number, number))
        began, spent = time.perf_counter(), time.process_time()
        await store.add(asked[0][0], texts)
        times["add"].append(time.perf_counter() - began)
        times["add_cpu"].append(time.process_time() - spent)
    (texts_count,) = plain.execute("SELECT count(*) FROM search_entry").fetchone()
    return Figures(
        tasks=tasks,
        steps_each=steps,
        texts=texts_count,
        queries=len(asked),
        recall=round(found / len(asked), 4),
        plain_recall=round(plain_found / len(asked), 4),
        **{name: _spread(values) for name, values in times.items()},
    )


def _spread(seconds: list[float]) -> Spread:
    values = [s * 1000 for s in seconds]
    p95 = quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return Spread(median=round(median(values), 2), p95=round(p95, 2))


def lines(report: Report) -> Iterator[str]:
    """The report as a table."""
    for title, figures in (("within one of many tasks", report.many), ("one task", report.one)):
        yield (
            f"{title}: {figures.tasks} x {figures.steps_each:,} steps, {figures.texts:,} texts,"
            f" {figures.queries} queries"
        )
        yield f"  {'milliseconds':<26}{'median':>9}{'p95':>9}   recall@{BEST}"
        yield _line("recall", figures.ours) + f"   {figures.recall:.3f}"
        yield _line("plain MATCH by bm25", figures.plain) + f"   {figures.plain_recall:.3f}"
        yield _line("  with the range of ids", figures.bounded)
        yield _line("adding a step's texts", figures.add)
        yield _line("  its processor time", figures.add_cpu)
        yield (
            f"  at the 95th percentile {figures.faster:.1f} times faster than the plain query,"
            f" {figures.faster_than_bounded:.1f} times faster than with the range of ids"
        )
        yield ""
    yield "limits kept" if report.kept else "LIMITS NOT KEPT"


def _line(name: str, spread: Spread) -> str:
    return f"  {name:<26}{spread.median:>9.2f}{spread.p95:>9.2f}"
