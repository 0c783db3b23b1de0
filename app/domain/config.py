"""Frozen sections of the settings, handed to the areas that use them.

Longer than 300 lines: it is the one list of every setting, and the page about them is made from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from app.domain.messages import JsonObject, Role
from app.domain.values import Value


class Platform(StrEnum):
    """Kinds of device; each has its own abilities."""

    CHROMIUM = "chromium"
    ANDROID = "android"
    IOS = "ios"
    REPLAY = "replay"


class DeviceConfig(Value):
    """One device as configured or added in the console."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    platform: Platform = Platform.CHROMIUM
    """`chromium`, `android`, `ios` or `replay`."""
    server_url: str = "http://127.0.0.1:4723"
    """Appium, Grid or farm. For a replay device, empty."""
    capabilities: JsonObject = Field(default_factory=dict)
    """Merged over the platform's defaults."""
    apps: dict[str, str] = Field(default_factory=dict)
    """Names for launch_app, to package, bundle id or URL."""
    home: str = ""
    """What `home` opens on a Chromium device; the launcher's URL."""
    shell: bool = False
    """Allow the in-turn tool `shell`, where the driver has it."""
    allowed_apps: tuple[str, ...] = ()
    """When given, launch_app and open_url are refused for anything else (prefix match)."""
    blocked_origins: tuple[str, ...] = ()
    """Origins the phone's browser must not open: the console's own address."""
    replay_path: str = ""
    """Folder of a recorded run, for a replay device."""
    reset_url: str = ""
    """POSTed when a task starts (the demo phone's state)."""
    reset_token: SecretStr = SecretStr("")
    """Sent with the reset in the header X-Demo-Token; never stored."""
    reset_body: JsonObject = Field(default_factory=dict)
    """Sent as JSON with the reset: the demo phone takes {"seed": 7}."""
    retired: bool = False
    """Out of use; what it did stays."""


class AppiumConfig(Value):
    """How Artemis talks to Appium servers."""

    call_timeout: float = 30.0
    """Seconds for one call; longer than page_load_timeout."""
    session_timeout: float = 90.0
    """Seconds for opening a session."""
    page_load_timeout: float = 15.0
    """Seconds a page may take to load."""
    script_timeout: float = 10.0
    """Seconds a script in the page may take."""
    new_command_timeout: float = 600.0
    """Seconds without a command after which Appium ends a session."""
    chromium: str = ""
    """Browser binary; empty looks at the usual places."""
    chromedriver: str = ""
    """ChromeDriver binary; empty looks at the usual places."""
    headless: bool = True
    """Run the browser without a window."""
    allowed_servers: tuple[str, ...] = ("http://127.0.0.1", "http://localhost", "http://[::1]")
    """Prefixes of server URLs that devices may use."""


class PerceptionConfig(Value):
    """Bounds of reading a screen."""

    max_source_bytes: int = 16 * 1024 * 1024
    """A larger UI source is cut."""
    max_elements: int = 5_000
    """Elements read of one screen; the rest is counted."""
    element_list_tokens: int = 1_500
    """Bound of the element list in the prompt."""
    max_text: int = 200
    """Characters of one element's text in the list."""
    image_short_side: int = 720
    """Pixels of the short side of the picture that the model is shown."""
    jpeg_quality: int = 80
    """Of that picture, 1-95."""
    settle_interval: float = 0.25
    """Seconds between two looks that must be equal."""
    settle_timeout: float = 3.0
    """Seconds after which a moving screen is taken as it is."""


class OcrConfig(Value):
    """Reading text that stands only in pictures (needs the extra `ocr`)."""

    enabled: bool = True
    """Read text from pictures, where the extra `ocr` is installed."""
    deadline: float = Field(default=4.0, gt=0)
    """Seconds that Perception waits where the tree does not say what is on the screen."""
    canvas_share: float = Field(default=0.15, gt=0, le=1)
    """Share of the window from which on a canvas or a mute picture is read."""
    read_timeout: float = Field(default=30.0, gt=0)
    """Seconds for one picture, after which the reading process is started anew."""
    max_waiting: int = Field(default=64, ge=1)
    """Pictures that may wait for the background; one more is left out, visibly."""
    remembered: int = Field(default=256, ge=0)
    """Pictures whose text is kept at hand."""
    idle: float = Field(default=300.0, gt=0)
    """Seconds without work after which the reading process ends; the next picture starts it."""
    flush: float = Field(default=15.0, ge=0)
    """Seconds for reading what still waits when the server stops."""


