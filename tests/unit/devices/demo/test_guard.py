"""What keeps hostile requests out of the demo phone and hostile content inside its text."""

from html import unescape

import pytest

from app.devices.demo import vocabulary

from .conftest import BASE, PhoneClient, Screen


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": BASE},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ],
)
def test_forms_from_elsewhere_are_refused(phone: PhoneClient, headers: dict[str, str]) -> None:
    answer = phone.client.post("/demo/notes/new", data={"title": "Planted"}, headers=headers)
    assert answer.status_code == 403
    assert "Planted" not in " ".join(phone.screen("notes/").texts)


@pytest.mark.parametrize("headers", [{"Origin": BASE}, {"Sec-Fetch-Site": "same-origin"}])
def test_own_forms_are_accepted(phone: PhoneClient, headers: dict[str, str]) -> None:
    phone.client.post("/demo/notes/new", data={"title": "Written"}, headers=headers)
    assert "Written" in " ".join(phone.screen("notes/").texts)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8200", "", "[::2]:1"])
def test_other_host_names_are_refused(phone: PhoneClient, host: str) -> None:
    assert phone.client.get("/demo/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8200"])
def test_loopback_host_names_are_served(phone: PhoneClient, host: str) -> None:
    assert phone.client.get("/demo/", headers={"Host": host}).status_code == 200


def test_large_bodies_are_refused(phone: PhoneClient) -> None:
    phone.send("notes/new", 413, title="x", body="y" * 70_000)


def test_body_of_unknown_length_is_refused(phone: PhoneClient) -> None:
    headers = {"Origin": BASE, "Content-Type": "application/x-www-form-urlencoded"}
    answer = phone.client.post("/demo/notes/new", content=iter([b"title=x"]), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("path", ["/demo/", "/demo/nowhere", "/static/phone.css", "/demo/reader/"])
def test_every_answer_carries_the_policy(phone: PhoneClient, path: str) -> None:
    headers = phone.client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("device", ["a.json", "-x", "x" * 65, "%2e%2e", "a%2Fb", "a b"])
def test_odd_device_names_have_no_pages(phone: PhoneClient, device: str) -> None:
    answer = phone.client.get(f"/{device}/notes/")
    assert answer.status_code in (400, 404)


@pytest.mark.parametrize(
    "text",
    [
        vocabulary.HOSTILE_CONTACT_NAME,
        vocabulary.HOSTILE_NOTE_TITLE,
        "<script>alert(1)</script>",
        "{{ 7 * 7 }} {% raw %} ${x} %s {0}",
        "\" onfocus=alert(1) autofocus '",
        "مرحبا بالعالم שלום 你好 😀",
    ],
)
def test_hostile_text_is_shown_as_written(phone: PhoneClient, text: str) -> None:
    clean = phone.screen("contacts/c03").tags
    phone.send("contacts/c03/edit", name=text, number="1", email="", city=text)
    detail = phone.screen("contacts/c03")
    assert f"City: {text}" in detail.texts
    assert detail.tags == clean
    assert phone.screen("contacts/c03/edit").inputs["name"] == text


def test_seeded_hostile_content_brings_no_elements(phone: PhoneClient) -> None:
    world = phone.reset(6)
    thread = phone.screen(f"messages/{world.conversations[-1].id}")
    assert vocabulary.INJECTION_TEXT in " ".join(thread.texts)
    assert "img" not in thread.tags
    note = phone.client.get("/demo/notes/n7").text
    assert vocabulary.HOSTILE_NOTE_BODY in unescape(note)
    assert not {"img"} & set(Screen(note).tags)
    form = phone.client.get("/demo/notes/n7/edit").text
    assert "img" not in Screen(form).tags and form.count("</textarea>") == 1


def test_control_characters_and_excess_length_are_cut(phone: PhoneClient) -> None:
    phone.send("notes/new", title="a\x00b\x1b[31mc\u202e" + "z" * 300, body="one\r\ntwo")
    newest = next(t for t in phone.screen("notes/").texts if t.startswith("ab"))
    assert newest.startswith("ab[31mczzz") and len(newest) < 140


def test_errors_do_not_repeat_the_request(phone: PhoneClient) -> None:
    answer = phone.client.get("/demo/catalogue/<b>x")
    assert answer.status_code == 400 and "<b>" not in answer.text
