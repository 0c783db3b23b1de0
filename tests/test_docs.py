"""The documents say everything they own, nothing that is not there, and lead nowhere dead."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from app.agent.tools.declarations import declare
from app.domain.actions import Verdict
from app.domain.config import MemoryConfig
from app.domain.events import EVENT, Event
from app.domain.tasks import StepState, TaskState
from app.main import create_app
from app.settings import Settings, load_settings
from app.storage import tables
from docs import generate

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SKIPPED = {"node_modules", "data", "tests", ".venv", ".artemis-browser", ".git", ".pytest_cache"}
UNITLESS = {"canvas_share"}
"""Settings that are fractions, though their numbers look like amounts."""
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_METHOD = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> Iterator[str]:
    """The first cell of every table row."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield line.split(" | ")[0].strip("| ")


def named(text: str) -> set[str]:
    """What the first cells of a page's tables put in code marks."""
    return {code for cell in first_cells(text) for code in _CODE.findall(cell)}


# --- generated parts ----------------------------------------------------------------------


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_tables_are_those_of_the_code(name: str) -> None:
    text = page(name)
    assert "<!-- generated: " in text
    assert generate.filled(text) == text, "run: .venv/bin/python -m docs.generate"


def test_every_setting_has_its_place_a_meaning_and_a_unit() -> None:
    documented = page("configuration.md")
    found = list(generate.settings())
    assert len(found) > 50
    for setting in found:
        assert f"`{setting.variable}`" in documented
        assert setting.meaning, f"{setting.path} has no text under it"
        if isinstance(setting.value, float) and setting.path[-1] not in UNITLESS:
            assert setting.unit, f"{setting.path} has no unit"


