"""The commands and their options; what they do stands in the modules beside this one."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli import devices as devices_command
from app.cli import doctor as doctor_command
from app.cli import opening, running
from app.cli import tasks as tasks_command
from app.cli.logs import set_up_logs
from app.domain.tasks import Approval, TaskState
from app.errors import InvalidInput
from app.settings import Settings, load_settings

app = typer.Typer(
    help="Give a phone a goal in plain words, watch it being reached, prove what happened.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
tasks_app = typer.Typer(help="See and control tasks.", no_args_is_help=True)
devices_app = typer.Typer(help="See, add, test and retire devices.", no_args_is_help=True)
bench_app = typer.Typer(help="Measure Artemis itself.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")
app.add_typer(devices_app, name="devices")
app.add_typer(bench_app, name="bench")

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
TaskId = Annotated[str, typer.Argument(help="The task's id.")]


def _run(work: Callable[[Settings], Coroutine[Any, Any, int]]) -> None:
    """Runs a command on the settings; its result is the exit code."""
    settings = load_settings()
    set_up_logs(settings.log_level)
    try:
        code = asyncio.run(work(settings))
    except KeyboardInterrupt:
        code = 130
    raise typer.Exit(code)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to bind.")] = "",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = -1,
    demo: Annotated[bool, typer.Option(help="Supervise Appium and the demo phone too.")] = False,
) -> None:
    """Serve the console and the REST API, and run tasks."""
    from app.cli import serving

    given: dict[str, object] = {"host": host} if host else {}
    if port >= 0:
        given["port"] = port
    _run(lambda settings: serving.serve(settings.model_copy(update=given), demo=demo))


@app.command()
def demo(
    once: Annotated[bool, typer.Option(help="Exit after the task.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before spending.")] = False,
) -> None:
    """Start everything, run the demo task, print each step, keep serving."""
    from app.cli import demo as demo_command

    _run(lambda settings: demo_command.demo(settings, once=once, yes=yes))


@app.command()
def run(
    goal: Annotated[str, typer.Argument(help="What is to be reached, in plain words.")],
    device: Annotated[str, typer.Option(help="Name of the device.")] = "demo",
    as_json: AsJson = False,
    steps: Annotated[int, typer.Option(help="Limit of steps; 0: the configured one.")] = 0,
    seconds: Annotated[float, typer.Option(help="Limit of time; 0: the configured one.")] = 0,
    cost: Annotated[float, typer.Option(help="Limit in USD; 0: the configured one.")] = 0,
    models: Annotated[str, typer.Option(help="offline or gemini; empty: the default.")] = "",
    approval: Annotated[Approval, typer.Option(help="When a person must agree.")] = Approval.NEVER,
    schema: Annotated[
        Path | None, typer.Option(help="File with a JSON schema for the answer.")
    ] = None,
    detach: Annotated[bool, typer.Option(help="Submit and return at once.")] = False,
) -> None:
    """Run a task and print what happens; exit code 0 only if it completed."""
    body: dict[str, object] = {"goal": goal, "device": device, "approval": approval.value}
    limits = {"steps": steps, "seconds": seconds, "cost_usd": cost}
    body |= {"models": models} if models else {}
    if schema is not None:
        body["answer_schema"] = _read_schema(schema)
    wanted = {k: v for k, v in limits.items() if v}
    _run(lambda s: running.run(s, body, wanted, as_json=as_json, detach=detach))


@app.command("open")
def open_console() -> None:
    """Print an address that signs a browser in at the running server; it works once."""
    _run(opening.print_address)


@app.command()
def delete(task_id: TaskId) -> None:
    """Delete an ended task with everything recorded about it."""
    _run(lambda settings: tasks_command.delete(settings, task_id))


@app.command("import")
def import_run(
    path: Annotated[Path, typer.Argument(help="Folder with task.json and steps.jsonl.")],
    as_json: AsJson = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when pictures are read and summaries written.")
    ] = False,
) -> None:
    """Make a recorded run a task like any other, to be read, searched and played back."""
    from app.cli import archive

    _run(lambda settings: archive.take_in(settings, path, as_json=as_json, wait=wait))


@app.command()
def recall(
    task_id: TaskId,
    query: Annotated[
        str, typer.Argument(help="What to look for; none with --steps: a ledger.")
    ] = "",
    steps: Annotated[str, typer.Option(help="Only these steps, as in 7-12.")] = "",
    details: Annotated[bool, typer.Option("--details", help="The steps' facts too.")] = False,
    images: Annotated[bool, typer.Option("--images", help="Name the best step's picture.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search what was recorded of a task, as the agent itself can."""
    from app.cli import recall as recall_command

    _run(
        lambda settings: recall_command.recall(
            settings, task_id, query, steps, details=details, images=images, as_json=as_json
        )
    )


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say what is missing and how to get it."""
    _run(lambda settings: doctor_command.doctor(settings, as_json=as_json))


@tasks_app.command("list")
def tasks_list(
    state: Annotated[TaskState | None, typer.Option(help="Only tasks in this state.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first."""
    _run(lambda s: tasks_command.listing(s, state.value if state else "", limit, as_json=as_json))


