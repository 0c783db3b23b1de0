"""Counts tokens without a tokenizer, and corrects the count by what the provider reports."""

from __future__ import annotations

import json
import re

from app.domain.messages import Call, Image, Message, Response, Text, ToolSpec

_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Scripts in which about every character is a token."""

CHARACTERS_PER_TOKEN = 4


def count_text(text: str) -> int:
    """Estimated tokens: a wide character is one, other characters four to one, rounded up."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // CHARACTERS_PER_TOKEN)


def cut_text(text: str, tokens: int) -> str:
    """The longest beginning of a text that counts at most `tokens`."""
    longest = max(0, tokens) * CHARACTERS_PER_TOKEN
    if len(text) <= longest and count_text(text) <= tokens:
        return text
    low, high = 0, min(len(text), longest)
    while low < high:
        middle = (low + high + 1) // 2
        if count_text(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


class Counter:
    """Counts messages; holds the cost of a picture and the provider's correction."""

    def __init__(self, image_tokens: int) -> None:
        self._image_tokens = image_tokens
        self._ratio = 1.0

    @property
    def image_tokens(self) -> int:
        return self._image_tokens

    @property
    def ratio(self) -> float:
        """Real tokens per estimated token, smoothed over the calls so far."""
        return self._ratio

    def corrected(self, estimate: int) -> int:
        """An estimate after correction; never below the plain estimate."""
        return round(estimate * max(1.0, self._ratio))

    def resume(self, ratio: float) -> None:
        """Goes on with a correction learned before a restart."""
        self._ratio = ratio

    def learn(self, estimated: int, real: int) -> None:
        """Takes in what the provider counted for a request of `estimated` tokens."""
        if estimated <= 0 or real <= 0:
            return
        seen = min(2.0, max(0.5, real / estimated))
        self._ratio += 0.2 * (seen - self._ratio)

    def message(self, message: Message) -> int:
        """Estimated tokens of one message, pictures included."""
        total = 0
        for part in message.parts:
            match part:
                case Text(text=text):
                    total += count_text(text)
                case Image():
                    total += self._image_tokens
                case Call(name=name, args=args):
                    total += count_text(name) + count_text(_json(args))
                case Response(name=name, response=response):
                    total += count_text(name) + count_text(_json(response))
        return total

    def tools(self, tools: tuple[ToolSpec, ...]) -> int:
        """Estimated tokens of the declarations."""
        return sum(count_text(tool_text(tool)) for tool in tools)


def tool_text(tool: ToolSpec) -> str:
    """A declaration as one text, for counting and for comparing prefixes."""
    return f"{tool.name} {tool.description} {_json(tool.parameters)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
