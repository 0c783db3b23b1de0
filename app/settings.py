"""Every setting, its default and its unit.

Read once, by main, cli and tasks/worker, from (first wins) `ARTEMIS_*` variables, the
`.artemis-env` that setup writes, `artemis.toml`, and the defaults here. Other areas are
handed their frozen section (domain/config).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from app.domain.config import (
    AgentConfig,
    AppiumConfig,
    DeviceConfig,
    MemoryConfig,
    ModelsConfig,
    OcrConfig,
    PerceptionConfig,
    RoleModel,
    ServerConfig,
)
from app.domain.messages import JsonObject, Role
from app.domain.tasks import Limits
from app.errors import ConfigurationError

CONFIG_FILE = "artemis.toml"
ENV_FILE = ".artemis-env"
TOKEN_FILE = "token"
"""In the data directory: what programs on this machine show as a bearer token."""


class ModelSettings(ModelsConfig):
    """`[models]`: provider `auto` takes Gemini when there is a key, else the offline model."""

    provider: Literal["auto", "offline", "gemini"] = "auto"  # type: ignore[assignment]
    """`auto` takes Gemini when there is a key, else the offline model."""
    roles: dict[Role, RoleModel] = Field(default_factory=dict)
    """Only the roles that differ from the defaults."""


class Settings(BaseSettings):
    """All settings of one Artemis process."""

    model_config = SettingsConfigDict(
        env_prefix="ARTEMIS_",
        env_nested_delimiter="__",
        env_file=ENV_FILE,
        env_ignore_empty=True,
        toml_file=CONFIG_FILE,
        extra="forbid",
        frozen=True,
    )

    data_dir: Path = Path("data")
    """Holds the database, artifacts, the demo phone's state and the access files."""
    database_url: str = ""
    """Empty: SQLite in the data directory. `postgresql+asyncpg://…` for PostgreSQL."""
    url: str = ""
    """Where commands look for a running server; empty: the configured host and port."""

    host: str = "127.0.0.1"
    """Address to bind; beyond loopback only with an access token."""
    port: int = Field(default=8765, ge=0, le=65_535)
    """Port to bind; 0 takes a free one."""
    access_token: SecretStr = SecretStr("")
    """Demanded from everyone; required when bound beyond loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names under which the service may be reached."""
    viewer_queue: int = Field(default=500, ge=10)
    """Live messages a viewer may lag behind."""
    max_body_bytes: int = Field(default=4 * 1024 * 1024, ge=1024)
    """A larger request body is refused."""

    node: str = ""
    """Node.js binary; empty looks on the PATH."""
    chromium: str = ""
    """Browser binary; empty looks at the usual places."""
    chromedriver: str = ""
    """ChromeDriver binary; empty looks at the usual places."""
    appium_port: int = Field(default=0, ge=0, le=65_535)
    """Port of the supervised Appium; 0 takes a free one."""
    demo_port: int = Field(default=0, ge=0, le=65_535)
    """Port of the demo phone; 0 takes a free one and keeps it for the next start."""

    demo_seed: int = Field(default=1, ge=0, lt=2**31)
    """What the demo phone's content is generated from."""

    resume_interrupted: bool = True
    """A restarted server goes on with interrupted tasks; else it only says what it left."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is logged."""
    secrets: dict[str, SecretStr] = Field(default_factory=dict)
    """Values for `secret:NAME`; `ARTEMIS_SECRETS__NAME=…` keeps them out of files."""

    limits: Limits = Limits()
    """Limits of a task that names none."""
    devices: dict[str, JsonObject] = Field(default_factory=dict)
    """`[devices.NAME]` sections, written to the store at start."""
    appium: AppiumConfig = AppiumConfig()
    perception: PerceptionConfig = PerceptionConfig()
    ocr: OcrConfig = OcrConfig()
    models: ModelSettings = ModelSettings()
    memory: MemoryConfig = MemoryConfig()
    agent: AgentConfig = AgentConfig()

    @model_validator(mode="before")
    @classmethod
    def _pro_memory(cls, data: Any) -> Any:
        """`[agent.pro.memory]` is another name of `[memory]`; both together are merged."""
        match data:
            case {"agent": {"pro": {"memory": dict(section), **others}, **agent}, **rest} if (
                not others
            ):
                own: Any = rest.get("memory") or {}
                if twice := sorted(section.keys() & own.keys()):
                    raise ValueError(f"{twice[0]} stands in [memory] and in [agent.pro.memory]")
                return {**rest, "agent": agent, "memory": {**section, **own}}
        return data

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, dotenv_settings, toml

    def models_config(self, gemini_api_key: str = "") -> ModelsConfig:
        """The models section with the provider and the key settled."""
        key = self.models.gemini_api_key.get_secret_value() or gemini_api_key
        provider = self.models.provider
        if provider == "auto":
            provider = "gemini" if key else "offline"
        if provider == "gemini" and not key:
            raise ConfigurationError(
                "the provider is gemini, but there is no key",
                hint="set GEMINI_API_KEY, or ARTEMIS_MODELS__PROVIDER=offline",
            )
        values = self.models.model_dump(exclude={"provider", "gemini_api_key", "roles"})
        base = ModelsConfig(provider=provider, gemini_api_key=SecretStr(key), **values)
        return base.model_copy(update={"roles": {**base.roles, **self.models.roles}})

    def server_config(self) -> ServerConfig:
        return ServerConfig(
            host=self.host,
            port=self.port,
            access_token=self.access_token,
            allowed_hosts=self.allowed_hosts,
            max_body_bytes=self.max_body_bytes,
            viewer_queue=self.viewer_queue,
        )

    def appium_config(self) -> AppiumConfig:
        found = {"chromium": self.chromium, "chromedriver": self.chromedriver}
        return self.appium.model_copy(update={k: v for k, v in found.items() if v})

    def device_configs(self) -> tuple[DeviceConfig, ...]:
        try:
            return tuple(
                DeviceConfig.model_validate({**section, "name": name})
                for name, section in self.devices.items()
            )
        except ValidationError as error:
            raise ConfigurationError(_faults(error), hint="mend [devices.*]") from None

    @property
    def database(self) -> str:
        """The database's URL."""
        if self.database_url:
            return self.database_url
        return f"sqlite+aiosqlite:///{(self.data_dir / 'artemis.db').absolute()}"

    @property
    def server_url(self) -> str:
        """Where commands look for a running server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url or f"http://{host}:{self.port}"


def load_settings(**given: object) -> Settings:
    """Reads the settings; raises ConfigurationError naming each fault."""
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        raise ConfigurationError(
            _faults(error), hint=f"mend {CONFIG_FILE} or the ARTEMIS_* variable"
        ) from None


def gemini_key() -> str:
    """The key as Google's own tools name it."""
    return os.environ.get("GEMINI_API_KEY", "")


def _faults(error: ValidationError) -> str:
    faults = (
        f"{'.'.join(str(p) for p in f['loc'])}: {f['msg']}"
        for f in error.errors(include_url=False, include_input=False)
    )
    return "; ".join(faults)