def test_the_example_file_is_current_and_holds_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = generate.EXAMPLE.read_text(encoding="utf-8")
    assert generate.example() == text, "run: .venv/bin/python -m docs.generate"
    for name in [name for name in os.environ if name.startswith("ARTEMIS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    default = load_settings()
    (tmp_path / "artemis.toml").write_text(text)
    assert load_settings() == default, "untouched, the file changes nothing"
    (tmp_path / "artemis.toml").write_text(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE))
    taken = load_settings()
    assert taken.device_configs()[0].name == "pixel"
    assert set(taken.secrets) == {"PIN"}
    for section in set(Settings.model_fields) - {"devices", "secrets", "models"}:
        assert getattr(taken, section) == getattr(default, section), section
    assert taken.models.model_copy(update={"roles": {}}) == default.models


def test_toml_snippets_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = 0
    for path in markdown():
        for snippet in re.findall(r"^```toml\n(.*?)^```", path.read_text(), re.M | re.S):
            found += 1
            tomllib.loads(snippet)
            (tmp_path / "artemis.toml").write_text(snippet)
            load_settings().device_configs()
    assert found >= 2


def test_every_command_and_option_is_documented() -> None:
    documented = page("command-line.md")
    for words, made in generate.all_commands():
        assert f"### `{' '.join(words)}" in documented
        assert made.help
        for parameter in made.params:
            for name in (*parameter.opts, *parameter.secondary_opts):
                assert name.lower() in documented.lower()


# --- what a page owns ---------------------------------------------------------------------


def event_types() -> set[str]:
    union = get_args(Event)[0]
    return {cls.model_fields["type"].default for cls in get_args(union)}


def test_every_event_type_is_documented_and_no_other() -> None:
    assert len(event_types()) > 20
    assert named(page("events.md")) == event_types()
    assert EVENT.json_schema()


def endpoints(tmp_path: Path) -> set[tuple[str, str]]:
    paths = create_app(Settings(data_dir=tmp_path)).openapi()["paths"]
    return {(method.upper(), _bare(path)) for path, methods in paths.items() for method in methods}


def _bare(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path.removeprefix("/api/v1").split("?")[0])


def documented_endpoints(text: str) -> set[tuple[str, str]]:
    """`POST /a/b` and, after it, `c`, which is short for `POST /a/c`."""
    found: set[tuple[str, str]] = set()
    for line in _FENCE.sub("", text).splitlines():
        method, path = "", ""
        for code in _CODE.findall(line):
            if whole := _METHOD.fullmatch(code):
                method, path = whole[1], _bare(whole[2])
            elif method and re.fullmatch(r"[a-z-]+", code):
                path = f"{path.rsplit('/', 1)[0]}/{code}"
            elif code.startswith("/"):
                method, path = "GET", _bare(code)
            else:
                continue
            found.add((method, path))
    return found


def test_every_endpoint_is_documented(tmp_path: Path) -> None:
    real = endpoints(tmp_path)
    assert len(real) > 20
    missing = real - documented_endpoints(page("api.md"))
    assert not missing, f"docs/api.md lacks {sorted(missing)}"


def test_every_tool_of_the_operator_is_documented_and_no_other() -> None:
    tools = {tool.name for tool in declare(recall=True, shell=True)}
    assert named(page("operator-tools.md")) == tools


def test_states_and_verdicts_are_documented() -> None:
    text = page("architecture.md")
    states = text[text.index("## States") :]
    words = {*TaskState, *StepState, *Verdict}
    assert named(states) == {word.value for word in words}


def test_memory_switches_are_documented() -> None:
    switches = [n for n, f in MemoryConfig.model_fields.items() if f.annotation is bool]
    assert len(switches) >= 5
    assert set(switches) <= named(page("configuration.md"))


def test_every_table_has_its_word() -> None:
    rows = [line.split(" | ") for line in page("glossary.md").splitlines() if " | " in line]
    words = {name for row in rows if len(row) >= 3 for name in _CODE.findall(row[1])}
    assert words == set(tables.metadata.tables)


def test_every_area_stands_in_the_architecture_page() -> None:
    text = page("architecture.md")
    areas = {
        path.stem
        for path in (ROOT / "app").iterdir()
        if (path.is_dir() and (path / "__init__.py").exists()) or path.suffix == ".py"
    } - {"__init__"}
    missing = {area for area in areas if f"`{area}`" not in text}
    # The gate in front of the faces has a page of its own.
    assert missing <= {"security"}, missing


def test_a_missing_endpoint_would_be_noticed() -> None:
    text = "`GET /tasks/{id}?wait=60`, then `POST /tasks/{id}/pause`, `resume`; see `/healthz`"
    assert documented_endpoints(text) == {
        ("GET", "/tasks/{}"),
        ("POST", "/tasks/{}/pause"),
        ("POST", "/tasks/{}/resume"),
        ("GET", "/healthz"),
    }
    assert named("| `a`, `b` | `c` |\n| --- | --- |\n`d`") == {"a", "b"}


# --- links --------------------------------------------------------------------------------


def markdown() -> list[Path]:
    found = [
        path
        for path in ROOT.rglob("*.md")
        if not SKIPPED & set(path.relative_to(ROOT).parts) and "prompts" not in path.parts
    ]
    assert len(found) > 15
    return found


def anchors(path: Path) -> set[str]:
    """Heading anchors as code hosts make them."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def dead_links(path: Path, root: Path = ROOT) -> Iterator[str]:
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    for plain, picture in _LINK.findall(text):
        target, _, anchor = (plain or picture).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        aim = (path.parent / target).resolve() if target else path
        if not aim.exists():
            yield f"{path.relative_to(root)}: {target}"
        elif anchor and aim.suffix == ".md" and anchor not in anchors(aim):
            yield f"{path.relative_to(root)}: {target}#{anchor}"


def test_a_dead_link_would_be_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "# One: *two*\n[here](a.md#one-two) [no](a.md#three) ![gone](b.png) [web](https://x.org)\n"
        "```\n[code](c.md)\n```\n"
    )
    assert [link.split(": ")[1] for link in dead_links(path, tmp_path)] == ["a.md#three", "b.png"]


def test_no_relative_link_is_dead() -> None:
    dead = [link for path in markdown() for link in dead_links(path)]
    assert not dead, "\n".join(dead)


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached or path.suffix != ".md":
            continue
        reached.add(path)
        for plain, _ in _LINK.findall(path.read_text(encoding="utf-8")):
            aim = (path.parent / plain.partition("#")[0]).resolve()
            if aim.is_file():
                waiting.append(aim)
    pages = {path for path in markdown() if path.is_relative_to(DOCS)}
    assert not pages - reached, sorted(str(p.relative_to(ROOT)) for p in pages - reached)


def test_code_files_lead_to_pages_that_exist() -> None:
    dead = []
    for path in (ROOT / "app").rglob("*.py"):
        for name in re.findall(r"docs/[\w./-]+\.md", path.read_text(encoding="utf-8")):
            if not (ROOT / name).is_file():
                dead.append(f"{path.relative_to(ROOT)}: {name}")
    assert not dead, "\n".join(dead)
