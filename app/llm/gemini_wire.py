"""The google-genai client: requests into its types, its answers as raw bodies."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import SecretStr, ValidationError

from app.domain.messages import Call, Image, JsonObject, Message, ModelRequest, Response, Text
from app.llm.as_text import calls_told, has_calls, has_results, results_told
from app.llm.gemini_errors import converted
from app.llm.gemini_replies import PROVIDER
from app.llm.provider import Try

HARMS = (
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
)
"""Blocked only when the probability is high: a phone's screen is not ours to choose."""


class GeminiWire:
    """One SDK client, made once per process: its TLS store takes half a second."""

    def __init__(self, key: SecretStr, base_url: str, api_version: str) -> None:
        self._key = key
        self._http = httpx2.AsyncClient(timeout=None)  # each try brings its own
        self._client = genai.Client(
            vertexai=False,
            api_key=key.get_secret_value(),
            http_options=types.HttpOptions(
                base_url=base_url or None,
                api_version=api_version,
                # An own client keeps the SDK from switching to aiohttp where that is installed.
                httpx_async_client=self._http,
            ),
        )

    async def send(self, request: ModelRequest, attempt: Try) -> tuple[str, int]:
        """The raw body, and how many messages were sent as text for want of a signature."""
        try:
            contents, dropped = build_contents(request, attempt)
            response = await self._client.aio.models.generate_content(
                model=attempt.model, contents=contents, config=build_config(request, attempt)
            )
        except (errors.APIError, httpx2.HTTPError, ValidationError, ValueError) as error:
            failure = converted(error, attempt.model, self._key.get_secret_value())
        else:
            http = response.sdk_http_response
            return (http.body if http and http.body else ""), dropped
        raise failure

    async def close(self) -> None:
        await self._http.aclose()


def build_config(request: ModelRequest, attempt: Try) -> types.GenerateContentConfig:
    """Everything of a request but its contents."""
    schema = request.response_schema
    return types.GenerateContentConfig(
        system_instruction=request.system or None,
        max_output_tokens=attempt.max_output_tokens,
        media_resolution=types.MediaResolution(
            f"MEDIA_RESOLUTION_{request.media_resolution.upper()}"
        ),
        thinking_config=_thinking(attempt),
        tools=[_declarations(request)] if request.tools else None,
        tool_config=_tool_config(request),
        response_mime_type="application/json" if schema else None,
        response_json_schema=schema,
        safety_settings=[
            types.SafetySetting(
                category=types.HarmCategory(harm),
                threshold=types.HarmBlockThreshold.BLOCK_ONLY_HIGH,
            )
            for harm in HARMS
        ],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
        should_return_http_response=True,
        http_options=types.HttpOptions(timeout=max(1, int(attempt.timeout * 1000))),
    )


def _thinking(attempt: Try) -> types.ThinkingConfig | None:
    # The 2.5 family knows budgets only and refuses levels.
    if not attempt.thinking or attempt.model.startswith("gemini-2"):
        return None
    return types.ThinkingConfig(
        include_thoughts=True, thinking_level=types.ThinkingLevel(attempt.thinking.upper())
    )


def _declarations(request: ModelRequest) -> types.Tool:
    return types.Tool(
        function_declarations=[
            types.FunctionDeclaration(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.parameters,
            )
            for tool in request.tools
        ]
    )


def _tool_config(request: ModelRequest) -> types.ToolConfig | None:
    if not request.tools or (request.allowed_tools is None and not request.require_call):
        return None
    names = list(request.allowed_tools) if request.allowed_tools is not None else None
    if names == []:
        mode, names = types.FunctionCallingConfigMode.NONE, None
    elif request.require_call:
        mode = types.FunctionCallingConfigMode.ANY
    else:
        mode = types.FunctionCallingConfigMode.VALIDATED
    return types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode=mode, allowed_function_names=names)
    )


def build_contents(request: ModelRequest, attempt: Try) -> tuple[list[types.Content], int]:
    """Messages as contents; a model's own message goes back exactly as it came.

    A call that has no replayable form would be refused for its missing signature, so it
    and its result are told as text, both or neither.
    """
    contents: list[types.Content] = []
    dropped, told = 0, False
    for message in request.messages:
        if message.role == "user":
            if told and has_results(message):
                message = results_told(message)
            contents.append(_user_content(message))
            continue
        content = None if attempt.calls_as_text else _replay(message, attempt.model)
        told = content is None and has_calls(message)
        dropped += told and not attempt.calls_as_text
        contents.append(content or _told(message))
    return contents, dropped


def _replay(message: Message, model: str) -> types.Content | None:
    """The provider's own form, when it came from this very model."""
    own = message.provider
    if own is None or own.provider != PROVIDER or own.model != model:
        return None
    if any(call.problem for call in message.calls):
        return None
    return _validated(own.content)


def _validated(content: JsonObject) -> types.Content | None:
    """Leaves out fields that the SDK does not know, which it would refuse to send."""
    text = json.dumps(content)
    try:
        return types.Content.model_validate_json(text)
    except ValidationError as error:
        unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
    known = json.loads(text)
    for path in unknown:
        _remove(known, path)
    try:
        return types.Content.model_validate_json(json.dumps(known))
    except ValidationError:
        return None


def _remove(node: Any, path: tuple[int | str, ...]) -> None:
    *parents, last = path
    for key in parents:
        node = node[key]
    node.pop(last, None)


def _told(message: Message) -> types.Content:
    text = calls_told(message).text
    return types.Content(role="model", parts=[types.Part(text=text)])


def _user_content(message: Message) -> types.Content:
    parts: list[types.Part] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                parts.append(types.Part(text=text))
            case Image(ref=ref, data=data) if data:
                parts.append(types.Part.from_bytes(data=data, mime_type=ref.media_type))
            case Image():
                parts.append(types.Part(text="[picture not available]"))
            case Response(id=call_id, name=name, response=response):
                answer = types.FunctionResponse(id=call_id or None, name=name, response=response)
                parts.append(types.Part(function_response=answer))
            case Call():
                raise ValueError("a user message cannot hold a function call")
    return types.Content(role="user", parts=parts)
