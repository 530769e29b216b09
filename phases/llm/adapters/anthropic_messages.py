"""The adapter for Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from phases.llm.adapters.anthropic_stream import read_stream
from phases.llm.adapters.connection import QUICK, Line, faults_named, http_client, line_for, timeout_of
from phases.llm.adapters.reply_builder import Draft, clean
from phases.llm.adapters.streams import Listed, check_of, listing_of, pieces_of
from phases.llm.error_classification import ReplyError, Server
from phases.llm.model import FATAL, Message, Reply, Request
from phases.llm.prices import Tariff
from phases.llm.reasoning import given_back, in_their_order, refuses_reasoning

_KEEP = {"type": "ephemeral"}
"""Marks where the part of a request ends that the provider may keep in its cache. Four marks are allowed; the system has one."""
_MOST_KEPT = 3
_REFUSED = 400
_NOTHING = "(nothing)"
"""In place of an empty text, which the provider refuses."""


class AnthropicMessages:
    """Asks one model of one server."""

    def __init__(self, line: Line, tariff: Tariff) -> None:
        self._line, self._tariff = line, tariff

    def ask(self, request: Request) -> Reply:
        """One reply. The schema is left out: the caller checks what comes back either way."""
        draft = Draft(self._line.server, request, self._tariff)
        try:
            with self._opened(_body(self._line.server, request), request.most_tokens) as pieces:
                return read_stream(self._line.server, draft, pieces)
        except ReplyError as error:
            if error.status == _REFUSED and refuses_reasoning(error.said, request.messages):
                plain = [replace(message, reasoning={}) for message in request.messages]
                return self.ask(replace(request, messages=plain))
            return draft.failed(error)

    def check(self) -> Listed:
        """Asks for the list of models, which costs nothing."""
        line = replace(self._line, waits=QUICK)
        try:
            with _client(line) as (sdk, client), faults_named(sdk, line.server):
                listed: Any = client.models.with_streaming_response.list(limit=1000)
                with listed as response:
                    listing = listing_of(line.server, response)
        except ReplyError as error:
            return check_of(line.server, error, b"")
        return check_of(line.server, None, listing)

    @contextmanager
    def _opened(self, body: dict[str, Any], most_tokens: int) -> Iterator[Iterator[bytes]]:
        server = self._line.server
        with _client(line_for(self._line, most_tokens)) as (sdk, client), ExitStack() as stack:
            create: Any = client.messages.with_streaming_response.create
            with faults_named(sdk, server):
                response = stack.enter_context(create(**body))
            yield pieces_of(sdk, server, response)


@contextmanager
def _client(line: Line) -> Iterator[tuple[Any, Any]]:
    """The SDK and a client of it, for one question."""
    try:
        import anthropic
    except ImportError as error:
        raise ReplyError(
            FATAL, "the anthropic package is not installed: pip install 'paper-pipeline[anthropic]'"
        ) from error
    with http_client(line) as connection:
        yield (
            anthropic,
            anthropic.Anthropic(
                api_key=line.key,
                base_url=line.base_url,
                max_retries=0,
                timeout=timeout_of(line),
                http_client=connection,
                open_telemetry=False,
            ),
        )


def _body(server: Server, request: Request) -> dict[str, Any]:
    system = [message.text for message in request.messages if message.role == "system"]
    messages, lasting = _messages(request, server)
    body: dict[str, Any] = {
        "model": server.model,
        "max_tokens": request.most_tokens,
        "messages": messages,
        "stream": True,
    }
    if any(text.strip() for text in system):
        body["system"] = [{"type": "text", "text": clean("\n\n".join(system)), "cache_control": _KEEP}]
    if request.tools:
        body["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": dict(tool["parameters"])}
            for tool in request.tools
        ]
    for block in lasting or [message["content"][-1] for message in messages[:1] + messages[-1:]]:
        block["cache_control"] = _KEEP
    return body


def _messages(request: Request, server: Server) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The transcript as turns of user and assistant: what belongs to one side in a row is one message. And the blocks to keep."""
    messages: list[dict[str, Any]] = []
    lasting: list[dict[str, Any]] = []
    for place, message in enumerate(request.messages):
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        messages[-1]["content"] += _blocks(message, server)
        if place in request.lasting:
            lasting.append(messages[-1]["content"][-1])
    return messages, lasting[:_MOST_KEPT]


def _blocks(message: Message, server: Server) -> list[dict[str, Any]]:
    text = clean(message.text)
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": text}]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in message.calls
    ]
    said = [*in_their_order(text, given_back(message, server), calls)]
    return said or [{"type": "text", "text": _NOTHING}]
