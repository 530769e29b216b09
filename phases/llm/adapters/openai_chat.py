"""The adapter for every server that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from phases.llm.adapters.streams import DONE, ModelListing, Sdk, SdkServer, cut_off, finish_reply, parse_events
from phases.llm.error_classification import ReplyError, Server, bad_reply, classify_event
from phases.llm.model import FATAL, OK, REFUSED, TRUNCATED, Message, Reply, Request, ToolCall
from phases.llm.pictures import Picture
from phases.llm.prices import Tariff
from phases.llm.providers import Provider
from phases.llm.reasoning import DETAILS, EXTRAS, TEXTS, reasoning_for, refuses_reasoning
from pipeline.base.formats import dump_json_line
from pipeline.base.logs import logger

_LIMITS = ("max_tokens", "max_completion_tokens")
_PLAIN_REFUSALS = (400, 422)
_MISSED = ("reasoning_content", "thought_signature")
"""Fields that some servers require in every turn of a model, also in one of another model or recorded without it."""
_OPTIONAL = ("service_tier", "effort", "prompt_cache_key", "cache_control")
_ROUTER, _MOST_MARKS = "openrouter", 3
_NO_REASONING, _NO_SIGNATURE = " ", {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Placeholders for those fields, which the vendors accept."""
_lacking: dict[tuple[str, str], frozenset[str]] = {}
"""Features that servers rejected or required, by address and model, for the life of the process."""


def open_adapter(provider: Provider, connection: Connection, tariff: Tariff) -> OpenAIChat:
    return OpenAIChat(provider, connection, tariff)


# decision 40: the vendor's package makes the connection alone; it takes a stream without its end for whole.
_SDK = Sdk("openai", load_sdk, lambda client: client.chat.completions)


