"""Reads the pictures of a task's steps in the background and makes their words findable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from pydantic import SecretStr

from app.domain.events import FallbackUsed, TextRead
from app.domain.memory import SearchEntry, TextKind
from app.domain.ports import Artifacts, Background, Ocr, Recorder
from app.domain.screens import ArtifactRef, PictureText, Screenshot
from app.domain.tasks import StepRecord
from app.errors import NotFound, PictureUnread, ReaderAway
from app.perception.drawn import plain_text
from app.storage.db import Database
from app.storage.pictures import texts_read

INDEX_CHARACTERS = 20_000
"""Text indexed per picture; the whole of it stays in its artifact."""
SHORTEST_SECRET = 3


class PictureTexts:
    """One task's pictures: each distinct one is read once, and found under each of its steps."""

    def __init__(
        self, ocr: Ocr, artifacts: Artifacts, recorder: Recorder, background: Background
    ) -> None:
        self._ocr = ocr
        self._artifacts = artifacts
        self._recorder = recorder
        self._background = background
        self._taken: set[int] = set()
        self._said = False

    def take(self, step: StepRecord) -> None:
        """Queues a step's picture and returns at once; the same step again is passed over."""
        seen = step.observation
        if seen.screenshot is None and step.after is not None:
            seen = step.after
        if step.step_number in self._taken or seen.screenshot is None or seen.black:
            return
        self._taken.add(step.step_number)
        if problem := self._ocr.problem:
            if not self._said:
                self._said = True
                self._background.submit("ocr", partial(self._say, step.step_number, problem))
            return
        work = partial(self.read, step.step_number, seen.screenshot)
        self._background.submit(f"ocr of step {step.step_number}", work)

    def take_up(self, pictures: Iterable[tuple[int, ArtifactRef]]) -> None:
        """Queues what an earlier process left, one after the other."""
        left = [(number, ref) for number, ref in pictures if number not in self._taken]
        self._taken.update(number for number, _ in left)
        if left:
            self._background.submit("ocr of earlier steps", partial(self.read_all, left))

    async def read_all(self, pictures: Iterable[tuple[int, ArtifactRef]]) -> None:
        """Reads pictures in their order; ends early when there is no reader any more."""
        for number, ref in pictures:
            if self._ocr.problem:
                return
            await self.read(number, ref)

    async def read(self, step_number: int, picture: ArtifactRef) -> None:
        """Reads one picture and records its text, or why there is none."""
        try:
            data = await self._artifacts.get(picture)
            # The reader finds out the size by itself.
            shot = Screenshot(data=data, media_type=picture.media_type, width=0, height=0)
            text = await self._ocr.read(shot)
        except (PictureUnread, NotFound) as error:
            await self._recorder.record(
                TextRead(
                    step_number=step_number,
                    screenshot=picture,
                    problem=error.message,
                    again=isinstance(error, ReaderAway),
                )
            )
            return
        await self._keep(step_number, picture, text)

    async def _keep(self, step_number: int, picture: ArtifactRef, text: PictureText) -> None:
        ref = await self._artifacts.put(text.model_dump_json().encode(), "application/json")
        words = plain_text(text)[:INDEX_CHARACTERS]
        index = (SearchEntry(step_number=step_number, kind=TextKind.OCR, text=words),)
        await self._recorder.record(
            TextRead(
                step_number=step_number,
                screenshot=picture,
                text_ref=ref,
                lines=len(text.lines),
                seconds=text.seconds,
            ),
            index=index if words.strip() else (),
        )

    async def _say(self, step_number: int, problem: str) -> None:
        """Once a run: without a reader, what stands only in pictures is not found later."""
        detail = f"text in pictures is not read: {problem}"
        await self._recorder.record(
            FallbackUsed(kind="no_ocr", detail=detail, step_number=step_number)
        )


async def text_of_step(db: Database, artifacts: Artifacts, task_id: str, step: StepRecord) -> str:
    """The words of a step's pictures, as far as they were read.

    A picture from after the action is read as the next step's.
    """
    number = step.step_number
    texts = await texts_read(db, task_id, number, number + 1)
    shown = (o.screenshot.sha256 for o in (step.observation, step.after) if o and o.screenshot)
    words = []
    for name in dict.fromkeys(shown):
        if (ref := texts.get(name)) is not None:
            try:
                data = await artifacts.get(ref)
            except NotFound:
                continue
            words.append(plain_text(PictureText.model_validate_json(data)))
    return "\n".join(words)


class DiscreetOcr:
    """A reader that never tells a secret it saw on a screen. Implements the Ocr port."""

    def __init__(self, ocr: Ocr, hide: Callable[[str], str]) -> None:
        self._ocr = ocr
        self._hide = hide

    @property
    def problem(self) -> str:
        return self._ocr.problem

    async def read(self, screenshot: Screenshot, *, urgent: bool = False) -> PictureText:
        text = await self._ocr.read(screenshot, urgent=urgent)
        lines = (line.model_copy(update={"text": self._hide(line.text)}) for line in text.lines)
        return text.model_copy(update={"lines": tuple(lines)})


def hiding(secrets: Mapping[str, SecretStr]) -> Callable[[str], str]:
    """Puts `[secret:NAME]` where one of these values stands; very short ones stand anywhere."""
    values = {s.get_secret_value(): f"[secret:{name}]" for name, s in secrets.items()}
    ordered = sorted((v for v in values if len(v) >= SHORTEST_SECRET), key=len, reverse=True)

    def hide(text: str) -> str:
        for value in ordered:
            text = text.replace(value, values[value])
        return text

    return hide
