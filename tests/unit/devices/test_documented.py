"""docs/devices.md names every key and ability."""

from pathlib import Path

import pytest

from app.devices.keys import KEYS
from app.domain.config import Platform
from app.domain.tasks import Ability

PAGE = (Path(__file__).parents[3] / "docs" / "devices.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    part = PAGE.split(heading, 1)[1].split("\n#", 1)[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if line.startswith("| ")
    ]


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_in_the_table(key: str) -> None:
    [row] = [row for row in rows("### Keys") if key in row[0].split(", ")]
    code = KEYS[key]
    # The browser has no key for these two, but answers them with an action.
    web = code.web is not None or key in ("back", "home")
    assert [cell != "–" for cell in row[1:4]] == [
        web,
        code.android is not None,
        code.ios is not None,
    ]


def test_every_ability_has_a_row_and_every_platform_a_column() -> None:
    table = rows("## What each kind can do")
    assert table[0][1:] == [platform.value for platform in Platform]
    assert len(table) - 2 == len(Ability)
