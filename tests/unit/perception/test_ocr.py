"""The reader's life: one process, each picture once, urgent ones first, deaths survived."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.domain.config import OcrConfig
from app.domain.screens import PictureText, Screenshot
from app.errors import PictureUnread
from app.perception.ocr import MAX_DEATHS, REST, OcrService
from app.tasks.clock import SystemClock

STAND_IN = Path(__file__).parents[2] / "stand_ins" / "reading_process.py"
COMMAND = (sys.executable, "-P", str(STAND_IN))


class Skewed(SystemClock):
    """The real clock, put forward by hand."""

    skew = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skew


def picture(words: str) -> Screenshot:
    return Screenshot(data=words.encode(), width=100, height=200)


def words(text: PictureText) -> str:
    return " ".join(line.text for line in text.lines)


@pytest.fixture
def clock() -> Skewed:
    return Skewed()


Make = Callable[..., OcrService]


@pytest.fixture
async def make(clock: Skewed) -> AsyncIterator[Make]:
    made: list[OcrService] = []

    def make(*arguments: str, **config: float) -> OcrService:
        command = (*COMMAND, *arguments)
        made.append(OcrService(OcrConfig.model_validate(config), clock, command))
        return made[-1]

    yield make
    for service in made:
        await service.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_one_process_reads_all_and_each_distinct_picture_once(make: Make) -> None:
    ocr = make()
    assert ocr.pid is None
    both = await asyncio.gather(ocr.read(picture("Total")), ocr.read(picture("Total")))
    again = await ocr.read(picture("Total"))
    other = await ocr.read(picture("Tax"))
    assert [words(t) for t in (*both, again, other)] == ["Total", "Total", "Total", "Tax"]
    assert other.engine == "2", "the same process, and only its second picture"
    assert (ocr.starts, ocr.pictures) == (1, 2)


async def test_what_is_forgotten_is_read_again(make: Make) -> None:
    ocr = make(remembered=1)
    for text in ("one", "two", "one"):
        await ocr.read(picture(text))
    assert ocr.pictures == 3


async def test_an_urgent_picture_goes_before_those_that_wait(make: Make) -> None:
    ocr = make()
    order: list[str] = []

    async def read(text: str, urgent: bool) -> None:
        await ocr.read(picture(text), urgent=urgent)
        order.append(text)

    async with asyncio.TaskGroup() as group:
        for text in ("slow 1", "slow 2", "slow 3"):
            group.create_task(read(text, False))
        await asyncio.sleep(0.1)
        group.create_task(read("now", True))
        group.create_task(read("slow 3", True))
    assert order[1:3] == ["now", "slow 3"] or order[1:4] == ["now", "slow 3", "slow 3"]
    assert order[-1] == "slow 2"
    assert ocr.pictures == 4


async def test_too_many_waiting_pictures_are_refused_but_never_an_urgent_one(make: Make) -> None:
    ocr = make(max_waiting=2)
    held = [asyncio.create_task(ocr.read(picture(f"slow {n}"))) for n in range(3)]
    while ocr.pid is None:  # noqa: ASYNC110 (the first one is taken once there is a process)
        await asyncio.sleep(0.01)
    extra = await asyncio.gather(*held, return_exceptions=True)
    refused = [e for e in extra if isinstance(e, PictureUnread)]
    assert len(refused) == 1 and "2 wait already" in refused[0].message

    held = [asyncio.create_task(ocr.read(picture(f"slow more {n}"))) for n in range(3)]
    await asyncio.sleep(0)
    assert words(await ocr.read(picture("now"), urgent=True)) == "now"
    await asyncio.gather(*held, return_exceptions=True)


async def test_a_killed_process_is_started_again(make: Make) -> None:
    ocr = make()
    await ocr.read(picture("before"))
    assert ocr.pid is not None
    os.kill(ocr.pid, signal.SIGKILL)
    assert words(await ocr.read(picture("after"))) == "after"
    assert ocr.starts == 2


async def test_killed_in_the_middle_the_picture_is_read_by_the_next(make: Make) -> None:
    ocr = make()
    await ocr.read(picture("before"))
    reading = asyncio.create_task(ocr.read(picture("slow value")))
    await asyncio.sleep(0.1)
    assert ocr.pid is not None
    os.kill(ocr.pid, signal.SIGKILL)
    assert words(await reading) == "slow value"
    assert ocr.starts == 2


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("die", "it ended"), ("babble", "nonsense"), ("hang", "no answer within 0.2 s")],
)
async def test_a_picture_that_kills_is_given_up_and_the_next_is_read(
    make: Make, behaviour: str, reason: str
) -> None:
    ocr = make(read_timeout=0.2)
    with pytest.raises(PictureUnread, match=reason):
        await ocr.read(picture(behaviour))
    assert ocr.starts == 2
    assert words(await ocr.read(picture("next"))) == "next"


async def test_after_many_deaths_the_reader_rests_and_then_tries_again(
    make: Make, clock: Skewed
) -> None:
    ocr = make()
    for number in range(MAX_DEATHS):
        with pytest.raises(PictureUnread):
            await ocr.read(picture(f"die {number}"))
    starts = ocr.starts
    assert starts == MAX_DEATHS, "no more is started than may die"
    assert "rests" in ocr.problem and not ocr.available
    with pytest.raises(PictureUnread, match="rests"):
        await ocr.read(picture("Total"))
    assert ocr.starts == starts
    clock.skew += REST + 1
    assert words(await ocr.read(picture("Total"))) == "Total"


async def test_a_process_that_cannot_start_is_a_reason_not_a_hang(make: Make) -> None:
    with pytest.raises(PictureUnread, match="it ended"):
        await make("stillborn").read(picture("Total"))


async def test_a_program_that_is_not_there(clock: Skewed) -> None:
    ocr = OcrService(OcrConfig(), clock, ("/nowhere/python",))
    with pytest.raises(PictureUnread, match="could not be started: No such file"):
        await ocr.read(picture("Total"))
    await ocr.close()


async def test_a_damaged_picture_costs_no_process(make: Make) -> None:
    ocr = make()
    for number in range(MAX_DEATHS + 1):
        with pytest.raises(PictureUnread, match="the screenshot is damaged"):
            await ocr.read(picture(f"refuse {number}"))
    assert ocr.starts == 1 and ocr.available


async def test_given_up_by_its_caller_the_reading_goes_on(make: Make) -> None:
    ocr = make()
    await ocr.read(picture("first"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ocr.read(picture("slow value"), urgent=True)
    assert words(await ocr.read(picture("slow value"))) == "slow value"
    assert (ocr.starts, ocr.pictures) == (1, 2)


async def test_warm_starts_the_process_before_the_first_picture(make: Make) -> None:
    ocr = make()
    ocr.warm()
    async with asyncio.timeout(10):
        while not ocr.starts:  # noqa: ASYNC110 (nobody is told)
            await asyncio.sleep(0.01)
    pid = ocr.pid
    await ocr.read(picture("Total"))
    assert (ocr.pid, ocr.starts) == (pid, 1)


async def test_an_idle_process_ends_and_comes_back(make: Make) -> None:
    ocr = make(idle=0.05)
    await ocr.read(picture("one"))
    async with asyncio.timeout(10):
        while ocr.pid is not None:  # noqa: ASYNC110 (nobody is told)
            await asyncio.sleep(0.01)
    assert words(await ocr.read(picture("two"))) == "two"
    assert ocr.starts == 2


async def test_close_ends_the_process_and_refuses_what_waits(make: Make) -> None:
    ocr = make()
    await ocr.read(picture("one"))
    pid = ocr.pid
    assert pid is not None
    held = [asyncio.create_task(ocr.read(picture(f"slow {n}"))) for n in range(3)]
    await asyncio.sleep(0.05)
    await ocr.close()
    outcomes = await asyncio.gather(*held, return_exceptions=True)
    assert all(isinstance(o, PictureUnread) for o in outcomes), outcomes
    assert not alive(pid)
    with pytest.raises(PictureUnread, match="ended"):
        await ocr.read(picture("later"))


async def test_the_process_gets_no_secret(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_SECRETS__PIN", "4711")
    monkeypatch.setenv("SOME_API_KEY", "k")
    names = words(await make().read(picture("environment"))).split()
    assert "OMP_NUM_THREADS" in names
    assert not [n for n in names if "SECRET" in n or "KEY" in n]


@pytest.mark.parametrize(
    ("ocr", "reason"),
    [
        (OcrService(OcrConfig(), SystemClock(), COMMAND, "the extra is missing"), "extra"),
        (OcrService(OcrConfig(enabled=False), SystemClock(), COMMAND), "switched off"),
    ],
)
async def test_without_a_reader_the_reason_is_said(ocr: OcrService, reason: str) -> None:
    assert not ocr.available and reason in ocr.problem
    with pytest.raises(PictureUnread, match=reason):
        await ocr.read(picture("Total"))
    assert ocr.pid is None
