"""The adapter for every server that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from phases.llm.adapters.connection import NO_KEY, QUICK, Line, faults_named, http_client, line_for, timeout_of
from phases.llm.adapters.openai_stream import read_stream
from phases.llm.adapters.reply_builder import Draft, clean
from phases.llm.adapters.streams import Listed, check_of, listing_of, pieces_of
from phases.llm.error_classification import ReplyError, Server
from phases.llm.model import FATAL, Message, Reply, Request
from phases.llm.prices import Tariff
from phases.llm.reasoning import DETAILS, EXTRAS, TEXTS, given_back, refuses_reasoning
from pipeline.base.formats import dump_json_line

_LIMITS = ("max_tokens", "max_completion_tokens")
_PLAIN_REFUSALS = (400, 422)
_MISSED = ("reasoning_content", "thought_signature")
"""What some servers want in every turn of a model, also in one that another model spoke, or that was recorded without it."""
_NO_REASONING, _NO_SIGNATURE = " ", {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What stands in for it: the vendors take these."""
_lacking: dict[tuple[str, str], frozenset[str]] = {}
"""What servers turned out not to know, or to miss, by address and model, for as long as the process lives."""


class OpenAIChat:
    """Asks one model of one server."""

    def __init__(self, line: Line, tariff: Tariff, *, limit: str = "max_tokens", reports_cost: bool = False) -> None:
        self._line, self._tariff, self._limit, self._reports_cost = line, tariff, limit, reports_cost

    def ask(self, request: Request) -> Reply:
        """One reply. What a server does not know is left out, and it is asked again."""
        place = (self._line.base_url, self._line.server.model)
        without = _lacking.get(place, frozenset())
        while True:
            draft = Draft(self._line.server, request, self._tariff)
            try:
                with self._opened(self._body(request, without), request.most_tokens) as pieces:
                    reply = read_stream(self._line.server, draft, pieces)
            except ReplyError as error:
                if lacks := self._lacks(error, request, without):
                    without |= {lacks}
                    continue
                if error.status in _PLAIN_REFUSALS:
                    return draft.failed(error)  # what was left out was not the reason: nothing is learnt
                reply = draft.failed(error)
            if without:
                _lacking[place] = without
            return reply

    def check(self) -> Listed:
        """Asks for the list of models, which costs nothing."""
        line = replace(self._line, waits=QUICK)
        try:
            with _client(line) as (sdk, client), faults_named(sdk, line.server):
                listed: Any = client.models.with_streaming_response.list()
                with listed as response:
                    listing = listing_of(line.server, response)
        except ReplyError as error:
            return check_of(line.server, error, b"")
        return check_of(line.server, None, listing)

    @contextmanager
    def _opened(self, body: dict[str, Any], most_tokens: int) -> Iterator[Iterator[bytes]]:
        server = self._line.server
        with _client(line_for(self._line, most_tokens)) as (sdk, client), ExitStack() as stack:
            create: Any = client.chat.completions.with_streaming_response.create
            with faults_named(sdk, server):
                response = stack.enter_context(create(**body))
            yield pieces_of(sdk, server, response)

    def _body(self, request: Request, without: frozenset[str]) -> dict[str, Any]:
        limit = self._limit if "limit" not in without else next(name for name in _LIMITS if name != self._limit)
        body: dict[str, Any] = {
            "model": self._line.server.model,
            "messages": [_message(message, self._line.server, without) for message in request.messages],
            "stream": True,
            limit: request.most_tokens,
        }
        if "stream_options" not in without:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(tool)} for tool in request.tools]
        if request.schema is not None and "schema" not in without:
            shape = {"name": "reply", "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        if self._reports_cost:
            body["extra_body"] = {"usage": {"include": True}}
        return body

    def _lacks(self, error: ReplyError, request: Request, without: frozenset[str]) -> str:
        """What to leave out of the next try, by the words that a server refused this one with; empty: nothing."""
        if error.outcome != FATAL or error.status not in _PLAIN_REFUSALS:
            return ""
        if self._limit in error.said and "limit" not in without:
            return "limit"
        if "stream_options" in error.said and "stream_options" not in without:
            return "stream_options"
        for name in _MISSED:
            if name in error.said and name not in without:
                return name
        if "reasoning" not in without and refuses_reasoning(error.said, request.messages):
            return "reasoning"
        return "schema" if request.schema is not None and "schema" not in without else ""


@contextmanager
def _client(line: Line) -> Iterator[tuple[Any, Any]]:
    """The SDK and a client of it, for one question."""
    try:
        import openai
    except ImportError as error:
        raise ReplyError(FATAL, "the openai package is not installed: pip install 'paper-pipeline[openai]'") from error
    with http_client(line) as connection:
        yield (
            openai,
            openai.OpenAI(
                api_key=line.key or NO_KEY,
                base_url=line.base_url,
                max_retries=0,
                timeout=timeout_of(line),
                http_client=connection,
            ),
        )


def _message(message: Message, server: Server, without: frozenset[str]) -> Mapping[str, Any]:
    text = clean(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": text}
    reasoning = {} if "reasoning" in without else given_back(message, server)
    said: dict[str, Any] = {"role": message.role, "content": text, **_thought(reasoning)}
    if message.role == "assistant" and "reasoning_content" in without and "reasoning" not in without:
        said.setdefault("reasoning_content", _NO_REASONING)
    if not message.calls:
        return said
    calls: list[dict[str, Any]] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": clean(dump_json_line(dict(call.arguments)).decode())},
        }
        for call in message.calls
    ]
    extras = reasoning.get(EXTRAS) or ([_NO_SIGNATURE] if "thought_signature" in without else [])
    for body, extra in zip(calls, extras, strict=False):
        body.update({"extra_content": extra} if extra else {})
    return {**said, "content": text or None, "tool_calls": calls}


def _thought(reasoning: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a server sent its reasoning in; of OpenRouter the list, which says all that its text says."""
    found = {name: reasoning[name] for name in (*TEXTS, DETAILS) if name in reasoning}
    return {name: value for name, value in found.items() if name != "reasoning" or DETAILS not in found}
