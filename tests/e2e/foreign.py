"""Serves web apps that were written by others, as they come from their registries."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import httpx2

from app.devices.installation import project_root
from tests.e2e.stack import free_port, plain_environment, until

TODO_FOLDER = project_root() / "node_modules" / "todomvc-react" / "dist"
RANGES = ("Andes", "Alps", "Caucasus", "Rockies")
FIRST = ("Cold", "Grey", "High", "Lone", "North", "Old", "Red", "Sharp", "Still", "White")
LAST = ("Anvil", "Bell", "Crown", "Fang", "Horn", "Needle", "Owl", "Raven", "Tooth", "Wall")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return


@contextlib.contextmanager
def todo_app() -> Iterator[str]:
    """TodoMVC's React build, served as files; gives its address."""
    handler = functools.partial(_Quiet, directory=str(TODO_FOLDER))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, name="todo-app")
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_address[1]}/"
        finally:
            httpd.shutdown()
            thread.join(10)


def draw_peaks(rng: Random, count: int = 60) -> list[tuple[str, str, int, int]]:
    """Name, range, height and year of peaks; names and heights are unique."""
    names = rng.sample([f"{a} {b}" for a in FIRST for b in LAST], count)
    heights = rng.sample(range(1200, 6900), count)
    return [
        (name, rng.choice(RANGES), height, rng.randrange(1790, 1960))
        for name, height in zip(names, heights, strict=True)
    ]


@contextlib.contextmanager
def datasette(folder: Path, peaks: list[tuple[str, str, int, int]]) -> Iterator[str]:
    """Datasette over a database of these peaks; gives its address."""
    file = folder / "atlas.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute(
            "CREATE TABLE peaks (id INTEGER PRIMARY KEY, name TEXT, range TEXT, height INTEGER, "
            "climbed INTEGER)"
        )
        db.executemany("INSERT INTO peaks (name, range, height, climbed) VALUES (?,?,?,?)", peaks)
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "datasette", "serve", str(file), "--port", str(port)],
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        until("datasette answers", lambda: _answers(address))
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _answers(address: str) -> bool:
    try:
        return httpx2.get(address, timeout=2, trust_env=False).is_success
    except httpx2.HTTPError:
        return False
