"""Writes the tables of configuration.md and command-line.md, and artemis.toml.example.

    .venv/bin/python -m docs.generate

A test fails when the files differ from what this gives.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from app.cli.commands import app as commands
from app.domain.config import DeviceConfig, RoleModel, default_roles
from app.domain.messages import Role
from app.settings import Settings

DOCS = Path(__file__).resolve().parent
EXAMPLE = DOCS.parent / "artemis.toml.example"
BEGIN, END = "<!-- generated: {} -->", "<!-- end -->"
PREFIX = "ARTEMIS_"

# A unit follows from the name; the first fitting end counts.
UNITS = {
    "_bytes": "bytes",
    "_tokens": "tokens",
    "tokens": "tokens",
    "_usd": "USD",
    "timeout": "s",
    "_delay": "s",
    "_interval": "s",
    "deadline": "s",
    "keep_alive": "s",
    "seconds": "s",
    "idle": "s",
    "flush": "s",
    "_pause": "s",
    "image_short_side": "px",
}


class Setting(NamedTuple):
    """One setting as it can be given."""

    path: tuple[str, ...]
    value: object
    meaning: str

    @property
    def default(self) -> str:
        return "–" if self.value in ("", []) else f"`{self.literal}`"

    @property
    def literal(self) -> str:
        """The default as TOML writes it, and JSON alike."""
        return json.dumps(self.value, ensure_ascii=False)

    @property
    def variable(self) -> str:
        return PREFIX + "__".join(self.path).upper()

    @property
    def section(self) -> str:
        return ".".join(self.path[:-1])

    @property
    def unit(self) -> str:
        return next((u for end, u in UNITS.items() if self.path[-1].endswith(end)), "")

    def row(self) -> str:
        cells = (f"`{self.path[-1]}`", f"`{self.variable}`", self.default, self.unit, self.meaning)
        return "| " + " | ".join(cells) + " |"


HEAD = "| setting | variable | default | unit | meaning |\n| --- | --- | --- | --- | --- |"


def settings(model: type[BaseModel] = Settings, path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Every setting with a name of its own: devices, roles and secrets are named by people."""
    meanings = field_docs(model)
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from settings(inner, (*path, name))
        elif name not in ("devices", "roles", "secrets"):
            yield Setting((*path, name), default_of(field), meanings.get(name, ""))


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """The text under each field, its bases' included."""
    found: dict[str, str] = {}
    for cls in reversed([c for c in model.__mro__ if issubclass(c, BaseModel)]):
        if not cls.__module__.startswith("app."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, [*body.body[1:], ast.Pass()], strict=True):
            match field, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = " ".join(text.split())
    return found


def default_of(field: FieldInfo) -> object:
    """The default as a file would give it."""
    match field.get_default(call_default_factory=True):
        case SecretStr() | None:
            return ""
        case bool() | int() | float() | str() as plain:
            return plain
        case tuple() as several:
            return list(several)
        case dict():
            return ""
        case other:
            return str(other)


def settings_tables() -> str:
    found = list(settings())
    parts = ["### Top level", "", HEAD, *(s.row() for s in found if not s.section)]
    for section in dict.fromkeys(s.section for s in found if s.section):
        parts += ["", f"### `[{section}]`", "", HEAD]
        parts += [s.row() for s in found if s.section == section]
    return "\n".join(parts)


EXAMPLE_HEAD = """\
# Settings of Artemis. Copy this file to artemis.toml and take the # away from what you change:
# every line that begins with # and a name holds the default. Variables win over this file;
# docs/configuration.md says more.
"""
EXAMPLE_END = """
# --- examples -----------------------------------------------------------------------------

# Which model serves a role; a section replaces the whole role.
#[models.roles.summarizer]
#model = "gemini-3.5-flash-lite"
#fallback = "gemini-3.8-flash"

# An Android phone: Appium with the uiautomator2 driver on this machine, the phone on USB.
#[devices.pixel]
#platform = "android"
#server_url = "http://127.0.0.1:4723"
#capabilities = { udid = "39041FDJH0001" }
#apps = { Settings = "com.android.settings" }

# Values for secret:NAME in a goal. A variable keeps them out of files: ARTEMIS_SECRETS__PIN=…
#[secrets]
#PIN = "4711"
"""


