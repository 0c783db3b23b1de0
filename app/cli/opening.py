"""`artemis open`: one more address that signs a browser in."""

from __future__ import annotations

from app.cli.client import Client, token_of
from app.cli.printing import say
from app.settings import Settings


async def print_address(settings: Settings) -> int:
    """Raises ServerGone when no server answers."""
    client = Client(settings.server_url, token_of(settings))
    try:
        answer = await client.post("/open-addresses")
    finally:
        await client.close()
    say(f"{settings.server_url}{answer['path']}")
    return 0
