"""The same turn after its first call: tool results join the prompt within their own limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.config import MemoryConfig
from app.domain.messages import Call, Image, Message, Part, Response, Text, user
from app.memory.envelopes import shortened
from app.memory.tokens import Counter, count_text, cut_text

SHORT_RESULT_TOKENS = 150
"""What an older result of the same turn keeps above the soft limit."""
CALL_TOKENS = 40
"""What is told of a call that had to leave the turn's requests."""
GONE_TOKENS = 600
"""What is told of all of them."""
_GONE = "Earlier in this turn (shortened; recall_history has the results):"


@dataclass
class Traffic:
    """Model messages and tool results of the running turn, in order."""

    config: MemoryConfig
    counter: Counter
    first_tokens: int
    """Estimated tokens of the turn's first prompt."""
    messages: list[Message] = field(default_factory=list)
    """What goes on being sent."""
    gone: list[Message] = field(default_factory=list)
    """What had to leave the requests; the step's record keeps it."""
    _full: bool = False

    @property
    def whole(self) -> tuple[Message, ...]:
        """Everything said in this turn, for its record."""
        return (*self.gone, *self.messages)

    @property
    def sent(self) -> tuple[Message, ...]:
        """What a request carries behind the turn's first prompt."""
        return (*((_told(self.gone),) if self.gone else ()), *self.messages)

    @property
    def estimated(self) -> int:
        """Estimated tokens of a request that carries everything so far, not corrected."""
        return self.first_tokens + sum(map(self.counter.message, self.sent))

    @property
    def tokens(self) -> int:
        """The same after correction."""
        return self.counter.corrected(self.estimated)

    @property
    def decision_due(self) -> bool:
        """At the hard limit only actions remain callable."""
        return self._full or self.tokens > self._nearly_full

    def add(self, message: Message) -> None:
        self.messages.append(message)

    def restart(self) -> None:
        """Begins anew, for a turn whose first prompt is built again."""
        self.messages.clear()
        self.gone.clear()

    def fit(self) -> tuple[str, ...]:
        """Brings the next request within the limits; says what was shortened.

        Older results first, then the newest, then whole exchanges, a call with its result.
        """
        told: list[str] = []
        if self.tokens <= self.config.same_turn_soft_tokens:
            return ()
        newest = max((i for i, m in enumerate(self.messages) if m.role == "user"), default=-1)
        if self._shorten(range(newest), SHORT_RESULT_TOKENS):
            told.append("older results of this turn were shortened")
        if self.tokens > self._nearly_full and newest >= 0:
            self._full = True
            count = max(1, len(self.messages[newest].parts))
            over = self.tokens - self._nearly_full
            room = self.counter.message(self.messages[newest]) - over
            if self._shorten((newest,), max(SHORT_RESULT_TOKENS, room // count)):
                told.append("the newest results of this turn were shortened")
        while self.tokens > self.config.same_turn_hard_tokens and self.messages:
            length = _exchange(self.messages)
            self.gone += self.messages[:length]
            del self.messages[:length]
            told.append("calls of this turn left its requests")
        return tuple(dict.fromkeys(told))

    @property
    def _nearly_full(self) -> int:
        largest = max(self.config.tool_result_tokens, self.config.recall_tokens)
        return self.config.same_turn_hard_tokens - largest

    def _shorten(self, places: Sequence[int], tokens: int) -> bool:
        before = list(self.messages)
        for i in places:
            if self.messages[i].role == "user":
                parts = tuple(_short(p, tokens) for p in self.messages[i].parts)
                self.messages[i] = self.messages[i].model_copy(update={"parts": parts})
        return before != self.messages


def _short(part: Part, tokens: int) -> Part:
    match part:
        case Response(response=answer):
            return part.model_copy(update={"response": shortened(answer, tokens)})
        case Text(text=text) if count_text(text) > tokens:
            return Text(text=cut_text(text, tokens) + "…")
        case Image():
            return Text(text="[the picture was shown before]")
        case _:
            return part


def _exchange(messages: Sequence[Message]) -> int:
    """How many messages belong to the oldest exchange: a model's, and what answers it."""
    later = (i for i, m in enumerate(messages) if i > 0 and m.role == "model")
    return next(later, len(messages))


def _told(gone: Sequence[Message]) -> Message:
    """What was called and answered, in a few words each; the newest is never left out."""
    lines: list[str] = []
    left = GONE_TOKENS
    for message in reversed(gone):
        for part in reversed(message.parts):
            match part:
                case Call(name=name, args=args):
                    line = f"I called {name} {json.dumps(args, ensure_ascii=False)}"
                case Response(name=name, response=answer):
                    line = f"Result of {name}: {json.dumps(answer, ensure_ascii=False)}"
                case _:
                    continue
            line = cut_text(line, CALL_TOKENS)
            left -= count_text(line) + 1
            if left >= 0:
                lines.insert(0, line)
    return user("\n".join((_GONE, *lines)))
