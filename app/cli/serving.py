"""`artemis serve`: until somebody ends it."""

from __future__ import annotations

import asyncio
import signal

from app.cli.hosting import Hosted, hosted
from app.cli.printing import say
from app.settings import Settings


async def serve(settings: Settings, *, demo: bool) -> int:
    """Serves until SIGINT or SIGTERM."""
    async with hosted(settings, demo=demo) as server:
        greet(server)
        await until_ended(server)
    return 0


def greet(server: Hosted) -> None:
    """Prints where the console is; the address with the token works once."""
    say(f"Artemis serves at {server.address}")
    say(f"Open the console: {server.one_time_address}")
    say("(works once; a new address is printed at each start)")


async def until_ended(server: Hosted) -> None:
    """Returns on SIGINT or SIGTERM, or when the server ended by itself."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    waiting = asyncio.create_task(asked.wait())
    try:
        await asyncio.wait({waiting, server.ended}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
