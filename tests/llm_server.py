"""A model's server for tests: it speaks both wire formats, says what a script tells it to, and checks what it is asked.

    with LlmServer(Says("hello"), Says(calls=(call("Write", path="a.py", content="x = 1\\n"),))) as server:
        model = open_model("compatible:tiny", Access(base_url=server.base_url))

Each request gets the next entry of the script, or what a callable makes of the request. A transcript that a real provider would
refuse (a call without an answer, an answer without a call, an unknown role) is answered with 400 and stands in `server.faults`.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.responses_wire import RESPONSES, responses_events, responses_fault

OPENAI, ANTHROPIC = "/v1/chat/completions", "/v1/messages"
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


@dataclass(frozen=True)
class Call:
    """A call of a tool; `arguments` is sent as it stands, so it can be broken."""

    name: str
    arguments: str
    id: str | None = None
    extra: Mapping[str, Any] | None = None
    """As Gemini sends it beside a call, through chat completions."""


def call(name: str, **arguments: Any) -> Call:
    """A call with these arguments."""
    return Call(name, json.dumps(arguments))


@dataclass(frozen=True)
class Says:
    """A whole reply, streamed as the wire format wants it."""

    text: str = ""
    calls: Sequence[Call] = ()
    finish: str | None = ""
    """As OpenAI calls it; empty: what fits; None: none is sent."""
    tokens_in: int | None = 100
    """None: no usage is sent."""
    tokens_out: int = 10
    cached: int = 0
    usd: float | None = None
    piece: int = 7
    """Characters in a chunk."""
    ends: bool = True
    """Whether the end mark is sent."""
    then: Sequence[bytes] = ()
    """Bytes in place of the reason for ending and the end mark."""
    thinks: str = ""
    """reasoning_content, or the thinking of a block that is signed; before the text."""
    details: Sequence[Mapping[str, Any]] = ()
    """Pieces of OpenRouter's reasoning_details, each in a chunk of its own."""
    tier: str = ""
    """The service tier that the reply was made at, as OpenAI tells it."""
    redacted: str = ""
    """The data of a redacted_thinking block, behind the thinking one."""


@dataclass(frozen=True)
class Status:
    """An answer with a status: an error, or a page."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"


@dataclass(frozen=True)
class Raw:
    """Exactly these bytes as the body of a stream; then the connection is closed, or what `after` says happens."""

    pieces: Sequence[bytes] | Callable[[], Iterator[bytes]]
    kind: str = "text/event-stream"
    after: str = "close"
    """close, reset or hang."""


Answer = Says | Status | Raw
Script = Callable[[dict[str, Any]], Answer]


def error_body(message: str, code: str | None = None, kind: str = "invalid_request_error") -> str:
    """The body of an error as OpenAI words it; Anthropic's is near enough."""
    return json.dumps({"type": "error", "error": {"message": message, "type": kind, "code": code, "param": None}})


def always(answer: Answer) -> Script:
    """The same answer to every request."""
    return lambda request: answer


@dataclass(frozen=True)
class Asked:
    """What was asked."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class LlmServer:
    """A server that runs for as long as the block lasts."""

    def __init__(
        self,
        *script: Answer | Script,
        models: Sequence[str | Mapping[str, Any]] = ("tiny",),
        pages: Mapping[str, Any] | None = None,
    ) -> None:
        """`pages`: what it says at paths beside the API, Ollama's and llama.cpp's; 404 at all others."""
        self.script, self.models, self.pages = script, models, pages
        self.requests: list[Asked] = []
        """Every question that was asked, the checks left out."""
        self.faults: list[str] = []
        """What was wrong with the questions. A test that expects none looks here, or leaves it to the end of the block."""
        self.listings: list[Mapping[str, str]] = []
        """The headers of the requests for the list of models."""
        self.lets_go = threading.Event()
        """Ends every hang."""
        self.hangs = threading.Event()
        """Set once a client is left waiting."""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._http = _Http(("127.0.0.1", 0), _Talk)
        self._http.scene = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.lets_go.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if kind is None:
            assert self.faults == []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The address for an OpenAI-compatible provider."""
        return f"http://{self.host}/v1"

    @property
    def anthropic_url(self) -> str:
        """The address for Anthropic."""
        return f"http://{self.host}"

    @property
    def asked(self) -> int:
        """How often."""
        return len(self.requests)

    def next_answer(self, request: Asked) -> Answer:
        """What the script has for a request."""
        fault = transcript_fault(request)
        with self._lock:
            self.requests.append(request)
            place = len(self.requests) - 1
            if fault:
                self.faults.append(fault)
        if fault:
            return Status(400, error_body(fault))
        single = self.script[0] if len(self.script) == 1 else None
        if callable(single):
            return single(request.body)
        if place >= len(self.script):
            self.faults.append(f"request {place + 1}, and the script has {len(self.script)} replies")
            return Status(400, error_body("the script is over"))
        entry = self.script[place]
        return entry(request.body) if callable(entry) else entry


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    scene: LlmServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault of ours."""


class _Talk(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Says nothing."""

    def _page(self) -> bool:
        """Answers at a path beside the API."""
        if self.path.startswith("/v1"):
            return False
        pages = self.server.scene.pages or {}
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = pages.get(self.path, "")
        self._whole(Status(200 if self.path in pages else 404, body if isinstance(body, str) else json.dumps(body)))
        return True

    def do_GET(self) -> None:
        if self._page():
            return
        self.server.scene.listings.append({name.lower(): value for name, value in self.headers.items()})
        kind = {"object": "model", "type": "model"}
        models = self.server.scene.models
        rows = [
            {"id": row, "max_model_len": 32_768, **kind} if isinstance(row, str) else {**kind, **row} for row in models
        ]
        self._whole(Status(200, json.dumps({"object": "list", "data": rows, "has_more": False})))

    def do_POST(self) -> None:
        if self._page():
            return
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.scene.next_answer(Asked(self.path.partition("?")[0], headers, body))
        if isinstance(answer, Status):
            self._whole(answer)
            return
        raw = answer
        if isinstance(raw, Says):
            raw = Raw(tuple(_events_of(self.path, raw)))
        self._stream(raw)

    def _whole(self, answer: Status) -> None:
        data = answer.body.encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": answer.kind, "Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, raw: Raw) -> None:
        self.send_response(200)
        self.send_header("Content-Type", raw.kind)
        self.end_headers()  # no length: the body ends where the connection does
        try:
            for piece in raw.pieces() if callable(raw.pieces) else raw.pieces:
                self.wfile.write(piece)
                self.wfile.flush()
        except OSError:
            return
        if raw.after == "hang":
            self.server.scene.hangs.set()
            self.server.scene.lets_go.wait(60)
        elif raw.after == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


