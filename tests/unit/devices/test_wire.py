"""The client's traps: class-wide headers, resent requests, ports, typed text in logs."""

import logging
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlparse

import pytest
from appium.webdriver.appium_connection import AppiumConnection

from app.devices.appium_wire import (
    _Connection,
    connect,
    release_port,
    reserve_port,
)
from tests.stand_ins.appium_server import appium_stand_in

NEW, OTHER = urlparse("http://h/session"), urlparse("http://h/session/1/source")


def test_an_idempotency_key_is_never_seen_by_another_request() -> None:
    def ask(number: int) -> tuple[int, str | None]:
        url = NEW if number % 2 else OTHER
        headers = _Connection.get_remote_connection_headers(url)
        return number % 2, headers.get("X-Idempotency-Key")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(400)))
    keys = [key for new, key in answers if new]
    assert all(keys) and len(set(keys)) == len(keys)
    assert all(key is None for new, key in answers if not new)
    assert "X-Idempotency-Key" not in AppiumConnection.extra_headers


def test_ports_are_different_and_none_begins_another() -> None:
    ports = [reserve_port() for _ in range(50)]
    try:
        assert len(set(ports)) == 50
        assert {len(str(port)) for port in ports} == {5}
    finally:
        for port in ports:
            release_port(port)


def test_typed_text_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with appium_stand_in() as server:
        wire = connect(server.url, {"platformName": "Android"}, 5, 5)
        caplog.set_level(logging.DEBUG)
        element = wire.active_element()
        assert element is not None
        wire.type(element, "s3cret-4711")
        wire.quit()
        assert server.text == "s3cret-4711"
    assert caplog.records and "s3cret-4711" not in caplog.text


def test_credentials_of_a_farm_go_into_a_header() -> None:
    with appium_stand_in() as server:
        seen: list[str] = []
        address = server.url.replace("http://", "http://me:k%40y@")
        wire = connect(address, {"platformName": "Android"}, 5, 5)
        seen.append(wire._driver.command_executor.client_config.remote_server_addr)
        header = wire._driver.command_executor.client_config.get_auth_header()
        wire.quit()
    assert seen == [server.url]
    assert header == {"Authorization": "Basic bWU6a0B5"}
