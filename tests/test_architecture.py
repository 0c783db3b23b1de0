"""The shape of the code: who may import whom, and how long a module may be."""

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

APP = Path(__file__).resolve().parents[1] / "app"

SIDES = {"devices", "perception", "llm", "storage", "world"}
BELOW_TASKS = {"domain", "memory", "agent"} | SIDES
BELOW_REVIEW = BELOW_TASKS | {"tasks"}
FRONT = {"domain", "tasks", "review", "storage/queries", "security"}
EVERYTHING = BELOW_REVIEW | {"review", "bench", "api", "console", "security", "settings"}

# What each area may import besides itself and errors. An entry is an area or one module of it.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "domain": set(),
    **{side: {"domain"} for side in SIDES},
    "memory": {"domain", "perception", "world"},
    "agent": {"domain", "perception", "memory", "world"},
    "tasks": BELOW_TASKS,
    "review": BELOW_REVIEW,
    "bench": BELOW_REVIEW | {"review"},
    "security": {"domain"},
    "settings": {"domain"},
    "api": FRONT,
    "console": FRONT,
    "main": EVERYTHING,
    "cli": EVERYTHING | {"main"},
}

# What single modules may import beyond their area.
MODULE_MAY_IMPORT = {"tasks/worker": {"settings"}}

# Packages of others that only these modules may import; the rest of app never sees their types.
FOREIGN_OWNERS: dict[str, tuple[str, ...]] = {
    "google": ("llm/gemini*",),
    "appium": ("devices/appium*",),
    "selenium": ("devices/appium*",),
    "urllib3": ("devices/appium*",),
    "sqlmodel": ("storage/*",),
    "sqlalchemy": ("storage/*",),
    "alembic": ("storage/*",),
    "fastapi": ("api/*", "console/*", "main", "security", "cli/hosting", "devices/demo/*"),
    "starlette": ("api/*", "console/*", "main", "security", "devices/demo/*"),
    "pydantic_settings": ("settings",),
    "typer": ("cli/*", "bench/*"),
}

# An area listed here uses no other package than the standard library and these.
ONLY_FOREIGN = {"domain": {"pydantic"}, "errors": set[str]()}

MAX_LINES = 300
EXCUSE = "Longer than"


class Module(NamedTuple):
    """One file of the application; its name is its path below app, without `.py`."""

    name: str
    text: str
    tree: ast.Module
    is_package: bool

    @property
    def area(self) -> str:
        return self.name.split("/")[0]


class Import(NamedTuple):
    target: str
    line: int


def read_modules(app: Path) -> list[Module]:
    modules = []
    for path in sorted(app.rglob("*.py")):
        is_package = path.name == "__init__.py"
        relative = path.parent if is_package else path.with_suffix("")
        name = relative.relative_to(app).as_posix()
        text = path.read_text(encoding="utf-8")
        modules.append(Module(name, text, ast.parse(text, str(path)), is_package))
    return modules


