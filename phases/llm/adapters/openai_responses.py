"""Adapter for OpenAI's Responses API, with nothing stored there: reasoning comes encrypted and goes back unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from phases.llm.adapters.connection import Connection
from phases.llm.adapters.openai_sdk import cache_key, load_sdk, refuses_strict, strict_parameters
from phases.llm.adapters.reply_builder import (
    FLEX,
    ReplyBuilder,
    TokenCounts,
    parse_piece,
    replace_surrogates,
    whole_number,
)
from phases.llm.adapters.streams import ModelListing, Sdk, SdkServer, cut_off, finish_reply, parse_events
from phases.llm.error_classification import ReplyError, Server, bad_reply, classify_event
from phases.llm.model import FATAL, OK, REFUSED, TRUNCATED, Message, Reply, Request
from phases.llm.prices import Tariff
from phases.llm.providers import Provider
from phases.llm.reasoning import ITEM, order_blocks, reasoning_for, refuses_reasoning
from pipeline.base.formats import dump_json_line
from pipeline.base.logs import logger

_PLAIN_REFUSALS = (400, 422)
_OPTIONAL = ("service_tier", "encrypted", "effort", "prompt_cache_key")
"""Words in a refusal, and what is left out then: a model that does not reason has no encrypted reasoning."""
_SDK = Sdk("openai", load_sdk, lambda client: client.responses)


def open_adapter(provider: Provider, connection: Connection, tariff: Tariff) -> OpenAIResponses:
    return OpenAIResponses(connection, tariff)


class OpenAIResponses:
    def __init__(self, connection: Connection, tariff: Tariff) -> None:
        self._server, self._tariff, self._sdk = connection.server, tariff, SdkServer(_SDK, connection)
        self._without: frozenset[str] = frozenset()

    def ask(self, request: Request) -> Reply:
        """Ask for one reply; a field that the server refuses by name is left out of the next try."""
        while True:
            builder = ReplyBuilder(self._server, request, self._tariff)
            try:
                with self._sdk.stream(self._body(request), request.most_tokens) as pieces:
                    return read_stream(self._server, builder, pieces)
            except ReplyError as error:
                lacks = self._lacks(error)
                if lacks:
                    logger.debug("{} refused {}: asking again without it", self._server.host, lacks)
                    self._without |= {lacks}
                elif error.status in _PLAIN_REFUSALS and refuses_reasoning(error.said, request.messages):
                    request = replace(request, messages=[replace(one, reasoning={}) for one in request.messages])
                else:
                    return builder.failed(error)

    def check(self) -> ModelListing:
        """Ask for the list of models, which costs nothing."""
        return self._sdk.check()

    def _lacks(self, error: ReplyError) -> str:
        if error.outcome != FATAL or error.status not in _PLAIN_REFUSALS:
            return ""
        if "strict" not in self._without and refuses_strict(error.said):
            return "strict"
        return next((word for word in _OPTIONAL if word in error.said and word not in self._without), "")

    def _body(self, request: Request) -> dict[str, Any]:
        system = [replace_surrogates(message.text) for message in request.messages if message.role == "system"]
        body: dict[str, Any] = {
            "model": self._server.model,
            "input": [item for message in request.messages for item in _items_of(message, self._server)],
            "max_output_tokens": request.most_tokens,
            "store": False,
            "stream": True,
        }
        if system:
            body["instructions"] = "\n\n".join(system)
        if request.tools:
            body["tools"] = [self._build_tool(tool) for tool in request.tools]
        if request.schema is not None:
            shape = {"type": "json_schema", "name": "reply", "schema": dict(request.schema), "strict": False}
            body["text"] = {"format": shape}
        if "encrypted" not in self._without:
            body["include"] = ["reasoning.encrypted_content"]
        if request.effort and "effort" not in self._without:
            body["reasoning"] = {"effort": request.effort}
        if request.flex and "service_tier" not in self._without:
            body["service_tier"] = FLEX
        if "prompt_cache_key" not in self._without:
            body["prompt_cache_key"] = cache_key(request)
        return body

    def _build_tool(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        strict = None if "strict" in self._without else strict_parameters(tool["parameters"])
        return {"type": "function", **tool, "parameters": strict or tool["parameters"], "strict": bool(strict)}


def _items_of(message: Message, server: Server) -> Iterator[dict[str, Any]]:
    """Yield a message as the API's items, each part in its original position."""
    text = replace_surrogates(message.text)
    shown = [{"type": "input_image", "image_url": one.data_url} for one in message.pictures]
    content = [{"type": "input_text", "text": text}, *shown] if shown else text
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call_id, "output": content}
    elif message.role == "assistant":
        calls = [
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": replace_surrogates(dump_json_line(dict(call.arguments)).decode()),
            }
            for call in message.calls
        ]
        for block in order_blocks(text, reasoning_for(message, server), calls):
            said = {name: value for name, value in block.items() if name == "phase"}
            yield {"role": "assistant", "content": block["text"], **said} if block["type"] == "text" else block
    elif message.role == "user":
        yield {"role": "user", "content": content}