class RoleModel(Value):
    """Which model serves a role, and its fallback."""

    model: str
    """Its name at the provider."""
    fallback: str = ""
    """Asked when the model does not answer; empty is none."""
    thinking: Literal["", "low", "medium", "high"] = "low"
    """Thinking level; empty is the model's own."""
    timeout: float = 90.0
    """Seconds for one attempt."""
    max_output_tokens: int = 8_192
    """An answer is cut there."""
    lite: str = ""
    """A cheaper model for background work in lite mode; empty: there is none."""
    gemini_api_key: SecretStr = SecretStr("")
    """A key of its own, so that background work does not use up the operator's quota."""
    gemini_base_url: str = ""
    """An endpoint of its own."""


def default_roles() -> dict[Role, RoleModel]:
    """The defaults for Gemini; the offline model ignores the names."""
    main = RoleModel(model="gemini-3.8-flash", fallback="gemini-3.5-flash", thinking="low")
    background = RoleModel(
        model="gemini-3.8-flash",
        fallback="gemini-3.5-flash",
        thinking="low",
        timeout=45.0,
        lite="gemini-3.5-flash-lite",
    )
    return {
        Role.PLANNER: main,
        Role.OPERATOR: main,
        Role.ANALYZER: main,
        Role.OUTPUTTER: main,
        Role.HISTORIAN: main,
        Role.SUMMARIZER: background,
        Role.CHUNK_WRITER: background,
    }


class ModelsConfig(Value):
    """Provider, roles and retry rules."""

    provider: Literal["offline", "gemini"] = "offline"
    gemini_api_key: SecretStr = SecretStr("")
    """Better given as `GEMINI_API_KEY`, so that it stands in no file."""
    gemini_base_url: str = ""
    """A proxy or a test server; empty is Google's own."""
    gemini_api_version: str = "v1beta"
    """Of Google's REST address."""
    roles: dict[Role, RoleModel] = Field(default_factory=default_roles)
    max_attempts: int = Field(default=4, ge=1)
    """Tries of one model before its fallback."""
    first_delay: float = 1.0
    """Seconds before the second try; doubles with each further one."""
    max_delay: float = 30.0
    """Longest wait, in seconds, that is our own choice."""
    max_retry_delay: float = 120.0
    """Longest server-given delay, in seconds, that is waited for."""
    deadline: float = 300.0
    """Seconds for a whole call, waits included."""


