"""What goes to a model and what comes back, without any provider's types."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from app.domain.screens import ArtifactRef
from app.domain.values import Value

JsonObject = dict[str, Any]
"""A JSON object whose shape another party decides (tool arguments, schemas)."""


class Role(StrEnum):
    """Who uses a model. Configuration chooses a model and its fallback per role."""

    PLANNER = "planner"
    OPERATOR = "operator"
    ANALYZER = "analyzer"
    OUTPUTTER = "outputter"
    SUMMARIZER = "summarizer"
    CHUNK_WRITER = "chunk_writer"
    HISTORIAN = "historian"


class Text(Value):
    """Visible text, or thinking when `thought` is set."""

    type: Literal["text"] = "text"
    text: str
    thought: bool = False
    signature: bytes | None = None


class Image(Value):
    """A picture by reference; the adapter reads its bytes from `data`."""

    type: Literal["image"] = "image"
    ref: ArtifactRef
    width: int
    height: int
    data: bytes = Field(default=b"", repr=False, exclude=True)
    """Present in a request that is about to be sent, absent in stored messages."""


class Call(Value):
    """A function call as the model made it."""

    type: Literal["call"] = "call"
    id: str = ""
    name: str
    args: JsonObject = Field(default_factory=dict)
    signature: bytes | None = None
    problem: str = ""
    """Set when the arguments could not be read (not an object, broken JSON)."""


class Response(Value):
    """The answer to a function call."""

    type: Literal["response"] = "response"
    id: str = ""
    name: str
    response: JsonObject


Part = Annotated[Text | Image | Call | Response, Field(discriminator="type")]


class ProviderContent(Value):
    """A model message exactly as its provider sent it, for replay to the same model."""

    provider: str
    model: str
    content: JsonObject


class Message(Value):
    """One message. A model's message keeps the provider's own form beside the neutral one."""

    role: Literal["user", "model"]
    parts: tuple[Part, ...]
    provider: ProviderContent | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(p for p in self.parts if isinstance(p, Call))

    @property
    def text(self) -> str:
        """All visible text, without thinking."""
        return "".join(p.text for p in self.parts if isinstance(p, Text) and not p.thought)

    @property
    def thinking(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, Text) and p.thought)

    def plain(self) -> str:
        """The message as text: for counting, for lost signatures, for the stored prompt page."""
        out = []
        for part in self.parts:
            match part:
                case Text(text=text):
                    out.append(text)
                case Image(ref=ref):
                    out.append(f"[image {ref.sha256[:12]}]")
                case Call(name=name, args=args):
                    out.append(f"[call {name} {json.dumps(args, ensure_ascii=False)}]")
                case Response(name=name, response=response):
                    out.append(f"[result {name} {json.dumps(response, ensure_ascii=False)}]")
        return "\n".join(out)


def user(*texts: str) -> Message:
    """A plain user message of one part per text."""
    return Message(role="user", parts=tuple(Text(text=t) for t in texts))


class ToolSpec(Value):
    """A function the model may call. `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: JsonObject


class ModelRequest(Value):
    """Everything one call needs. `messages` always ends in a user message."""

    role: Role
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    """Restricts calls without changing the declarations; None allows all."""
    require_call: bool = False
    """The model must answer with a function call."""
    response_schema: JsonObject | None = None
    """Answer with JSON of this schema."""
    max_output_tokens: int = 8_192
    lite: bool = False
    """Use the role's lite model, where it has one."""
    only_fallback: bool = False
    """Use the role's fallback model alone: the first one's answers were refused."""
    thinking: Literal["", "low", "medium", "high"] = ""
    media_resolution: Literal["low", "medium", "high"] = "high"
    deadline: float = 120.0
    """Seconds for the whole call, retries and waits included."""
    task_id: str = ""
    step_number: int = 0


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    """Cut at the output limit."""
    SAFETY = "safety"
    """The answer, or the request, was blocked."""
    MALFORMED_CALL = "malformed_call"
    EMPTY = "empty"
    """No candidate, or one without content."""
    OTHER = "other"


class Usage(Value):
    """Tokens of one call. Zero where the provider said nothing."""

    prompt: int = 0
    """Cached ones included."""
    cached: int = 0
    thinking: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            thinking=self.thinking + other.thinking,
            output=self.output + other.output,
        )

    @property
    def total(self) -> int:
        return self.prompt + self.thinking + self.output


class Attempt(Value):
    """One try of a call: what came of it and how long it took or was waited for."""

    model: str
    outcome: str
    """`ok`, or an error code of errors.py, or a Finish word."""
    detail: str = ""
    seconds: float = 0.0
    waited: float = 0.0
    """Seconds slept before this attempt because the server or the back-off said so."""


class ModelReply(Value):
    """What a model answered. An unusable answer is a value (`finish`), not an exception."""

    message: Message
    finish: Finish = Finish.STOP
    finish_detail: str = ""
    """The provider's own word: SAFETY category, block reason, finish reason."""
    usage: Usage = Usage()
    provider: str
    model: str
    offline: bool = False
    raw: bytes = Field(default=b"", repr=False)
    """The reply's body as it came, for the record."""
    seconds: float = 0.0
    first_token_seconds: float | None = None
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None
    """None when the model has no known price."""
    fallback: str = ""
    """Set when the fallback model answered: why."""