class OpenAIChat:
    def __init__(self, provider: Provider, connection: Connection, tariff: Tariff) -> None:
        self._server, self._tariff, self._limit = connection.server, tariff, provider.limit
        self._provider = provider.name
        self._reports_cost, self._place = provider.reports_cost, (connection.base_url, connection.server.model)
        self._sdk = SdkServer(_SDK, connection)

    def ask(self, request: Request) -> Reply:
        """Ask for one reply; a feature that the server does not know is left out of the next try."""
        without = _lacking.get(self._place, frozenset())
        while True:
            builder = ReplyBuilder(self._server, request, self._tariff)
            try:
                with self._sdk.stream(self._body(request, without), request.most_tokens) as pieces:
                    reply = read_stream(self._server, builder, pieces)
            except ReplyError as error:
                if lacks := self._lacks(error, request, without):
                    logger.debug("{} refused {}: asking again without it", self._server.host, lacks)
                    without |= {lacks}
                    continue
                if error.status in _PLAIN_REFUSALS:
                    return builder.failed(error)  # what was left out was not the reason: nothing is learnt
                reply = builder.failed(error)
            if without:
                _lacking[self._place] = without
            return reply

    def check(self) -> ModelListing:
        """Ask for the list of models, which costs nothing."""
        return self._sdk.check()

    def _body(self, request: Request, without: frozenset[str]) -> dict[str, Any]:
        limit = self._limit if "limit" not in without else next(name for name in _LIMITS if name != self._limit)
        body: dict[str, Any] = {
            "model": self._server.model,
            "messages": self._messages(request, without),
            "stream": True,
            limit: request.most_tokens,
        }
        if "stream_options" not in without:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            is_strict = self._provider == "openai" and "strict" not in without
            body["tools"] = [{"type": "function", "function": _build_tool(tool, is_strict)} for tool in request.tools]
        if request.schema is not None and "schema" not in without:
            shape = {"name": "reply", "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        if self._provider == "openai" and "prompt_cache_key" not in without:
            body["prompt_cache_key"] = cache_key(request)
        if request.flex and "service_tier" not in without:
            body["service_tier"] = FLEX
        own: dict[str, Any] = {"usage": {"include": True}} if self._reports_cost else {}
        if request.effort and "effort" not in without:
            # OpenRouter has a word of its own, which it translates for each vendor.
            own |= {"reasoning": {"effort": request.effort}} if self._provider == _ROUTER else {}
            body |= {} if self._provider == _ROUTER else {"reasoning_effort": request.effort}
        return body | ({"extra_body": own} if own else {})

    def _messages(self, request: Request, without: frozenset[str]) -> list[Mapping[str, Any]]:
        messages = [_build_message(message, self._server, without) for message in request.messages]
        shown = _pictures_of_tools(request.messages)
        # Through OpenRouter Claude's cache wants the marks that it wants of anybody.
        if self._provider == _ROUTER and self._server.model.startswith("anthropic/") and "cache_control" not in without:
            system = [place for place, message in enumerate(request.messages[:1]) if message.role == "system"]
            for place in [*system, *list(request.lasting)[:_MOST_MARKS]]:
                messages[place] = _marked(messages[place])
        return [one for place, message in enumerate(messages) for one in (message, *shown.get(place, ()))]

    def _lacks(self, error: ReplyError, request: Request, without: frozenset[str]) -> str:
        """Return the feature to leave out of the next try, by the server's refusal; empty for none."""
        if error.outcome != FATAL or error.status not in _PLAIN_REFUSALS:
            return ""
        if self._limit in error.said and "limit" not in without:
            return "limit"
        if request.tools and "strict" not in without and self._provider == "openai" and refuses_strict(error.said):
            return "strict"
        for name in _OPTIONAL:
            if name in error.said and name not in without:
                return name
        if "stream_options" in error.said and "stream_options" not in without:
            return "stream_options"
        for name in _MISSED:
            if name in error.said and name not in without:
                return name
        if "reasoning" not in without and refuses_reasoning(error.said, request.messages):
            return "reasoning"
        return "schema" if request.schema is not None and "schema" not in without else ""


def _build_tool(tool: Mapping[str, Any], is_strict: bool) -> dict[str, Any]:
    strict = strict_parameters(tool["parameters"]) if is_strict else None
    return {**tool, "parameters": strict, "strict": True} if strict else dict(tool)


def _build_message(message: Message, server: Server, without: frozenset[str]) -> Mapping[str, Any]:
    text = replace_surrogates(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": text}
    if message.pictures:
        return {
            "role": message.role,
            "content": [{"type": "text", "text": text}, *map(_build_picture, message.pictures)],
        }
    reasoning = {} if "reasoning" in without else reasoning_for(message, server)
    said: dict[str, Any] = {"role": message.role, "content": text, **_reasoning_fields(reasoning)}
    if message.role == "assistant" and "reasoning_content" in without and "reasoning" not in without:
        said.setdefault("reasoning_content", _NO_REASONING)
    if not message.calls:
        return said
    calls = [_build_call(call) for call in message.calls]
    extras = reasoning.get(EXTRAS) or ([_NO_SIGNATURE] if "thought_signature" in without else [])
    for body, extra in zip(calls, extras, strict=False):
        body.update({"extra_content": extra} if extra else {})
    return {**said, "content": text or None, "tool_calls": calls}


def _build_picture(picture: Picture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": picture.data_url}}


def _pictures_of_tools(messages: Sequence[Message]) -> dict[int, list[dict[str, Any]]]:
    """Return pictures of tools as messages of the user, by the positions of the messages that they follow.

    An answer to a call is text in this format, and the answers to one reply may have nothing between them.
    """
    shown: dict[int, list[dict[str, Any]]] = {}
    waiting: list[dict[str, Any]] = []
    for place, message in enumerate(messages):
        if message.role == "tool" and message.pictures:
            waiting += [{"type": "text", "text": f"What the call {message.call_id} shows:"}]
            waiting += map(_build_picture, message.pictures)
        if waiting and (place + 1 == len(messages) or messages[place + 1].role != "tool"):
            shown[place], waiting = [{"role": "user", "content": waiting}], []
    return shown


def _marked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message with a cache mark at its end, if it has a text to carry it."""
    text = message["content"]
    if not text:
        return message
    *parts, last = text if isinstance(text, list) else [{"type": "text", "text": text}]
    return {**message, "content": [*parts, {**last, "cache_control": {"type": "ephemeral"}}]}


def _build_call(call: ToolCall) -> dict[str, Any]:
    arguments = replace_surrogates(dump_json_line(dict(call.arguments)).decode())
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _reasoning_fields(reasoning: Mapping[str, Any]) -> dict[str, Any]:
    """Return the server's reasoning fields; of OpenRouter the list, which contains all of its text."""
    found = {name: reasoning[name] for name in (*TEXTS, DETAILS) if name in reasoning}
    return {name: value for name, value in found.items() if name != "reasoning" or DETAILS not in found}


_ENDS = {"stop": OK, "tool_calls": OK, "length": TRUNCATED, "max_tokens": TRUNCATED, "content_filter": REFUSED}


def read_stream(server: Server, builder: ReplyBuilder, pieces: Iterable[bytes]) -> Reply:
    """Read a reply from a stream. Raises ReplyError if it is cut off or invalid."""
    finish: str | None = None
    for event in parse_events(server, pieces):
        if event.data.strip() == DONE:
            return finish_reply(server, builder, finish, _ENDS, calling="tool_calls")
        chunk = parse_piece(server, event.data)
        if event.name == "error" or chunk.get("error"):
            raise classify_event(server, chunk.get("error") or chunk)
        builder.take_tier(chunk.get("service_tier"))
        builder.counted = _parse_usage(chunk.get("usage")) or builder.counted
        finish = _take_choices(server, builder, chunk.get("choices", [])) or finish
    raise cut_off(server)


def _take_choices(server: Server, builder: ReplyBuilder, choices: object) -> str | None:
    """Add what a chunk brings, and return its reason for ending."""
    if choices is None or choices == []:
        return None  # the chunk with the usage
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise bad_reply(server, "choices that are not a list of objects")
    if len(choices) > 1 or choices[0].get("index", 0) not in (0, None):
        raise bad_reply(server, "a second choice, although one was requested")
    delta = choices[0].get("delta") or {}
    if not isinstance(delta, dict):
        raise bad_reply(server, "a piece of a reply of the wrong type")
    if delta.get("content") is not None:
        builder.add_text(delta["content"])
    for name in TEXTS:
        if delta.get(name) is not None:
            builder.thoughts.add_text(name, delta[name])
    if delta.get(DETAILS) is not None:
        builder.thoughts.add_details(delta[DETAILS])
    if delta.get("refusal") is not None:
        builder.add_refusal(delta["refusal"])
    calls = delta.get("tool_calls") or []
    if not isinstance(calls, list):
        raise bad_reply(server, "tool calls of the wrong type")
    for place, call in enumerate(calls):
        _take_call(server, builder, call, place)
    finish = choices[0].get("finish_reason")
    if finish is not None and not isinstance(finish, str):
        raise bad_reply(server, "a reason for ending of the wrong type")
    return finish or None


def _take_call(server: Server, builder: ReplyBuilder, call: object, place: int) -> None:
    function: Any = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise bad_reply(server, "a tool call of the wrong type")
    key, identifier, name = call.get("index", place), call.get("id"), function.get("name")
    if isinstance(key, bool) or not isinstance(key, int):
        raise bad_reply(server, "a tool call without its index")
    # Some servers give every call the place 0, and tell them apart by id alone.
    if not builder.is_begun(key, identifier, name):
        builder.begin_call(key, identifier, name)
    if function.get("arguments") is not None:
        builder.add_arguments(key, function["arguments"])
    if isinstance(call.get("extra_content"), dict):
        builder.add_extra(key, call["extra_content"])


def _parse_usage(usage: object) -> TokenCounts | None:
    if not isinstance(usage, Mapping):
        return None
    told = usage.get("prompt_tokens_details")
    details: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    spent = usage.get("completion_tokens_details")
    return TokenCounts(
        whole_number(usage.get("prompt_tokens")),
        whole_number(details.get("cached_tokens")),
        whole_number(usage.get("completion_tokens")),
        whole_number(details.get("cache_write_tokens")) or 0,
        usd=_cost_of(usage),
        thought=whole_number(spent.get("reasoning_tokens")) if isinstance(spent, Mapping) else None,
    )


def _cost_of(usage: Mapping[str, Any]) -> float | None:
    """Return a reply's cost by its server; with the user's own key at OpenRouter, plus what that key's owner paid."""
    more = usage.get("cost_details") if usage.get("is_byok") is True else None
    amounts = [usage.get("cost"), more.get("upstream_inference_cost") if isinstance(more, Mapping) else None]
    told = [
        float(one) for one in amounts if isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < 1e6
    ]
    return sum(told) if told else None
