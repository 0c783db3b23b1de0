"""The same turn after its first call: tool results join the prompt within their own limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.domain.config import MemoryConfig
from app.domain.messages import Message, Part, Response, Text
from app.memory.tokens import Counter, count_text, cut_text

SHORT_RESULT_TOKENS = 150
"""What an older result of the same turn keeps above the soft limit."""


@dataclass
class Traffic:
    """Model messages and tool results of the running turn, in order."""

    config: MemoryConfig
    counter: Counter
    first_tokens: int
    """Estimated tokens of the turn's first prompt."""
    messages: list[Message] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Estimated tokens of a request that carries everything so far."""
        extra = sum(self.counter.message(m) for m in self.messages)
        return self.counter.corrected(self.first_tokens + extra)

    @property
    def decision_due(self) -> bool:
        """At the hard limit only actions remain callable."""
        room = self.config.same_turn_hard_tokens - self.config.tool_result_tokens
        return self.tokens > room

    def add(self, message: Message) -> None:
        """Appends; above the soft limit older results shrink to excerpts."""
        self.messages.append(message)
        if self.tokens <= self.config.same_turn_soft_tokens:
            return
        for i, old in enumerate(self.messages[:-1]):
            if old.role == "user":
                self.messages[i] = _shortened(old)


def _shortened(message: Message) -> Message:
    return Message(role="user", parts=tuple(_short(p) for p in message.parts))


def _short(part: Part) -> Part:
    match part:
        case Response(response={"result": str(text)}) if count_text(text) > SHORT_RESULT_TOKENS:
            short = cut_text(text, SHORT_RESULT_TOKENS) + "… (shortened: the turn grew long)"
            return part.model_copy(update={"response": {"result": short}})
        case Text(text=text) if count_text(text) > SHORT_RESULT_TOKENS:
            return Text(text=cut_text(text, SHORT_RESULT_TOKENS) + "…")
        case _:
            return part
