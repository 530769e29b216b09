"""Build a reply while it arrives, within limits, into its final form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from phases.llm.error_classification import ReplyError, Server, bad_reply, length_limit, window_told
from phases.llm.live_words import ARGUMENTS
from phases.llm.model import EMPTY, OK, REFUSED, TRUNCATED, Message, Reply, Request, ToolCall, is_deep, tokens_of
from phases.llm.prices import Tariff, Usage
from phases.llm.providers import PROVIDERS
from phases.llm.reasoning import Thoughts
from pipeline.base.errors import FormatError
from pipeline.base.formats import dump_json_line, parse_json

FLEX = "flex"
"""The name of the cheaper tariff, in questions and in replies."""
LARGEST_REPLY = 4 * 1024 * 1024
MOST_CALLS = 500
_AT_THE_LIMIT = ("length", "max_tokens", "max_output_tokens")
_LITTLE = 5
"""An answer that is a fifth of what came, or less, has hardly begun."""
_GOOD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_GOOD_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class TokenCounts(NamedTuple):
    """Token counts by the server; None if it does not count."""

    tokens_in: int | None = None
    cached: int | None = None
    out: int | None = None
    written: int = 0
    """Part of tokens_in that was written to the provider's cache, at a higher price with some."""
    usd: float | None = None
    thought: int | None = None
    """Part of out that was spent on reasoning."""


@dataclass
class _PartialCall:
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    extra: object = None
    """Provider data that a server wants back with the call."""


class ReplyBuilder:
    """Builder of one reply from its parts."""

    def __init__(self, server: Server, request: Request, tariff: Tariff) -> None:
        self.counted = TokenCounts()
        self.thoughts = Thoughts(server, self._taken_thought, self._read_thought)
        self._server, self._request, self._tariff = server, request, tariff
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_PartialCall] = []
        self._open: dict[object, _PartialCall] = {}
        self._bytes = self._characters = self._thought_bytes = 0
        self._is_flex = False

    @property
    def text(self) -> str:
        return "".join(self._text)

    def add_text(self, piece: object) -> None:
        """Add a piece of text. Raises ReplyError if it is not text, or too much."""
        self._text.append(self._read(piece, "text"))

    def add_refusal(self, piece: object) -> None:
        """Take a piece of the provider's own field for a refusal."""
        self._refusal.append(self._read(piece, "a refusal"))

    def take_tier(self, said: object) -> None:
        """Take the tariff that a server says a reply was made at."""
        self._is_flex = said == FLEX or self._is_flex

    def begin_call(self, key: object, identifier: object, name: object) -> None:
        """Take the head of a call; `key` is how the pieces of its arguments will name it."""
        if len(self._calls) >= MOST_CALLS:
            raise bad_reply(self._server, f"more than {MOST_CALLS} calls in one reply")
        if not isinstance(name, str) or not _GOOD_NAME.fullmatch(name):
            raise bad_reply(self._server, "a tool call without a name")
        self._open[key] = _PartialCall(identifier if isinstance(identifier, str) else "", name)
        self._calls.append(self._open[key])
        self._request.on_words("the name of a call", name)

    def is_begun(self, key: object, identifier: object, name: object) -> bool:
        """Return whether this piece continues a call: one with another id and a name of its own does not."""
        known = self._open.get(key)
        return known is not None and (not name or not identifier or known.id == identifier)

    def add_arguments(self, key: object, piece: object) -> None:
        if key not in self._open:
            raise bad_reply(self._server, "arguments of a call that was never started")
        self._open[key].pieces.append(self._read(piece, ARGUMENTS))

    def add_extra(self, key: object, extra: Mapping[str, Any]) -> None:
        """Take what a server sends beside a call, and wants back with it."""
        if is_deep(extra):
            raise bad_reply(self._server, "provider data of a call that is nested too deeply")
        self._taken(dump_json_line(extra).decode(), "provider data of a call")
        self._open[key].extra = extra

    def whole(self, outcome: str, detail: str = "") -> Reply:
        """Return the reply after the end mark; `outcome` is the meaning of the server's reason for ending."""
        if outcome == REFUSED or self._refusal:
            said = self._server.quote("".join(self._refusal) or self.text)
            return self._reply(REFUSED, f"{self._server.host} refused to answer" + (f": {said}" if said else ""))
        if outcome == TRUNCATED and detail in _AT_THE_LIMIT and self._still_thought():
            cut = self._reply(TRUNCATED, f"the model was cut off while it was still thinking ({detail})")
            return replace(cut, room=self._request.most_tokens)
        if outcome == TRUNCATED:
            return self._reply(TRUNCATED, f"the reply was cut off at the limit ({detail})")
        calls = tuple(self._checked(call) for call in self._calls)
        if not calls and not self.text.strip():
            return self._reply(EMPTY, f"{self._server.host} sent a reply with nothing in it")
        reasoning = self.thoughts.whole([call.extra for call in self._calls])
        return replace(self._reply(OK, "", _number_calls(calls, self._request.messages)), reasoning=reasoning)

    def failed(self, error: ReplyError) -> Reply:
        """Return a failed reply. Earlier text is kept and counted: it may be charged."""
        charged = bool(self._bytes) or self.counted.tokens_in is not None
        reply = self._reply(error.outcome, str(error)) if charged else Reply(error.outcome, detail=str(error))
        limit = length_limit(error, self._request.most_tokens)
        return replace(reply, wait=error.wait, limit=limit, window=window_told(error))

    def _still_thought(self) -> bool:
        """Return whether no answer has begun yet."""
        spoken = self._bytes - self._thought_bytes
        hidden = (self.counted.thought or 0) * _LITTLE >= (self.counted.out or 0) * (_LITTLE - 1) > 0
        return not (self.text.strip() or self._calls) or self._thought_bytes >= spoken * _LITTLE or hidden

    def _taken_thought(self, piece: object) -> str:
        before = self._bytes
        taken = self._taken(piece, "reasoning")
        self._thought_bytes += self._bytes - before
        return taken

    def _read_thought(self, piece: object) -> str:
        taken = self._taken_thought(piece)
        self._request.on_words("reasoning", taken)
        return taken

    def _read(self, piece: object, what: str) -> str:
        taken = self._taken(piece, what)
        self._request.on_words(what, taken)
        return taken

    def _taken(self, piece: object, what: str) -> str:
        if not isinstance(piece, str):
            raise bad_reply(self._server, f"{what} of the wrong type ({type(piece).__name__})")
        self._bytes += len(piece.encode("utf-8", "replace"))
        if self._bytes > LARGEST_REPLY:
            raise bad_reply(self._server, f"a reply of more than {LARGEST_REPLY // 2**20} MiB")
        self._characters += len(piece)
        if piece:
            self._request.on_text(self._characters)
        return piece

    def _checked(self, call: _PartialCall) -> ToolCall:
        whole = "".join(call.pieces)
        try:
            arguments = parse_json(whole.encode("utf-8", "surrogatepass"), strict=False) if whole.strip() else {}
        except FormatError as error:
            raise bad_reply(self._server, f"broken arguments for {call.name} ({error})") from error
        if not isinstance(arguments, dict):
            raise bad_reply(self._server, f"arguments for {call.name} that are not a JSON object")
        if is_deep(arguments):
            raise bad_reply(self._server, f"a call of {call.name} with arguments that are nested too deeply")
        return ToolCall(call.id, call.name, arguments)

    def _reply(self, outcome: str, detail: str, calls: tuple[ToolCall, ...] = ()) -> Reply:
        counted = self.counted
        usage = Usage(
            _request_size(self._request) if counted.tokens_in is None else counted.tokens_in,
            counted.cached or 0,
            self._bytes // 3 + 1 if counted.out is None else counted.out,
            counted.written,
        )
        part = PROVIDERS[self._server.provider].flex if self._is_flex else 1.0
        usd = self._tariff.usd(usage) * part if counted.usd is None else counted.usd
        return Reply(outcome, self.text, calls, usage.tokens_in, usage.cached, usage.out, usd, detail)


