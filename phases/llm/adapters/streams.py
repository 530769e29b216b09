"""Shared code of both wire formats: requests through an SDK, streams and their ends, listings of models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from phases.llm.adapters.connection import (
    MOST_BYTES,
    NO_KEY,
    QUICK,
    Connection,
    connection_for,
    http_client,
    sdk_timeout,
    translate_errors,
)
from phases.llm.adapters.reply_builder import ReplyBuilder
from phases.llm.error_classification import ReplyError, Server, bad_reply
from phases.llm.model import EMPTY, FATAL, TRANSIENT, Reply
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json

_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens")
"""Names of the window in the listings of vLLM and SGLang, OpenRouter and many more, Groq, LM Studio and Mistral, Anthropic."""
_META_WINDOWS = ("n_ctx", "n_ctx_train")
"""Names in llama.cpp's listing: the window at start-up, else of training; its /props go before them."""
_LEAST_WINDOW, _MOST_WINDOW = 1_024, 10_000_000
_LARGEST_LISTING = 16 * 1024 * 1024
_UNREACHABLE = (0, 401, 402, 403, 407)


class Sdk(NamedTuple):
    """A vendor's package, as far as an adapter needs it."""

    name: str
    """Name of the package, and of the extra that installs it."""
    load: Callable[[], tuple[Any, Callable[..., Any]]]
    """Imports it: the package, and what makes a client."""
    replies: Callable[[Any], Any]
    """The part of a client that creates replies."""


class SdkServer:
    """One server, asked through the package of a vendor. Every question has a client of its own."""

    def __init__(self, sdk: Sdk, connection: Connection) -> None:
        self._sdk, self._connection = sdk, connection

    @contextmanager
    def stream(self, body: Mapping[str, Any], most_tokens: int) -> Iterator[Iterator[bytes]]:
        """Yield the bytes of a reply of at most so many tokens, as they come. Raises ReplyError."""
        server = self._connection.server
        with self._client(connection_for(self._connection, most_tokens)) as (package, client), ExitStack() as stack:
            with translate_errors(package, server):
                response = stack.enter_context(self._sdk.replies(client).with_streaming_response.create(**body))
            yield read_pieces(package, server, response)

    def check(self, **options: Any) -> ModelListing:
        """Ask for the list of models, which costs nothing."""
        connection = replace(self._connection, timeouts=QUICK)
        server = connection.server
        try:
            with (
                self._client(connection) as (package, client),
                translate_errors(package, server),
                client.models.with_streaming_response.list(**options) as response,
            ):
                listing = read_listing(server, response)
        except ReplyError as error:
            return judge_listing(server, error, b"")
        return judge_listing(server, None, listing)

    @contextmanager
    def _client(self, connection: Connection) -> Iterator[tuple[Any, Any]]:
        name = self._sdk.name
        try:
            package, open_client = self._sdk.load()
        except ImportError as error:
            told = f"the {name} package is not installed: pip install 'paper-pipeline[{name}]'"
            raise ReplyError(FATAL, told) from error
        with http_client(connection) as http:
            key, timeout = connection.key or NO_KEY, sdk_timeout(connection)
            # The SDK's own retries are off: they would pass by what a call may cost, and by the patience of retries.py.
            options = {"api_key": key, "base_url": connection.base_url, "max_retries": 0, "timeout": timeout}
            yield package, open_client(**options, http_client=http)


class ModelListing(NamedTuple):
    """Result of asking a server for its models."""

    reachable: bool
    detail: str
    """The server, or what is wrong with the setting and what to type."""
    window: int = 0
    """The model's window by the server; 0 if it names none."""


def read_pieces(sdk: Any, server: Server, response: Any) -> Iterator[bytes]:
    """Yield the bytes of a response's body. Raises ReplyError for a page of a website, and for an empty body.

    Faults are named in here, not around whoever reads: an error of the reader's own is none of the server's.
    """
    kind = str(response.headers.get("content-type", "")).lower()
    if "text/html" in kind:
        raise bad_reply(server, "a page of a website instead of a reply; look at base_url (it often ends in /v1)")
    size = 0
    with translate_errors(sdk, server):
        for piece in response.iter_bytes():
            size += len(piece)
            if size > MOST_BYTES:  # counted unpacked
                raise bad_reply(server, "a reply without an end")
            yield piece
    if not size:
        raise ReplyError(EMPTY, f"{server.host} sent a reply with nothing in it")


