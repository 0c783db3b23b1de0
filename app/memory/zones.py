"""The values of the transcript: zones S and F, a finished turn, a compaction, a prompt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import TypeAdapter

from app.domain.memory import Departure, PromptFigures, ZoneTokens
from app.domain.messages import Message, ToolSpec
from app.memory.pieces import Piece, PieceKind
from app.memory.tokens import count_text


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
    kept: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    """What the history in `text` is made of; unknown in an old record."""
    owed: int = 0
    """Open points that stand in the kept block, or are counted there."""
    excerpted: frozenset[int] = frozenset()
    """Steps that stand in A as an excerpt since then."""
    ratio: float = 1.0
    """Real tokens per estimated one, as known then."""
    heard: int | None = None
    """Number of the newest instruction that it took in; unknown in an old record."""

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the text."""
        return count_text(self.text)

    @cached_property
    def kept_tokens(self) -> int:
        """Estimated tokens of the kept block, the lines added behind it included."""
        added = sum(p.tokens for p in self.pieces if p.kind is PieceKind.KEPT)
        return added + sum(count_text(line) + 1 for line in self.kept)

    def to_json(self) -> str:
        return _FROZEN.dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> Frozen:
        return _FROZEN.validate_json(text)


_FROZEN: TypeAdapter[Frozen] = TypeAdapter(Frozen)


@dataclass(frozen=True)
class Turn:
    """One finished turn, ready for zone A."""

    number: int
    messages: tuple[Message, ...]
    tokens: int
    excerpt: tuple[Message, ...]
    excerpt_tokens: int


class Compaction(NamedTuple):
    """What a compaction did."""

    before: ZoneTokens
    after: ZoneTokens
    frozen: Frozen
    departures: tuple[Departure, ...]


class Fallback(NamedTuple):
    """Something second best, to be counted and shown."""

    kind: str
    detail: str


class Prompt(NamedTuple):
    """One operator prompt and its figures."""

    messages: tuple[Message, ...]
    figures: PromptFigures
    compaction: Compaction | None
    fallbacks: tuple[Fallback, ...] = ()
    """What was second best about it."""