def parse_piece(server: Server, data: str) -> dict[str, Any]:
    """Parse the JSON object of an event. Raises ReplyError."""
    try:
        value = parse_json(data.encode("utf-8", "surrogatepass"), strict=False)
    except FormatError as error:
        raise bad_reply(server, f"a broken piece of a reply ({error})") from error
    if not isinstance(value, dict):
        raise bad_reply(server, "a piece of a reply that is not a JSON object")
    return value


def whole_number(value: object) -> int | None:
    """Return a server's count of tokens, or None if it is invalid."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else None


def replace_surrogates(text: str) -> str:
    """Return text that can be sent: half a surrogate pair cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _request_size(request: Request) -> int:
    said = [message.text for message in request.messages]
    said += [json.dumps(dict(call.arguments), default=str) for message in request.messages for call in message.calls]
    shown = sum(picture.tokens for message in request.messages for picture in message.pictures)
    return shown + sum(map(tokens_of, [*said, json.dumps(list(map(dict, request.tools)), default=str)]))


def _number_calls(calls: Sequence[ToolCall], before: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls, each with an id that is new to the transcript: some servers send none, or the same every time."""
    taken = {call.id for message in before for call in message.calls}
    numbered = []
    for call in calls:
        identifier, number = call.id, len(taken)
        while identifier in taken or not _GOOD_ID.fullmatch(identifier):
            identifier, number = f"call-{number + 1}", number + 1
        taken.add(identifier)
        numbered.append(ToolCall(identifier, call.name, call.arguments))
    return tuple(numbered)
