"""Where settings come from, which source wins, and what a wrong one says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain.config import Platform
from app.domain.messages import Role
from app.errors import ConfigurationError
from app.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without any of Artemis' variables."""
    for name in list(os.environ):
        if name.startswith("ARTEMIS_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_defaults_bind_to_loopback_alone() -> None:
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.database.endswith("/data/artemis.db")
    assert settings.server_url == "http://127.0.0.1:8765"


def test_a_variable_beats_the_file_which_beats_the_default(
    clean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clean / "artemis.toml").write_text(
        "port = 9001\n[limits]\nsteps = 7\n[agent]\nmax_recoveries = 1\n"
    )
    (clean / ".artemis-env").write_text("ARTEMIS_LIMITS__STEPS=8\nARTEMIS_NODE=/opt/node\n")
    monkeypatch.setenv("ARTEMIS_PORT", "9002")
    settings = load_settings()
    assert settings.port == 9002
    assert settings.limits.steps == 8
    assert settings.agent.max_recoveries == 1
    assert settings.node == "/opt/node"
    assert load_settings(port=9003).port == 9003


def test_an_empty_variable_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_PORT", "")
    assert load_settings().port == 8765


def test_a_nested_variable_reaches_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_MEMORY__HARD_TOKENS", "15000")
    monkeypatch.setenv("ARTEMIS_SECRETS__PIN", "4711")
    settings = load_settings()
    assert settings.memory.hard_tokens == 15_000
    assert {name.lower() for name in settings.secrets} == {"pin"}
    assert "4711" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prot = 9001\n", "prot"),
        ("port = 99999\n", "port"),
        ("[memory]\nhard_token = 1\n", "memory.hard_token"),
        ("[models]\nprovider = 'other'\n", "models.provider"),
    ],
)
def test_a_fault_is_named_by_its_place(clean: Path, text: str, named: str) -> None:
    (clean / "artemis.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert caught.value.message.startswith(f"{named}: ")
    assert "artemis.toml" in caught.value.hint


def test_a_wrong_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_MODELS__MAX_ATTEMPTS", "hunter2")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_the_provider_follows_the_key() -> None:
    settings = Settings()
    assert settings.models_config().provider == "offline"
    with_key = settings.models_config("key")
    assert with_key.provider == "gemini"
    assert with_key.gemini_api_key.get_secret_value() == "key"


def test_gemini_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_MODELS__PROVIDER", "gemini")
    with pytest.raises(ConfigurationError) as caught:
        load_settings().models_config()
    assert "GEMINI_API_KEY" in caught.value.hint


def test_one_role_can_be_changed_alone(clean: Path) -> None:
    (clean / "artemis.toml").write_text(
        '[models.roles.summarizer]\nmodel = "small"\nfallback = "large"\n'
    )
    roles = load_settings().models_config().roles
    assert roles[Role.SUMMARIZER].model == "small"
    assert roles[Role.OPERATOR].model != "small"


def test_devices_are_read_by_name(clean: Path) -> None:
    (clean / "artemis.toml").write_text(
        '[devices.pixel]\nplatform = "android"\n'
        '[devices.pixel.apps]\nSettings = "com.android.settings"\n'
    )
    (device,) = load_settings().device_configs()
    assert (device.name, device.platform) == ("pixel", Platform.ANDROID)
    assert device.apps == {"Settings": "com.android.settings"}


def test_a_faulty_device_says_where(clean: Path) -> None:
    (clean / "artemis.toml").write_text('[devices.pixel]\nplatform = "toaster"\n')
    with pytest.raises(ConfigurationError) as caught:
        load_settings().device_configs()
    assert "platform" in caught.value.message


def test_an_ipv6_host_makes_a_legal_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_HOST", "::1")
    assert load_settings().server_url == "http://[::1]:8765"


def test_the_memory_has_its_documented_name_as_well(clean: Path) -> None:
    (clean / "artemis.toml").write_text(
        "[agent]\nmax_recoveries = 1\n[agent.pro.memory]\nworld = false\ntarget_tokens = 11000\n"
        "[memory]\nhistory_chunks = false\n"
    )
    settings = load_settings()
    assert not settings.memory.world
    assert not settings.memory.history_chunks
    assert settings.memory.target_tokens == 11_000
    assert settings.agent.max_recoveries == 1


def test_the_documented_name_works_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_AGENT__PRO__MEMORY__WORLD", "false")
    assert not load_settings().memory.world


def test_a_missing_section_leaves_the_defaults(clean: Path) -> None:
    (clean / "artemis.toml").write_text("[agent]\nmax_recoveries = 1\n")
    assert load_settings().memory.pro_memory_enabled


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[memory]\nstateful_operator_interactions = true\n", "no adapter keeps the conversation"),
        (
            "[agent.pro.memory]\nstateful_operator_interactions = true\n",
            "no adapter keeps the conversation",
        ),
        ("[memory]\nworld = true\n[agent.pro.memory]\nworld = false\n", "world stands in [memory]"),
        ("[agent.pro.memory]\nwrld = true\n", "wrld"),
        ("[agent.pro.memry]\nworld = true\n", "agent.pro"),
        ("[memory]\ntarget_tokens = 9000\n", "must ascend"),
        ("[memory]\nsame_turn_soft_tokens = 40000\n", "must ascend"),
        ("[memory]\nmax_hot_turns = 0\n", "memory.max_hot_turns"),
    ],
)
def test_what_the_memory_cannot_be(clean: Path, text: str, told: str) -> None:
    (clean / "artemis.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert told in caught.value.message
