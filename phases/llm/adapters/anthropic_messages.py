"""The adapter for Anthropic's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from phases.llm.adapters.connection import Connection
from phases.llm.adapters.reply_builder import ReplyBuilder, TokenCounts, parse_piece, replace_surrogates, whole_number
from phases.llm.adapters.streams import ModelListing, Sdk, SdkServer, cut_off, finish_reply, parse_events
from phases.llm.error_classification import ReplyError, Server, bad_reply, classify_event
from phases.llm.model import OK, REFUSED, TRUNCATED, Message, Reply, Request
from phases.llm.prices import Tariff
from phases.llm.providers import Provider
from phases.llm.reasoning import order_blocks, reasoning_for, refuses_reasoning
from pipeline.base.errors import FormatError
from pipeline.base.formats import dump_json_line
from pipeline.base.logs import logger

_KEEP = {"type": "ephemeral"}
"""Marks where the part of a request ends that the provider may keep in its cache. Four marks are allowed; the system has one."""
_MOST_KEPT = 3
_REFUSED = 400
_EFFORT_WORDS = ("effort", "output_config", "adaptive", "budget_tokens", "thinking.type", "expected `thinking`")
_BUDGETS = {"low": 4_096, "medium": 12_288, "high": 24_576}
_LEAST_BUDGET = 1_024
_EAGER = "eager_input_streaming"
_NOTHING = "(nothing)"
"""Placeholder for an empty text, which the provider refuses."""


def open_adapter(provider: Provider, connection: Connection, tariff: Tariff) -> AnthropicMessages:
    return AnthropicMessages(connection, tariff)


def _load_sdk() -> tuple[Any, Callable[..., Any]]:
    import anthropic  # late: it takes half a second, and an extra installs it

    return anthropic, partial(anthropic.Anthropic, open_telemetry=False)


# decision 40: the vendor's package makes the connection alone; it takes a stream without its end for whole.
_SDK = Sdk("anthropic", _load_sdk, lambda client: client.messages)


class AnthropicMessages:
    def __init__(self, connection: Connection, tariff: Tariff) -> None:
        self._server, self._tariff, self._sdk = connection.server, tariff, SdkServer(_SDK, connection)
        self._eager = True
        """True if the arguments of a call may be streamed before they are whole: else a long file is a long silence."""

    def ask(self, request: Request) -> Reply:
        """Ask for one reply. The schema is left out: the caller checks the reply either way."""
        builder = ReplyBuilder(self._server, request, self._tariff)
        try:
            body = _build_body(self._server, request, eager=self._eager) | _thinking_for(request, self._tariff)
            with self._sdk.stream(body, request.most_tokens) as pieces:
                return read_stream(self._server, builder, pieces)
        except ReplyError as error:
            if error.status == _REFUSED and self._eager and _EAGER in error.said:
                self._eager = False
                return self.ask(request)
            if error.status == _REFUSED and request.effort and any(word in error.said for word in _EFFORT_WORDS):
                logger.debug("{} refused the effort {}: asking without it", self._server.host, request.effort)
                return self.ask(replace(request, effort=""))
            if error.status == _REFUSED and refuses_reasoning(error.said, request.messages):
                plain = [replace(message, reasoning={}) for message in request.messages]
                return self.ask(replace(request, messages=plain))
            return builder.failed(error)

    def check(self) -> ModelListing:
        """Ask for the list of models, which costs nothing."""
        return self._sdk.check(limit=1000)


def _build_body(server: Server, request: Request, *, eager: bool) -> dict[str, Any]:
    system = [message.text for message in request.messages if message.role == "system"]
    messages, lasting = _build_messages(request, server)
    body: dict[str, Any] = {
        "model": server.model,
        "max_tokens": request.most_tokens,
        "messages": messages,
        "stream": True,
    }
    if any(text.strip() for text in system):
        body["system"] = [{"type": "text", "text": replace_surrogates("\n\n".join(system)), "cache_control": _KEEP}]
    if request.tools:
        body["tools"] = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": dict(tool["parameters"]),
                **({_EAGER: True} if eager else {}),
            }
            for tool in request.tools
        ]
    for block in lasting or [message["content"][-1] for message in messages[:1] + messages[-1:]]:
        block["cache_control"] = _KEEP
    return body


def _thinking_for(request: Request, facts: Tariff) -> dict[str, Any]:
    """Return the thinking setting in the model's terms: newer models take an effort, older ones a budget."""
    if not request.effort:
        return {}
    if request.effort == "none":
        return {"thinking": {"type": "disabled"}}
    if "e" in facts.marks:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": request.effort}}
    budget = min(_BUDGETS[request.effort], request.most_tokens // 2)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _LEAST_BUDGET else {}


# decision 134: a mark stands up to where later questions will be the same.
def _build_messages(request: Request, server: Server) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the transcript as turns of user and assistant, consecutive parts of one side merged, and the blocks to keep."""
    messages: list[dict[str, Any]] = []
    lasting: list[dict[str, Any]] = []
    for place, message in enumerate(request.messages):
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        messages[-1]["content"] += _content_blocks(message, server)
        if place in request.lasting:
            lasting.append(messages[-1]["content"][-1])
    return messages, lasting[:_MOST_KEPT]


def _content_blocks(message: Message, server: Server) -> list[dict[str, Any]]:
    text = replace_surrogates(message.text)
    shown = [
        {"type": "image", "source": {"type": "base64", "media_type": one.media, "data": one.base64}}
        for one in message.pictures
    ]
    if message.role == "tool":
        content = [{"type": "text", "text": text or _NOTHING}, *shown] if shown else text
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": content}]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in message.calls
    ]
    said = [*order_blocks(text, reasoning_for(message, server), calls), *shown]
    return said or [{"type": "text", "text": _NOTHING}]


_ENDS = {
    "end_turn": OK,
    "tool_use": OK,
    "stop_sequence": OK,
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "refusal": REFUSED,
}


def read_stream(server: Server, builder: ReplyBuilder, pieces: Iterable[bytes]) -> Reply:
    """Read a reply from a stream. Raises ReplyError if it is cut off or invalid."""
    stream = _MessageStream(server, builder)
    for event in parse_events(server, pieces):
        said = parse_piece(server, event.data)
        kind = said.get("type", event.name)
        if kind == "error" or event.name == "error":
            raise classify_event(server, said.get("error") or said)
        if kind == "message_stop":
            return stream.end()
        stream.take(kind, said)
    raise cut_off(server)


class _MessageStream:
    """The state of a stream: its blocks, and why it ended."""

    def __init__(self, server: Server, builder: ReplyBuilder) -> None:
        self._server, self._builder = server, builder
        self._finish: str | None = None
        self._begun = False
        self._blocks: dict[object, str] = {}
        """The kinds of the blocks that are open."""

    def take(self, kind: object, said: Mapping[str, Any]) -> None:
        """Add what an event brings. Kinds that are not known are passed over, as the format wants it."""
        if kind == "message_start":
            if self._begun:
                raise bad_reply(self._server, "a second message, although one was requested")
            self._begun = True
            self._count(_as_mapping(said.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._start(said.get("index"), _as_mapping(said.get("content_block")))
        elif kind == "content_block_delta":
            self._add(said.get("index"), _as_mapping(said.get("delta")))
        elif kind == "content_block_stop":
            self._end(said.get("index"))
        elif kind == "message_delta":
            reason = _as_mapping(said.get("delta")).get("stop_reason")
            if reason is not None and not isinstance(reason, str):
                raise bad_reply(self._server, "a reason for ending of the wrong type")
            self._finish = reason or self._finish
            self._count(said.get("usage"))

    def end(self) -> Reply:
        if self._blocks:
            raise bad_reply(self._server, "a reply with a part that has no end")
        return finish_reply(self._server, self._builder, self._finish, _ENDS, calling="tool_use")

    def _start(self, index: object, block: Mapping[str, Any]) -> None:
        if not isinstance(index, int) or index in self._blocks:
            raise bad_reply(self._server, "a part of a reply without a position")
        self._blocks[index] = str(block.get("type"))
        self._builder.thoughts.begin_block(index, block)
        if block.get("type") == "text" and block.get("text"):
            self._builder.add_text(block["text"])
            self._builder.thoughts.add_to_block(index, {"type": "text_delta", "text": block["text"]})
        elif block.get("type") == "tool_use":
            self._builder.begin_call(index, block.get("id"), block.get("name"))
            if block.get("input"):  # the whole of it at once
                self._builder.add_arguments(index, self._written(block["input"]))

    def _written(self, value: object) -> str:
        try:
            return dump_json_line(value).decode()
        except FormatError as error:
            raise bad_reply(self._server, "a call with arguments that are nested too deeply") from error

    def _add(self, index: object, delta: Mapping[str, Any]) -> None:
        if not isinstance(index, int) or index not in self._blocks:
            raise bad_reply(self._server, "a piece of a part that was never started")
        if delta.get("type") == "text_delta":
            self._builder.add_text(delta.get("text"))
        elif delta.get("type") == "input_json_delta":
            self._builder.add_arguments(index, delta.get("partial_json"))
        self._builder.thoughts.add_to_block(index, delta)

    def _end(self, index: object) -> None:
        if self._blocks.pop(index, None) is not None and isinstance(index, int):
            self._builder.thoughts.end_block(index)

    def _count(self, usage: object) -> None:
        """Record the usage in this event: the request's tokens come first, the reply's last."""
        told, counted = {name: whole_number(value) for name, value in _as_mapping(usage).items()}, self._builder.counted
        read, written = told.get("cache_read_input_tokens") or 0, told.get("cache_creation_input_tokens") or 0
        if (plain := told.get("input_tokens")) is not None:
            counted = TokenCounts(plain + read + written, read, counted.out, written)
        if (out := told.get("output_tokens")) is not None:
            counted = counted._replace(out=out)
        self._builder.counted = counted


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
