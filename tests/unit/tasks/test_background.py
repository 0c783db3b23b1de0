"""Background work: owned, logged, drained."""

import asyncio

from structlog.testing import capture_logs

from app.tasks.background import BackgroundWork


async def test_work_runs_beside_and_a_failure_is_logged_not_raised() -> None:
    done: list[str] = []

    async def good() -> None:
        done.append("good")

    async def bad() -> None:
        raise ValueError("broken")

    background = BackgroundWork()
    with capture_logs() as logs:
        background.submit("bad", bad)
        background.submit("good", good)
        assert not done, "submit returns at once"
        await background.drain(5)
    assert done == ["good"]
    assert [(entry["event"], entry["work"]) for entry in logs] == [
        ("background_work_failed", "bad")
    ]


async def test_draining_ends_what_does_not_end_by_itself() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    background = BackgroundWork()
    background.submit("endless", endless)
    await asyncio.sleep(0)
    await asyncio.wait_for(background.drain(0.05), 5)
    assert ended == ["cancelled"]
    await background.drain(0.05)