class MemoryConfig(Value):
    """Budgets and switches of the memory; the section may also be called `[agent.pro.memory]`."""

    target_tokens: int = 12_000
    """Soft limit of a turn's first call: above it, a compaction runs."""
    compacted_tokens: int = 9_500
    """What a compaction brings a prompt down to."""
    hard_tokens: int = 16_000
    """No first call of a turn is ever larger."""
    same_turn_soft_tokens: int = 20_000
    """Above it, older tool results of the turn shrink."""
    same_turn_hard_tokens: int = 28_000
    """Above it, only actions can be called."""
    kept_tokens: int = 2_500
    """Bound of the never-evict block."""
    image_tokens: int = 2_064
    """One screenshot, as counted by the benchmarks."""
    max_hot_turns: int = Field(default=2, ge=1, le=10)
    """Turns that a compaction leaves word for word, at most."""
    recall_results: int = 5
    """Steps that one recall gives."""
    recall_tokens: int = 2_000
    """Size of one recall."""
    tool_result_tokens: int = 1_200
    """A larger tool result is stored whole and shown as an envelope."""
    pro_memory_enabled: bool = True
    """Master switch of the memory: without it, the plain history, written anew every turn."""
    preserve_operator_message_tail: bool = True
    """Keep the last turns as the real messages; without, the prompt is written anew every turn."""
    history_chunks: bool = True
    """Close ranges of steps as chunks, and let them stand in for their steps."""
    operator_history_recall: bool = True
    """Offer `recall_history` to the operator."""
    stateful_operator_interactions: bool = False
    """Let the provider keep the conversation; refused, as there is no adapter yet."""
    similarity_hint: bool = True
    """Name the step that saw the same screen before."""
    world: bool = True
    """Keep and show the believed state."""
    visual_step_summary: bool = True
    """Write a neutral paragraph about each step in the background."""
    visual_step_summary_shadow: bool = False
    """Write and store summaries, but keep them out of the prompt."""
    summary_lite: bool = False
    """Summarise with the lite model; what breaks a rule or leaves something out is redone."""
    include_pre_image: bool = True
    """Show the summariser the decision screenshot with the action marked."""
    include_post_image_when_available: bool = True
    """Show it the independent screenshot after the action, where there is one."""
    include_ui_diff: bool = True
    """Tell it what the mechanical comparison of the two screens found."""
    max_concurrency: int = Field(default=1, ge=1, le=8)
    """Background calls at a time, per endpoint, key and model."""
    background_deadline: float = Field(default=90.0, gt=0)
    """Seconds for one background call, retries and the wait for a free lane included."""
    background_attempts: int = Field(default=2, ge=1, le=5)
    """Answers asked for before a text counts as refused; each is told the former refusals."""
    background_redos: int = Field(default=2, ge=0, le=10)
    """Times a refused or incomplete text is tried again when idle."""
    background_pause: float = Field(default=30.0, gt=0)
    """Seconds of the first pause after failures in a row; doubles up to 16 times that."""
    background_failures: int = Field(default=3, ge=1)
    """Calls in a row without an answer before background work pauses."""
    background_tokens: int = Field(default=5_000_000, ge=0)
    """Tokens per task and background role; reaching them stops that work, not the task."""
    background_cost_usd: float = Field(default=2.0, ge=0)
    """Money per task and background role, in the same way."""
    background_flush: float = Field(default=60.0, ge=0)
    """Seconds for finishing background work at a task's end."""

    @field_validator("stateful_operator_interactions")
    @classmethod
    def _no_adapter(cls, switched_on: bool) -> bool:
        if switched_on:
            raise ValueError(
                "refused: no adapter keeps the conversation at the provider yet; leave it off"
            )
        return switched_on

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        limits = (self.compacted_tokens, self.target_tokens, self.hard_tokens)
        if tuple(sorted(limits)) != limits:
            raise ValueError("compacted_tokens, target_tokens and hard_tokens must ascend")
        same_turn = (self.hard_tokens, self.same_turn_soft_tokens, self.same_turn_hard_tokens)
        if tuple(sorted(same_turn)) != same_turn:
            raise ValueError(
                "hard_tokens, same_turn_soft_tokens and same_turn_hard_tokens must ascend"
            )
        return self

    @property
    def summarises(self) -> bool:
        """Whether steps get summaries."""
        return self.pro_memory_enabled and self.visual_step_summary


class AgentConfig(Value):
    """Rules of a turn."""

    max_tool_calls: int = 12
    """In-turn tool calls before a decision is forced."""
    max_refusals: int = 3
    """Execution check refusals in one turn before the step is written blocked."""
    max_bad_replies: int = 3
    """Unusable model replies in a row before the task fails."""
    max_finish_refusals: int = 3
    """Refused `finish` calls after which the task fails."""
    max_recoveries: int = 3
    """Recovery actions of one failed step."""
    max_device_losses: int = 2
    """Sessions reopened in a row before the device counts as away."""
    identical_actions: int = 3
    """The same action on the same screen is refused at this count."""
    question_timeout: float = 24 * 3600.0
    """Seconds a task waits for a person."""
    keep_alive: float = 60.0
    """Seconds between keep-alive calls while paused or waiting."""


class ServerConfig(Value):
    """The web service."""

    host: str = "127.0.0.1"
    port: int = 8765
    access_token: SecretStr = SecretStr("")
    """Demanded from everyone when bound beyond loopback; optional on loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Further Host names under which the service may be reached."""
    max_body_bytes: int = 4 * 1024 * 1024
    viewer_queue: int = 500
    """Messages a live viewer may lag behind before it is asked to reconnect."""
