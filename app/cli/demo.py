"""`artemis demo`: everything at once, from an empty folder to a finished task."""

from __future__ import annotations

import json
import sys

from app.cli.client import Client, token_of
from app.cli.hosting import Hosted, hosted
from app.cli.printing import say
from app.cli.running import end_document, follow, print_end
from app.cli.serving import greet, until_ended
from app.devices.demo.world import demo_world
from app.domain.tasks import Task, TaskState
from app.errors import ConfigurationError
from app.settings import Settings, gemini_key

GEMINI_GOAL = (
    "Find out the phone's serial number in Settings, About phone. Then write a note titled "
    "“Serial” that holds it, and tell me the serial number."
)


def offline_goal(seed: int) -> str:
    """The demo task in the offline operator's task language, for the phone's content."""
    world = demo_world(seed)
    friend, product = world.contacts[0].name, world.products[0].name
    return f"""\
open "Settings"
tap "About phone"
read "Serial number" as serial
open "Contacts"
tap "{friend}"
read "Phone" as phone
open "Shop"
tap "{product}"
read "Price" as price
tap "Add to cart"
open "Notes"
tap "New note"
type "Service call" into "Title"
type "Serial {{serial}}, call {friend} at {{phone}}, cart {{price}}" into "Text"
tap "Save"
check "Service call"
answer "Serial {{serial}}; {friend} is reached at {{phone}}; {product} costs {{price}}."
"""


async def demo(settings: Settings, *, once: bool, yes: bool) -> int:
    """Runs the demo task; with `once` the exit code says whether it completed."""
    provider = settings.models_config(gemini_key()).provider
    if provider != "offline" and not yes and not _agreed():
        raise ConfigurationError(
            "the demo would spend money on your Gemini key",
            hint="say --yes, or set ARTEMIS_MODELS__PROVIDER=offline",
        )
    say("Starting Appium, the demo phone and the server …")
    async with hosted(settings, demo=True) as server:
        greet(server)
        task, client = await _run(server, _goal(settings, provider))
        print_end(client, task, as_json=False)
        await client.close()
        if not once:
            say()
            say(f"The console stays open at {server.address} — Ctrl-C ends everything.")
            await until_ended(server)
    if once:
        say(json.dumps(end_document(client, task), ensure_ascii=False))
    return 0 if task.state is TaskState.COMPLETED else 1


async def _run(server: Hosted, goal: str) -> tuple[Task, Client]:
    client = Client(server.address, token_of(server.settings))
    task = Task.model_validate(await client.post("/tasks", {"goal": goal, "device": "demo"}))
    say(f"Task {task.task_id}: {server.address}/tasks/{task.task_id}")
    return await follow(client, task.task_id, quiet=False), client


def _goal(settings: Settings, provider: str) -> str:
    return offline_goal(settings.demo_seed) if provider == "offline" else GEMINI_GOAL


def _agreed() -> bool:
    """Asks before money is spent; without a terminal nobody can agree."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write("GEMINI_API_KEY is set: the demo task will use it. Go on? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