# The wire formats


def _events_of(path: str, says: Says) -> Iterator[bytes]:
    if path.startswith(RESPONSES):
        return responses_events(says)
    return anthropic_events(says) if path.startswith(ANTHROPIC) else openai_chunks(says)


def sse(value: Any, event: str = "") -> bytes:
    """One event."""
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {data}\n\n".encode()


def openai_chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "tiny", "choices": [choice], **more})


def openai_chunks(says: Says) -> Iterator[bytes]:
    """A reply as chat completions stream it."""
    yield openai_chunk({"role": "assistant", "content": None})
    for start in range(0, len(says.thinks), says.piece):
        yield openai_chunk({"reasoning_content": says.thinks[start : start + says.piece]})
    for detail in says.details:
        yield openai_chunk({"reasoning_details": [detail]})
    for start in range(0, len(says.text), says.piece):
        yield openai_chunk({"content": says.text[start : start + says.piece]})
    for place, one in enumerate(says.calls):
        head: dict[str, Any] = {"index": place, "id": _id(one, place), "type": "function"}
        if one.extra:
            head["extra_content"] = one.extra
        yield openai_chunk({"tool_calls": [{**head, "function": {"name": one.name, "arguments": ""}}]})
        for start in range(0, len(one.arguments), says.piece):
            part = {"arguments": one.arguments[start : start + says.piece]}
            yield openai_chunk({"tool_calls": [{"index": place, "function": part}]})
    if says.then:
        yield from says.then
        return
    yield openai_chunk({}, _finish(says), **({"service_tier": says.tier} if says.tier else {}))
    if says.tokens_in is not None:
        usage: dict[str, Any] = {
            "prompt_tokens": says.tokens_in,
            "completion_tokens": says.tokens_out,
            "total_tokens": says.tokens_in + says.tokens_out,
            "prompt_tokens_details": {"cached_tokens": says.cached},
        }
        if says.usd is not None:
            usage["cost"] = says.usd
        yield sse(
            {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "tiny", "choices": [], "usage": usage}
        )
    if says.ends:
        yield sse("[DONE]")


