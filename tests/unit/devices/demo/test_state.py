"""Demo state: persists over restarts, is kept per device, resets only by token."""

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.devices.demo.app import create_demo_app
from app.devices.demo.state import StateStore, fresh_state
from app.devices.demo.world import DemoWorld

from .conftest import TOKEN, PhoneClient


def test_state_survives_a_server_restart(serve: Callable[[], TestClient]) -> None:
    phone = PhoneClient(serve())
    world = phone.reset(9)
    phone.send("notes/new", title="Kept", body="over restarts")
    phone.send("settings/sound", row="key_clicks")
    again = PhoneClient(serve())
    assert "Kept: over restarts" in again.screen("notes/").texts
    switches = again.screen("settings/sound").checked
    assert switches["Keyboard clicks"] is not world.switches["key_clicks"]


def test_devices_do_not_share_state(phone: PhoneClient) -> None:
    other = PhoneClient(phone.client, "second-phone")
    phone.send("notes/new", title="Mine", body="")
    assert not any(t.startswith("Mine") for t in other.screen("notes/").texts)


def test_reset_forgets_changes_and_takes_the_seed(phone: PhoneClient) -> None:
    phone.send("notes/new", title="Gone soon", body="")
    world = phone.reset(77)
    assert not any(t.startswith("Gone soon") for t in phone.screen("notes/").texts)
    assert f"Serial number: {world.about.serial_number}" in phone.screen("settings/about").texts


def test_an_untouched_device_shows_seed_1(phone: PhoneClient) -> None:
    serial = DemoWorld(1).about.serial_number
    assert f"Serial number: {serial}" in phone.screen("settings/about").texts


@pytest.mark.parametrize("token", ["", "wrong", TOKEN.upper(), "ä"])
def test_reset_refuses_other_tokens(phone: PhoneClient, token: str) -> None:
    phone.send("notes/new", title="Still here", body="")
    headers = [(b"X-Demo-Token", token.encode()), (b"Sec-Fetch-Site", b"same-origin")]
    answer = phone.client.post("/demo/reset", json={"seed": 2}, headers=headers)
    assert answer.status_code == 403
    assert "Still here" in " ".join(phone.screen("notes/").texts)


@pytest.mark.parametrize("body", ['{"seed": -1}', '{"seed": "x"}', "[]", "{", '{"sed": 1}'])
def test_reset_refuses_other_bodies(phone: PhoneClient, body: str) -> None:
    headers = {"X-Demo-Token": TOKEN, "Content-Type": "application/json"}
    assert phone.client.post("/demo/reset", content=body, headers=headers).status_code == 400


def test_server_without_a_token_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="token"):
        create_demo_app(tmp_path, token="")


def test_a_damaged_file_is_kept_aside(
    tmp_path: Path, phone: PhoneClient, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "demo.json").write_text('{"seed": 1, "cart"')
    with caplog.at_level(logging.WARNING):
        phone.screen("settings/")
    assert (tmp_path / "demo.unreadable").read_text() == '{"seed": 1, "cart"'
    assert "unreadable" in caplog.text


def test_a_failing_change_writes_nothing(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.reset("demo", 4)
    with pytest.raises(RuntimeError), store.change("demo") as state:
        state.toast = "half done"
        raise RuntimeError
    assert store.read("demo") == fresh_state(4)
    assert [path.name for path in tmp_path.iterdir()] == ["demo.json"]


def test_parallel_changes_are_all_kept(tmp_path: Path) -> None:
    store = StateStore(tmp_path)

    def raise_gauge() -> None:
        for _ in range(10):
            with store.change("demo") as state:
                state.gauge += 1

    threads = [threading.Thread(target=raise_gauge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read("demo").gauge == fresh_state(1).gauge + 40
    assert json.loads((tmp_path / "demo.json").read_bytes())["seed"] == 1
