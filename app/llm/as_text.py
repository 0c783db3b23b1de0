"""Function calls told as text: for another model, or when their signatures are lost."""

from __future__ import annotations

import json

from app.domain.messages import Call, JsonObject, Message, Response, Text


def calls_told(message: Message) -> Message:
    """A model message whose calls are sentences; thinking and signatures are left out."""
    lines = [message.text] if message.text.strip() else []
    lines += [f"I called {call.name} {_compact(call.args)}." for call in message.calls]
    return Message(role="model", parts=(Text(text="\n".join(lines) or "(nothing)"),))


def results_told(message: Message) -> Message:
    """A user message whose function results are sentences; everything else stays."""
    parts = tuple(
        Text(text=f"Result: {_compact(part.response)}") if isinstance(part, Response) else part
        for part in message.parts
    )
    return Message(role="user", parts=parts)


def has_results(message: Message) -> bool:
    return any(isinstance(part, Response) for part in message.parts)


def has_calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)


def _compact(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False)