@tasks_app.command("show")
def tasks_show(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show a task and its steps."""
    _run(lambda settings: tasks_command.show(settings, task_id, as_json=as_json))


@tasks_app.command("pause")
def tasks_pause(task_id: TaskId) -> None:
    """Pause at the next turn."""
    _run(lambda settings: tasks_command.control(settings, task_id, "pause"))


@tasks_app.command("resume")
def tasks_resume(task_id: TaskId) -> None:
    """Go on with a paused or interrupted task."""
    _run(lambda settings: tasks_command.control(settings, task_id, "resume"))


@tasks_app.command("cancel")
def tasks_cancel(task_id: TaskId) -> None:
    """End a task."""
    _run(lambda settings: tasks_command.control(settings, task_id, "cancel"))


@tasks_app.command("say")
def tasks_say(task_id: TaskId, text: Annotated[str, typer.Argument()]) -> None:
    """Tell the agent something; heard at the next turn, kept word for word."""
    _run(lambda settings: tasks_command.control(settings, task_id, "inject", {"text": text}))


@devices_app.command("list")
def devices_list(as_json: AsJson = False) -> None:
    """List devices and what holds them."""
    _run(lambda settings: devices_command.listing(settings, as_json=as_json))


@devices_app.command("test")
def devices_test(name: str, as_json: AsJson = False) -> None:
    """Open a real session, look once, close it."""
    _run(lambda settings: devices_command.test(settings, name, as_json=as_json))


@devices_app.command("retire")
def devices_retire(name: str) -> None:
    """Take a device out of use; what it did stays."""
    _run(lambda settings: devices_command.retire(settings, name))


@bench_app.command("step")
def bench_step(
    steps: Annotated[int, typer.Option(help="Steps to measure.")] = 100, as_json: AsJson = False
) -> None:
    """The own cost of a step: no model, no device."""
    from app.bench import step as bench

    _run(lambda settings: bench.main(settings, steps, as_json=as_json))


@bench_app.command("context")
def bench_context(
    steps: Annotated[int, typer.Option(help="Steps to walk.")] = 300, as_json: AsJson = False
) -> None:
    """A long walk's prompts: tokens by zone, what the cache can serve, and values found again."""
    from app.bench import context as bench

    _run(lambda settings: bench.main(settings, steps, as_json=as_json))


@bench_app.command("prompt")
def bench_prompt(
    steps: Annotated[int, typer.Option(help="Steps of the long task.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """The time to build a prompt, early in a task and late in it."""
    from app.bench import prompt as bench

    _run(lambda settings: bench.main(settings, steps, as_json=as_json))


@bench_app.command("recall")
def bench_recall(
    steps: Annotated[int, typer.Option(help="Steps with about ten texts each.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Recall against the plain full-text query: time, and planted answers found."""
    from app.bench import recall as bench

    _run(lambda settings: bench.main(steps, as_json=as_json))


@bench_app.command("memory-faults")
def bench_memory_faults(
    steps: Annotated[int, typer.Option(help="Steps an arm.")] = 150, as_json: AsJson = False
) -> None:
    """A walk beside a summariser that is silent, slow, talks garbage, is away, or out of quota."""
    from app.bench import faults as bench
    from app.cli.benches import opener

    _run(lambda s: bench.main(s.memory, opener(s), steps, as_json=as_json))


@bench_app.command("questions")
def bench_questions(
    path: Annotated[Path, typer.Argument(help="Folder of recorded runs with questions.")],
    as_json: AsJson = False,
) -> None:
    """Import recorded runs and ask recall their questions."""
    from app.bench import questions as bench

    _run(lambda settings: bench.main(settings, path, as_json=as_json))


def _read_schema(path: Path) -> dict[str, Any]:
    try:
        schema = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{os.fspath(path)} is not a JSON file: {error}") from None
    if not isinstance(schema, dict):
        raise InvalidInput(f"{os.fspath(path)} holds no JSON schema object")
    return schema
