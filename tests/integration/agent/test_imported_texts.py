"""What the offline model writes about imported runs, judged by an oracle over the raw recordings.

`ARTEMIS_RUNS=FOLDER pytest tests/integration/agent/test_imported_texts.py -rP` judges every run
below another folder and shows the figures.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.config import OcrConfig
from app.domain.summaries import ChunkState, SummaryStatus
from app.main import create_app
from app.settings import Settings
from app.storage.queries import Queries
from app.tasks.archive import Archive, lay_in
from tests.unit.memory.corpus import TRAJECTORIES
from tests.unit.memory.oracle import judging, unsourced

RUNS = Path(os.environ.get("ARTEMIS_RUNS", str(TRAJECTORIES)))
NEAR = 4
"""Steps before one whose texts it may repeat; the screen after it is the next one's."""


IMPORTER = "as the recording says"
"""The importer's own words in a record."""


class Written(NamedTuple):
    """A text of the background writers, and the recording that it is about."""

    where: str
    text: str
    source: str


class Recording:
    """A recorded run as plain text, read without any of the importer's code."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "steps.jsonl").read_text(encoding="utf-8").splitlines()
        self.steps = {int(raw["step"]): self._text(folder, raw) for raw in map(json.loads, lines)}

    def _text(self, folder: Path, raw: dict[str, Any]) -> str:
        parts = [*strings(raw), json.dumps(raw["action"], ensure_ascii=False)]
        if raw["ui"]:
            source = (folder / raw["ui"]).read_text(encoding="utf-8", errors="replace")
            parts += [source, html.unescape(source)]
            if source.lstrip().startswith(("{", "[")):
                parts += strings(json.loads(source))
        return "\n".join(parts)

    def about(self, first: int, last: int) -> str:
        return IMPORTER + "\n".join(
            text for n, text in self.steps.items() if first - NEAR <= n <= last + 1
        )


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for part in value.values() for text in strings(part))
        case list():
            yield from (text for part in value for text in strings(part))
        case int() | float():
            yield str(value)


async def written_about(folder: Path, archive: Archive, queries: Queries, data: Path) -> Any:
    """Every version of every text that was written about a run."""
    task = await archive.take_in(await asyncio.to_thread(lay_in, folder, data))
    await archive.pending(task.task_id, 120)
    recording = await asyncio.to_thread(Recording, folder)
    counts = await queries.memory.counts(task.task_id)
    assert counts == {SummaryStatus.VISUAL_READY: task.steps}, folder.name
    chunks = await queries.memory.chunks(task.task_id)
    assert all(c.state is ChunkState.READY for c in chunks), folder.name
    found = [
        Written(f"{folder.name} step {number}", version.text, recording.about(number, number))
        for number in range(1, task.steps + 1)
        for version in (await queries.memory.summary(task.task_id, number)).versions
    ]
    found += [
        Written(f"{folder.name} chunk {c.start_step}", c.digest, recording.about(1, c.end_step))
        for c in chunks
    ]
    return found


def test_an_oracle_finds_no_judging_word_and_no_value_without_a_source(tmp_path: Path) -> None:
    folders = sorted(path.parent for path in RUNS.glob("*/steps.jsonl"))
    texts = asyncio.run(written_about_all(folders, tmp_path / "data"))
    judged = {w.where: words for w in texts if (words := judging(w.text))}
    invented = {w.where: values for w in texts if (values := unsourced(w.text, w.source))}
    summaries = sum(" step " in w.where for w in texts)
    sys.stdout.write(f"{summaries} summaries and {len(texts) - summaries} capsules of ")
    sys.stdout.write(f"{len(folders)} runs: {len(judged)} judging, {len(invented)} unsourced\n")
    assert judged == {}
    assert invented == {}
    assert summaries >= 60 and len(texts) - summaries >= 5


async def written_about_all(folders: list[Path], data: Path) -> list[Written]:
    app = create_app(Settings(data_dir=data, log_level="error", ocr=OcrConfig(enabled=False)))
    texts: list[Written] = []
    async with app.router.lifespan_context(app):
        for folder in folders:
            texts += await written_about(folder, app.state.archive, app.state.queries, data)
    return texts
