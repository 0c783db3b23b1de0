"""What is missing, and what to type."""

from pathlib import Path

import pytest

from app.devices.installation import (
    Program,
    find_appium,
    find_chromedriver,
    find_chromium,
    find_node,
)


def program(folder: Path, name: str, says: str, status: int = 0) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "usable"),
    [
        ("v20.19.0", True),
        ("v20.18.3", False),
        ("v18.20.4", False),
        ("v22.11.0", False),
        ("v22.12.0", True),
        ("v23.1.0", False),
        ("v24.0.0", True),
    ],
)
def test_node_must_be_new_enough(tmp_path: Path, says: str, usable: bool) -> None:
    found = find_node(program(tmp_path, "node", says))
    assert found.usable is usable and found.version == says[1:]
    assert bool(found.fix) is not usable


def test_a_program_that_does_not_run(tmp_path: Path) -> None:
    for find in (find_node, find_chromium, find_chromedriver):
        for path in (program(tmp_path, "x", "v24.0.0", 1), str(tmp_path / "missing")):
            found = find(path)
            assert not found.usable and found.fix and "does not run" in found.problem


def test_browser_and_driver_must_agree(tmp_path: Path) -> None:
    browser = find_chromium(program(tmp_path, "chromium", "Chromium 156.0.8078.114 built on"))
    assert browser.usable
    driver = program(tmp_path, "chromedriver", "ChromeDriver 156.0.1.2 (abc)")
    assert find_chromedriver(driver, browser).usable
    other = browser._replace(version="153.0.1")
    found = find_chromedriver(driver, other)
    assert not found.usable and "153.0.1" in found.problem


def test_debian_s_launcher_is_refused(tmp_path: Path) -> None:
    found = find_chromium(program(tmp_path, "chromium-headless-shell", "Chromium 156.0.1"))
    assert not found.usable and "/usr/lib/chromium" in found.fix


def test_appium_is_the_project_s_own(tmp_path: Path) -> None:
    assert "npm ci" in find_appium(tmp_path).fix
    package = tmp_path / "node_modules" / "appium"
    package.mkdir(parents=True)
    (package / "index.js").write_text("")
    assert "Chromium driver" in find_appium(tmp_path).problem
    (tmp_path / "node_modules" / "appium-chromium-driver").mkdir()
    node = program(tmp_path, "node", "v24.0.0")
    found = find_appium(tmp_path, node)
    assert found == Program("appium", str(package / "index.js"), "24.0.0")