def anthropic_events(says: Says) -> Iterator[bytes]:
    """A reply as messages stream it."""
    usage = {}
    if says.tokens_in is not None:
        usage = {
            "input_tokens": says.tokens_in - says.cached,
            "cache_read_input_tokens": says.cached,
            "output_tokens": 1,
        }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "tiny", "content": [], "usage": usage}
    yield _typed("message_start", message=message)
    yield _typed("ping")
    place = 0
    if says.thinks:
        yield _typed("content_block_start", index=place, content_block={"type": "thinking", "thinking": ""})
        for start in range(0, len(says.thinks), says.piece):
            part = {"type": "thinking_delta", "thinking": says.thinks[start : start + says.piece]}
            yield _typed("content_block_delta", index=place, delta=part)
        signed = {"type": "signature_delta", "signature": signature_of(says.thinks)}
        yield _typed("content_block_delta", index=place, delta=signed)
        yield _typed("content_block_stop", index=place)
        place += 1
    if says.redacted:
        hidden = {"type": "redacted_thinking", "data": says.redacted}
        yield _typed("content_block_start", index=place, content_block=hidden)
        yield _typed("content_block_stop", index=place)
        place += 1
    if says.text:
        yield _typed("content_block_start", index=place, content_block={"type": "text", "text": ""})
        for start in range(0, len(says.text), says.piece):
            part = {"type": "text_delta", "text": says.text[start : start + says.piece]}
            yield _typed("content_block_delta", index=place, delta=part)
        yield _typed("content_block_stop", index=place)
        place += 1
    for one in says.calls:
        block = {"type": "tool_use", "id": _id(one, place), "name": one.name, "input": {}}
        yield _typed("content_block_start", index=place, content_block=block)
        for start in range(0, len(one.arguments), says.piece):
            part = {"type": "input_json_delta", "partial_json": one.arguments[start : start + says.piece]}
            yield _typed("content_block_delta", index=place, delta=part)
        yield _typed("content_block_stop", index=place)
        place += 1
    if says.then:
        yield from says.then
        return
    finish = _finish(says)
    used = {} if says.tokens_in is None else {"usage": {"output_tokens": says.tokens_out}}
    yield _typed("message_delta", delta={"stop_reason": _STOPS.get(finish, finish) if finish else None}, **used)
    if says.ends:
        yield _typed("message_stop")


def signature_of(thinking: str) -> str:
    """What a vendor signs a thinking block with."""
    return "EqQB" + hashlib.sha256(thinking.encode()).hexdigest()


def _typed(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _id(one: Call, place: int) -> str:
    return f"call_{place}" if one.id is None else one.id


def _finish(says: Says) -> str | None:
    return ("tool_calls" if says.calls else "stop") if says.finish == "" else says.finish


# What a provider would refuse


def transcript_fault(request: Asked) -> str:
    """What is wrong with a question; empty where a strict provider would take it."""
    if request.path == OPENAI:
        return _openai_fault(request.body["messages"])
    if request.path == ANTHROPIC:
        return _anthropic_fault(request.body)
    if request.path == RESPONSES:
        return responses_fault(request.body)
    return f"nothing answers at {request.path}"


def _openai_fault(messages: Sequence[Mapping[str, Any]]) -> str:
    open_calls: list[str] = []
    seen: set[str] = set()
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"{where}: the answer to a call that is not open ({message.get('tool_call_id')})"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"{where}: {message['role']} speaks, and calls are not answered: {open_calls}"
        if message["role"] not in ("system", "user", "assistant"):
            return f"{where}: the role {message['role']}"
        for one in message.get("tool_calls") or []:
            if message["role"] != "assistant" or not one.get("id") or one["id"] in seen:
                return f"{where}: a call with no id of its own, or of the wrong side"
            if not isinstance(json.loads(one["function"]["arguments"]), dict) or not one["function"]["name"]:
                return f"{where}: a call that is none"
            seen.add(one["id"])
            open_calls.append(one["id"])
        if message.get("content") is None and not message.get("tool_calls"):
            return f"{where}: nothing is said"
    return f"calls are not answered: {open_calls}" if open_calls else _last_fault([dict(row) for row in messages])


def _last_fault(messages: Sequence[Mapping[str, Any]]) -> str:
    return "" if messages and messages[-1]["role"] in ("user", "tool") else "the last message is not for the model"


def _anthropic_fault(body: Mapping[str, Any]) -> str:
    messages, open_calls, seen = body["messages"], list[str](), set[str]()
    marks = 0
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if message["role"] != ("user", "assistant")[place % 2]:
            return f"{where}: the role {message['role']} out of turn"
        for block in message["content"]:
            marks += "cache_control" in block
            if block["type"] == "tool_result":
                if block["tool_use_id"] not in open_calls:
                    return f"{where}: the answer to a call that is not open ({block['tool_use_id']})"
                open_calls.remove(block["tool_use_id"])
            elif open_calls and message["role"] == "user":
                return f"{where}: calls are not answered: {open_calls}"
            elif block["type"] == "tool_use":
                if not block["id"] or block["id"] in seen or not isinstance(block["input"], dict):
                    return f"{where}: a call with no id of its own, or no input"
                seen.add(block["id"])
            elif (block["type"] in ("thinking", "redacted_thinking") and message["role"] == "assistant") or block[
                "type"
            ] == "image":
                continue
            elif block["type"] != "text" or not block["text"].strip():
                return f"{where}: an empty text"
        if open_calls:
            return f"{where}: calls are not answered: {open_calls}"
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if not message["content"]:
            return f"{where}: nothing is said"
    marks += sum("cache_control" in block for block in body.get("system", []))
    if marks > 4:
        return f"{marks} cache marks, and 4 are allowed"
    return _last_fault(messages) if not open_calls else f"calls are not answered: {open_calls}"