def example() -> str:
    """artemis.toml.example."""
    parts, section = [EXAMPLE_HEAD], ""
    for setting in settings():
        if setting.section != section:
            section = setting.section
            parts.append(f"[{section}]\n")
        unit = f" [{setting.unit}]" if setting.unit else ""
        told = textwrap.wrap(f"{setting.meaning}{unit}", 96)
        parts.append("\n".join([*(f"# {line}" for line in told), setting_line(setting)]) + "\n")
    return "\n".join(parts) + EXAMPLE_END


def setting_line(setting: Setting) -> str:
    return f"#{setting.path[-1]} = {setting.literal}"


def model_table(model: type[BaseModel], *skip: str) -> str:
    meanings = field_docs(model)
    rows = ["| setting | default | unit | meaning |", "| --- | --- | --- | --- |"]
    for name, field in model.model_fields.items():
        if name not in skip:
            value = "" if field.is_required() else default_of(field)
            setting = Setting((name,), value, meanings.get(name, ""))
            default = "needed" if field.is_required() else setting.default
            rows.append(f"| `{name}` | {default} | {setting.unit} | {setting.meaning} |")
    return "\n".join(rows)


def roles_table() -> str:
    rows = ["| role | model | fallback |", "| --- | --- | --- |"]
    defaults = default_roles()
    for role in Role:
        chosen = defaults[role]
        rows.append(f"| `{role.value}` | `{chosen.model}` | `{chosen.fallback}` |")
    return "\n".join(rows)


class Command(NamedTuple):
    """One command with its parameters, as typer made it."""

    words: tuple[str, ...]
    made: Any


def all_commands() -> list[Command]:
    return list(_commands(("artemis",), typer.main.get_command(commands)))


def _commands(words: tuple[str, ...], made: Any) -> Iterator[Command]:
    for name, inner in sorted(getattr(made, "commands", {}).items()):
        yield from _commands((*words, name), inner)
    if not hasattr(made, "commands"):
        yield Command(words, made)


def command_text() -> str:
    parts = []
    for words, made in all_commands():
        arguments = [p for p in made.params if p.param_type_name == "argument"]
        options = [p for p in made.params if p.param_type_name == "option"]
        usage = " ".join([*words, *(p.name.upper() for p in arguments)])
        parts += [f"### `{usage}`", "", made.help, ""]
        if options:
            parts += ["| option | default | meaning |", "| --- | --- | --- |"]
            parts += [_option_row(option) for option in options]
            parts.append("")
    return "\n".join(parts).rstrip()


def _option_row(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = getattr(option.default, "value", option.default)
    default = "–" if value in (None, "", False, 0, -1) else f"`{value}`"
    return f"| {names} | {default} | {option.help or ''} |"


TABLES = {
    "settings": settings_tables,
    "roles": roles_table,
    "role": lambda: model_table(RoleModel),
    "device": lambda: model_table(DeviceConfig, "name"),
    "commands": command_text,
}
PAGES = ("configuration.md", "command-line.md")


def filled(text: str) -> str:
    """A page with its generated parts written anew."""
    for name, make in TABLES.items():
        begin = BEGIN.format(name)
        if begin in text:
            before, rest = text.split(begin, 1)
            after = rest.split(END, 1)[1]
            text = f"{before}{begin}\n\n{make()}\n\n{END}{after}"
    return text


def main() -> None:
    EXAMPLE.write_text(example(), encoding="utf-8")
    for page in PAGES:
        path = DOCS / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