def imports_of(module: Module) -> Iterator[Import]:
    """Every import in the file, at any depth, as a dotted absolute name."""
    parts = [] if module.name == "." else module.name.split("/")
    package = ["app", *(parts if module.is_package else parts[:-1])]
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                start = package[: len(package) - level + 1] if level else []
                base = ".".join([*start, *([source] if source else [])])
                yield from (Import(f"{base}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(func=function, args=[ast.Constant(value=str(target)), *_]):
                if ast.unparse(function) in {
                    "import_module",
                    "importlib.import_module",
                    "__import__",
                }:
                    yield Import(target, node.lineno)


def import_problems(module: Module) -> Iterator[str]:
    if module.area == ".":
        allowed: set[str] = set()
    elif module.area in MAY_IMPORT:
        allowed = {module.area, "errors"} | MAY_IMPORT[module.area]
        allowed |= MODULE_MAY_IMPORT.get(module.name, set())
    else:
        yield f"{module.name}: the area {module.area!r} has no row in the import table"
        return
    for target, line in imports_of(module):
        root, *rest = target.split(".")
        if root == "app":
            path = "/".join(rest)
            fine = any(path == entry or path.startswith(f"{entry}/") for entry in allowed)
            fine = fine or path == "__version__"
        else:
            fine = may_use_foreign(module, root)
        if not fine:
            yield f"{module.name}:{line} must not import {target}"


def may_use_foreign(module: Module, root: str) -> bool:
    owners = FOREIGN_OWNERS.get(root)
    # A package's own __init__ is matched by "api/*" too.
    names = (module.name, f"{module.name}/__init__") if module.is_package else (module.name,)
    if owners and not any(fnmatch(name, owner) for name in names for owner in owners):
        return False
    only = ONLY_FOREIGN.get(module.area)
    return only is None or root in only or root in sys.stdlib_module_names


def size_problems(module: Module) -> Iterator[str]:
    lines = len(module.text.splitlines())
    excuse = ast.get_docstring(module.tree) or ""
    if lines > MAX_LINES and EXCUSE not in excuse:
        yield f"{module.name}: {lines} lines; split it, or say why: '{EXCUSE} {MAX_LINES} lines: …'"
    if module.text.strip() and not excuse:
        yield f"{module.name}: the first docstring line must say the module's one job"


def problems_in(app: Path) -> list[str]:
    return [
        problem
        for module in read_modules(app)
        for problem in (*import_problems(module), *size_problems(module))
    ]


def test_the_application_keeps_the_rules() -> None:
    assert read_modules(APP), "no module was found, so nothing would be checked"
    problems = problems_in(APP)
    assert not problems, "\n".join(problems)


def write_app(folder: Path, name: str, code: str) -> Path:
    app = folder / "app"
    path = app / f"{name}.py"
    path.parent.mkdir(parents=True)
    path.write_text(f'"""A module."""\n{code}\n', encoding="utf-8")
    return app


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("domain/tasks", "import app.storage.db"),
        ("domain/tasks", "import structlog"),
        ("devices/replay", "from app.storage import artifacts"),
        ("devices/replay", "from app import storage"),
        ("devices/replay", "def f():\n    import app.llm.gateway"),
        ("devices/replay", "from ..llm import gateway"),
        ("devices/demo/server", "from ...llm.gateway import Gateway"),
        ("devices/replay", "from .. import llm"),
        ("devices/__init__", "from ..llm import gateway"),
        ("devices/replay", "import importlib\nimportlib.import_module('app.llm.gateway')"),
        ("perception/tree", "import app"),
        ("memory/budget", "from app.storage.queries import steps"),
        ("agent/runner", "from app.llm.gateway import Gateway"),
        ("agent/runner", "from fastapi import FastAPI"),
        ("agent/runner", "import app.settings"),
        ("tasks/service", "from app.settings import Settings"),
        ("tasks/service", "from app.review import audit"),
        ("review/audit", "from app.bench import step"),
        ("api/tasks", "from app.storage.repositories import Tasks"),
        ("api/tasks", "from app.console import pages"),
        ("console/pages", "from app.agent.runner import run"),
        ("api/tasks", "from app.main import create_app"),
        ("main", "from app.cli import main"),
        ("llm/gateway", "from google import genai"),
        ("llm/gateway", "import google.genai as genai"),
        ("devices/replay", "from appium import webdriver"),
        ("devices/server", "import selenium.webdriver"),
        ("api/tasks", "from sqlmodel import select"),
        ("helpers/text", ""),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, name: str, code: str) -> None:
    assert len(problems_in(write_app(tmp_path, name, code))) == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (
            "domain/tasks",
            "import enum\nfrom pydantic import BaseModel\nfrom app.errors import Error",
        ),
        ("devices/appium_chromium", "from appium import webdriver\nfrom ..domain import screens"),
        ("devices/appium/session", "from selenium.common import exceptions"),
        ("llm/gemini", "def client():\n    from google import genai"),
        ("memory/budget", "from app.perception.render import render"),
        ("tasks/worker", "from app.settings import Settings\nfrom app.devices import appium"),
        ("api/__init__", "from fastapi import APIRouter"),
        ("api/tasks", "from app.storage import queries\nfrom app.storage.queries import steps"),
        ("api/tasks", "from . import schemas\nfrom .schemas import TaskOut"),
        ("main", "from app import api, console, storage\nfrom app.settings import Settings"),
        ("cli/serve", "import typer\nfrom app.main import create_app\nfrom app import __version__"),
    ],
)
def test_an_allowed_import_is_left_alone(tmp_path: Path, name: str, code: str) -> None:
    assert problems_in(write_app(tmp_path, name, code)) == []


def test_a_long_module_needs_a_reason(tmp_path: Path) -> None:
    app = write_app(tmp_path, "domain/long", "x = 1\n" * MAX_LINES)
    assert len(problems_in(app)) == 1
    path = app / "domain" / "long.py"
    text = path.read_text(encoding="utf-8")
    reason = f'"""One table.\n\n{EXCUSE} 300 lines: it is one table.\n"""\n'
    path.write_text(text.replace('"""A module."""\n', reason), encoding="utf-8")
    assert problems_in(app) == []


def test_a_module_without_a_docstring_is_found(tmp_path: Path) -> None:
    app = write_app(tmp_path, "domain/mute", "")
    (app / "domain" / "mute.py").write_text("x = 1\n", encoding="utf-8")
    assert len(problems_in(app)) == 1
