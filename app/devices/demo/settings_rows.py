"""The kinds of rows that a page of Settings is made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    label: str
    path: str
    """Below settings/."""
    value: str = ""
    icon: str = ""
    kind = "link"


@dataclass(frozen=True)
class Value:
    label: str
    value: str
    kind = "value"


@dataclass(frozen=True)
class Switch:
    label: str
    key: str
    on: bool
    hint: str = ""
    kind = "switch"


@dataclass(frozen=True)
class Choice:
    label: str
    key: str
    selected: bool
    kind = "choice"


@dataclass(frozen=True)
class Stepper:
    label: str
    key: str
    level: int
    maximum: int
    kind = "stepper"


@dataclass(frozen=True)
class Action:
    label: str
    key: str
    kind = "action"


@dataclass(frozen=True)
class TextEdit:
    label: str
    key: str
    value: str
    kind = "text"


Row = Link | Value | Switch | Choice | Stepper | Action | TextEdit


@dataclass(frozen=True)
class Group:
    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True)
class SettingsPage:
    title: str
    groups: tuple[Group, ...]
    note: str = ""

    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]