def parse_events(server: Server, pieces: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream. Raises ReplyError if it is not one."""
    try:
        yield from read_events(pieces)
    except FormatError as error:
        raise bad_reply(server, server.quote(str(error))) from error


def cut_off(server: Server) -> ReplyError:
    """Return the error of a stream that ends before its end mark."""
    return ReplyError(TRANSIENT, f"{server.host} ended its reply in the middle")


def finish_reply(
    server: Server, draft: ReplyBuilder, finish: str | None, ends: Mapping[str, str], *, calling: str
) -> Reply:
    """Return the reply of a stream that reached its end mark, by its reason for ending."""
    if finish is None:
        raise bad_reply(server, "a reply without a reason for its end")
    if finish not in ends:
        raise bad_reply(server, f"a reply that ended for a reason that is not known ({server.quote(finish)})")
    reply = draft.whole(ends[finish], finish)
    if finish == calling and reply.outcome not in ("refused", "empty") and not reply.calls:
        raise bad_reply(server, "a reply that calls tools, without a call")
    return reply


def judge_listing(server: Server, error: ReplyError | None, listing: bytes) -> ModelListing:
    """Judge by the answer to a request for models whether a server can be asked for more."""
    if error is not None:
        refused = error.status in _UNREACHABLE or error.status >= 500
        if refused or error.status in range(300, 400):
            return ModelListing(False, str(error))
        return ModelListing(True, f"{server.host} answers (it lists no models)")
    rows = _model_rows(listing)
    if rows is None:
        told = f"{server.host} answers, but not as a model's server does; look at base_url (it often ends in /v1)"
        return ModelListing(False, told)
    names = [row["id"] for row in rows]
    own = [row for row in rows if row["id"] in (server.model, f"{server.model}:latest")]
    if not names or own:
        return ModelListing(True, f"{server.host} answers", max(map(_window_of, own[:1]), default=0))
    near = get_close_matches(server.model, names, n=1)
    meant = f"; did you mean '{server.quote(near[0])}'?" if near else ""
    told = f"{server.host} answers; it does not list '{server.quote(server.model)}'{meant}"
    # A server of one model takes any name for it.
    return ModelListing(True, told, _window_of(rows[0]) if len(rows) == 1 else 0)


def read_listing(server: Server, response: Any) -> bytes:
    """Read the body of a list of models. Raises ReplyError for an endless one."""
    pieces, size = list[bytes](), 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > _LARGEST_LISTING:
            raise bad_reply(server, "a list of models without an end")
        pieces.append(piece)
    return b"".join(pieces)


def _window_of(row: Mapping[str, Any]) -> int:
    """Return a listing row's window, in any server's terms; 0 if there is no sensible number."""
    meta = row.get("meta")
    told = [row.get(name) for name in _WINDOWS] + [meta.get(n) for n in _META_WINDOWS if isinstance(meta, dict)]
    sound = (value for value in told if isinstance(value, int) and not isinstance(value, bool))
    return next((value for value in sound if _LEAST_WINDOW <= value <= _MOST_WINDOW), 0)


def _model_rows(listing: bytes) -> list[dict[str, Any]] | None:
    try:
        content = parse_json(listing)
    except FormatError:
        return None
    rows = content.get("data") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        return None
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]


DONE = "[DONE]"
LARGEST_EVENT = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELD = re.compile(r"[A-Za-z][A-Za-z_-]{0,30}(:|$)")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event; `name` is empty where the server gave none."""

    name: str
    data: str


def read_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream's bytes, however they are cut. Raises FormatError if it is not an event stream.

    An event that the stream's end cuts off is dropped, as the standard has it; only the end mark needs no empty line.
    """
    name, data, size = "", list[str](), 0
    for line in _split_lines(pieces):
        if line:
            if line.startswith(":"):
                continue
            if not _FIELD.match(line):
                raise FormatError(f"no event stream: it says {line[:80]!r}")
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
                size += len(value)
            elif field == "event":
                name = value
            if size > LARGEST_EVENT:
                raise FormatError("an event without an end")
            continue
        if data:
            yield Event(name, "\n".join(data))
        name, data, size = "", [], 0
    if data == [DONE]:
        yield Event(name, DONE)


def _split_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield lines with any line end, the last one even without an end."""
    held, size, after_return, first = list[bytes](), 0, False, True
    for piece in filter(None, pieces):
        rest = piece.removeprefix(b"\n") if after_return else piece
        after_return = rest.endswith(b"\r") if rest else False
        *whole, rest = _LINE_END.split(rest)
        for part in whole:
            line = b"".join([*held, part])
            yield _decode_line(line.removeprefix(_BOM) if first else line)
            held, size, first = [], 0, False
        if rest:
            held.append(rest)
            size += len(rest)
        if size > LARGEST_EVENT:
            raise FormatError("a line without an end")
    if held:
        line = b"".join(held)
        yield _decode_line(line.removeprefix(_BOM) if first else line, cut_off=True)


def _decode_line(line: bytes, *, cut_off: bool = False) -> str:
    try:
        return line.decode("utf-8", "ignore" if cut_off else "strict")
    except UnicodeDecodeError as error:
        raise FormatError(f"bytes that are not UTF-8 ({error.reason})") from error
