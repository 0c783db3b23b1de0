"""The values of the transcript: zones S and F, a finished turn, a compaction, a prompt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.memory import Departure, PromptFigures, ZoneTokens
from app.domain.messages import Message, ToolSpec


class Stable(NamedTuple):
    """Zone S."""

    system: str
    tools: tuple[ToolSpec, ...]

    def to_json(self) -> str:
        tools = [t.model_dump(mode="json") for t in self.tools]
        return json.dumps({"system": self.system, "tools": tools}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Stable:
        data = json.loads(text)
        return Stable(data["system"], tuple(ToolSpec.model_validate(t) for t in data["tools"]))


@dataclass(frozen=True)
class Frozen:
    """Zone F as it stands until the next compaction."""

    text: str
    through: int = 0
    """The newest step that stands here as a line; newer ones are in A."""
    step: int = 0
    """The step whose prompt needed the compaction."""

    def to_json(self) -> str:
        return json.dumps(
            {"text": self.text, "through": self.through, "step": self.step}, ensure_ascii=False
        )

    @staticmethod
    def from_json(text: str) -> Frozen:
        data = json.loads(text)
        return Frozen(data["text"], data["through"], data["step"])


@dataclass(frozen=True)
class Turn:
    """One finished turn, ready for zone A and, later, for a line of zone F."""

    number: int
    messages: tuple[Message, ...]
    tokens: int
    line: str
    excerpt: tuple[Message, ...]
    excerpt_tokens: int


class Compaction(NamedTuple):
    """What a compaction did."""

    before: ZoneTokens
    after: ZoneTokens
    frozen: Frozen
    departures: tuple[Departure, ...]


class Prompt(NamedTuple):
    """One operator prompt and its figures."""

    messages: tuple[Message, ...]
    figures: PromptFigures
    compaction: Compaction | None
    shortened: tuple[Departure, ...]
    """What the hard limit cost this one prompt, beyond a compaction."""
