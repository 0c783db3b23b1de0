"""A request as one text in the order a prefix cache reads it, and what two of them share."""

from __future__ import annotations

import json
from collections.abc import Iterable

from app.domain.messages import Call, Image, Message, Response, Text
from app.memory.tokens import count_text, tool_text
from app.memory.zones import Stable

_MARK = "\x01"
_IMAGE = "\x01image:{}\x01"


def canonical(stable: Stable, messages: Iterable[Message]) -> str:
    """System text, tools, then the messages; a picture is one opaque mark."""
    parts = [stable.system, *(tool_text(t) for t in stable.tools)]
    for message in messages:
        parts.append(f"\n[{message.role}]")
        for part in message.parts:
            match part:
                case Text(text=text):
                    parts.append(text.replace(_MARK, ""))
                case Image(ref=ref):
                    parts.append(_IMAGE.format(ref.sha256[:16]))
                case Call(name=name, args=args):
                    parts.append(f"{name}{_json(args)}")
                case Response(name=name, response=response):
                    parts.append(f"{name}{_json(response)}")
    return "".join(parts)


def shared_tokens(before: str, after: str, image_tokens: int) -> int:
    """Estimated tokens that two requests have in common from their first byte."""
    prefix = after[: _common_prefix(before, after)]
    pieces = prefix.split(_MARK)
    return count_text("".join(pieces[::2])) + len(pieces[1::2]) * image_tokens


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _common_prefix(a: str, b: str) -> int:
    """Characters two texts share from the start; never ends inside an image mark."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    prefix = a[:low]
    return prefix.rfind(_MARK) if prefix.count(_MARK) % 2 else low
