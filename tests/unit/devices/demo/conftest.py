"""A demo phone to talk to, as its own pages would, with a clock that the test turns."""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.devices.demo.app import create_demo_app
from app.devices.demo.world import DemoWorld

BASE = "http://127.0.0.1:8200"
TOKEN = "a-token-of-the-test"


class Clock:
    def __init__(self) -> None:
        self.time = 1_750_000_000.0

    def __call__(self) -> float:
        return self.time


class Screen(HTMLParser):
    """What a flat element list would hold: the text of each innermost p, a, button or heading."""

    TAGS = ("p", "a", "button", "h1", "h2", "title", "label", "textarea", "option")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.checked: dict[str, bool] = {}
        self.inputs: dict[str, str] = {}
        self._open: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if values.get("role") in ("switch", "radio"):
            name = values.get("aria-label") or values.get("value", "")
            self.checked[name] = values["aria-checked"] == "true"
        if tag == "input":
            self.inputs[values.get("name", "")] = values.get("value", "")
        if tag in self.TAGS:
            self._open.append([])

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.TAGS and self._open:
            self.texts.append(" ".join("".join(self._open.pop()).split()))


class PhoneClient:
    """A browser on one device: gets screens, sends forms from the same origin."""

    def __init__(self, client: TestClient, device: str = "demo") -> None:
        self.client = client
        self.device = device

    def screen(self, path: str) -> Screen:
        response = self.client.get(f"/{self.device}/{path}")
        assert response.status_code == 200, (path, response.status_code)
        return Screen(response.text)

    def send(self, path: str, status: int = 200, /, **form: str) -> Screen:
        response = self.client.post(
            f"/{self.device}/{path}", data=form, headers={"Sec-Fetch-Site": "same-origin"}
        )
        assert response.status_code == status, (path, response.status_code, response.text[-300:])
        return Screen(response.text)

    def reset(self, seed: int) -> DemoWorld:
        response = self.client.post(
            f"/{self.device}/reset", json={"seed": seed}, headers={"X-Demo-Token": TOKEN}
        )
        assert response.json() == {"device": self.device, "seed": seed}
        return DemoWorld(seed)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serve(tmp_path: Path, clock: Clock) -> Iterator[Callable[[], TestClient]]:
    """Start a server over the test's state folder; each call is a server restart."""
    clients: list[TestClient] = []

    def start() -> TestClient:
        app = create_demo_app(tmp_path, token=TOKEN, now=clock)
        clients.append(TestClient(app, base_url=BASE))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def phone(serve: Callable[[], TestClient]) -> PhoneClient:
    return PhoneClient(serve())