_ENDS = {"completed": OK, "max_output_tokens": TRUNCATED, "content_filter": REFUSED}


def read_stream(server: Server, builder: ReplyBuilder, pieces: Iterable[bytes]) -> Reply:
    """Read a reply from a stream. Raises ReplyError if it is cut off or invalid."""
    stream = _ItemStream(server, builder)
    for event in parse_events(server, pieces):
        said = parse_piece(server, event.data)
        kind = said.get("type", event.name)
        response = said.get("response")
        whole: Mapping[str, Any] = response if isinstance(response, dict) else {}
        if kind == "error" or kind == "response.failed":
            raise classify_event(server, said.get("error") or whole.get("error") or said)
        if kind in ("response.completed", "response.incomplete"):
            return stream.end(whole)
        stream.take(str(kind), said)
    raise cut_off(server)


class _ItemStream:
    """State of a stream: the open items, and the text of each so far."""

    def __init__(self, server: Server, builder: ReplyBuilder) -> None:
        self._server, self._builder = server, builder
        self._open: dict[int, str] = {}
        self._characters: dict[int, int] = {}

    def take(self, kind: str, said: Mapping[str, Any]) -> None:
        """Add what an event brings. Kinds that are not known are passed over."""
        place, delta = said.get("output_index"), said.get("delta")
        if kind == "response.output_item.added":
            self._begin(place, said.get("item"))
        elif kind == "response.output_item.done":
            self._end(place, said.get("item"))
        elif kind == "response.output_text.delta" and isinstance(place, int):
            self._builder.add_text(delta)
            self._characters[place] = self._characters.get(place, 0) + len(str(delta))
        elif kind == "response.refusal.delta":
            self._builder.add_refusal(delta)
        elif kind == "response.function_call_arguments.delta":
            self._builder.add_arguments(place, delta)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            self._builder.thoughts.count(delta)

    def end(self, response: Mapping[str, Any]) -> Reply:
        if self._open:
            raise bad_reply(self._server, "a reply with a part that has no end")
        self._builder.take_tier(response.get("service_tier"))
        self._builder.counted = _parse_usage(response.get("usage")) or self._builder.counted
        why = response.get("incomplete_details")
        finish = why.get("reason") if isinstance(why, dict) else response.get("status", "completed")
        return finish_reply(self._server, self._builder, str(finish), _ENDS, calling="")

    def _begin(self, place: object, item: object) -> None:
        if isinstance(place, bool) or not isinstance(place, int) or not isinstance(item, dict) or place in self._open:
            raise bad_reply(self._server, "a part of a reply without a position")
        self._open[place] = str(item.get("type"))
        if item.get("type") == "function_call":
            self._builder.begin_call(place, item.get("call_id"), item.get("name"))

    def _end(self, place: object, item: object) -> None:
        kind = self._open.pop(place, None) if isinstance(place, int) else None
        if kind is None or not isinstance(place, int) or not isinstance(item, dict):
            raise bad_reply(self._server, "the end of a part that was never started")
        thoughts = self._builder.thoughts
        if kind == ITEM:
            thoughts.add_block(item)
        elif kind == "message":
            phase = {"phase": item["phase"]} if isinstance(item.get("phase"), str) else {}
            thoughts.add_block({"type": "text", "characters": self._characters.get(place, 0), **phase})
        elif kind == "function_call":
            thoughts.add_block({"type": "tool_use"})


def _parse_usage(usage: object) -> TokenCounts | None:
    if not isinstance(usage, Mapping):
        return None
    read, spent = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    return TokenCounts(
        whole_number(usage.get("input_tokens")),
        whole_number(read.get("cached_tokens")) if isinstance(read, Mapping) else None,
        whole_number(usage.get("output_tokens")),
        (whole_number(read.get("cache_write_tokens")) or 0) if isinstance(read, Mapping) else 0,
        thought=whole_number(spent.get("reasoning_tokens")) if isinstance(spent, Mapping) else None,
    )
