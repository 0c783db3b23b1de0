"""The offline model as a provider: every role answered from the request alone."""

from __future__ import annotations

import asyncio
import json

from app.domain.config import RoleModel
from app.domain.messages import (
    Image,
    JsonObject,
    Message,
    ModelReply,
    ModelRequest,
    Role,
    Text,
    Usage,
)
from app.llm.offline.analyzer import answer_analyzer
from app.llm.offline.answers import answer_historian, answer_outputter
from app.llm.offline.chunk_writer import answer_chunk_writer
from app.llm.offline.operator import answer_operator
from app.llm.offline.planner import answer_planner
from app.llm.offline.summarizer import answer_summarizer
from app.llm.provider import Try

PROVIDER = "offline"
MODEL = "offline-1"
CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 2_064
"""What the benchmarks count for one screenshot."""

JSON_ROLES = {
    Role.PLANNER: answer_planner,
    Role.ANALYZER: answer_analyzer,
    Role.OUTPUTTER: answer_outputter,
    Role.HISTORIAN: answer_historian,
    Role.CHUNK_WRITER: answer_chunk_writer,
}


class OfflineModel:
    """No key, no network, no memory of its own: equal requests get equal answers."""

    @property
    def name(self) -> str:
        return PROVIDER

    @property
    def offline(self) -> bool:
        return True

    @property
    def account(self) -> str:
        return PROVIDER

    def models(self, role: RoleModel) -> tuple[str, ...]:
        return (MODEL,)

    async def generate(self, request: ModelRequest, attempt: Try) -> ModelReply:
        # Long goals take tens of milliseconds, which the event loop should not feel.
        message = await asyncio.to_thread(answer, request)
        raw = message.model_dump_json().encode()
        return ModelReply(
            message=message,
            usage=_usage(request, message),
            provider=PROVIDER,
            model=MODEL,
            offline=True,
            raw=raw,
        )

    async def close(self) -> None:
        return None


def answer(request: ModelRequest) -> Message:
    """The reply of one role."""
    if request.role is Role.OPERATOR:
        return answer_operator(request)
    if request.role is Role.SUMMARIZER:
        return Message(role="model", parts=(Text(text=answer_summarizer(request)),))
    return _json_message(JSON_ROLES[request.role](request))


def _json_message(answer: JsonObject) -> Message:
    return Message(role="model", parts=(Text(text=json.dumps(answer, ensure_ascii=False)),))


def _usage(request: ModelRequest, message: Message) -> Usage:
    """An estimate, so that figures and limits work alike with every provider."""
    tools = sum(len(t.name) + len(t.description) + len(str(t.parameters)) for t in request.tools)
    texts = sum(len(m.plain()) for m in request.messages)
    images = sum(isinstance(part, Image) for m in request.messages for part in m.parts)
    characters = len(request.system) + tools + texts
    return Usage(
        prompt=characters // CHARACTERS_PER_TOKEN + images * IMAGE_TOKENS,
        output=max(1, len(message.plain()) // CHARACTERS_PER_TOKEN),
    )
