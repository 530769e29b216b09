"""The adapters to real models: what a server does wrong never becomes content, on both wire formats."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from phases.llm.adapters import openai_chat, streams
from phases.llm.adapters.connection import Timeouts, read_certificates
from phases.llm.factory import open_model
from phases.llm.model import AssumesWindow, Message, Model, Reply, Request, ToolCall, reply_from_json, reply_to_json
from phases.llm.providers import PROVIDERS, Access, Provider
from phases.llm.server_model import Timing, open_server_model
from pipeline.base.errors import PhaseError
from tests.llm_server import (
    Answer,
    Call,
    LlmServer,
    Raw,
    Says,
    Script,
    Status,
    always,
    anthropic_events,
    call,
    error_body,
    openai_chunk,
    openai_chunks,
    sse,
)
from tests.papers import HANGS
from tests.responses_wire import responses_events
from tests.web import sends, serving

pytest.importorskip("openai", reason="the openai package is not installed")
pytest.importorskip("anthropic", reason="the anthropic package is not installed")

KEY = "sk-test-0123456789-0123456789"
ASK = Request((Message("system", "Be brief."), Message("user", "hello")))
WIRES = ("openai", "anthropic", "responses")
on_two_wires = pytest.mark.parametrize("wire", WIRES[:2])
"""What is worded in the terms of these two."""
WRITE = {
    "name": "Write",
    "description": "Write a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next test's server may have this one's port."""
    monkeypatch.setattr(openai_chat, "_lacking", {})


class Waiting:
    """Sleeps by counting."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def model_of(
    server: LlmServer | str, wire: str, *, timeouts: Timeouts | None = None, key: str = KEY
) -> tuple[Model, Waiting]:
    """A model at this server, and the waits that it would have made."""
    sleep = Waiting()
    url = server if isinstance(server, str) else server.anthropic_url if wire == "anthropic" else server.base_url
    timing, access = Timing(sleep, lambda: 1.0), access_to(url, wire, key)
    vendor = vendor_of(wire)
    return open_server_model(f"{vendor.name}:tiny", vendor, access, timeouts=timeouts, timing=timing), sleep


def vendor_of(wire: str) -> Provider:
    """Who speaks on a wire; the Responses API is OpenAI's."""
    return PROVIDERS["openai" if wire == "responses" else wire]


def access_to(url: str, wire: str, key: str = KEY, **more: Any) -> Access:
    """Settings with that key for this provider, and no other."""
    variable = vendor_of(wire).key_variable
    api = "responses" if wire == "responses" else ""
    return Access(url, "" if variable else key, {variable: key} if variable else {}, openai_api=api, **more)


def asked(wire: str, *script: Answer | Script, request: Request = ASK, timeouts: Timeouts | None = None) -> Reply:
    """What comes of one question."""
    with LlmServer(*script) as server:
        return model_of(server, wire, timeouts=timeouts)[0].ask(request)


# What goes well


def test_text_comes_whole_with_what_it_used(wire: str) -> None:
    reply = asked(wire, Says("héllo 🌍 " * 50, tokens_in=120, cached=20, tokens_out=30, piece=3))
    assert (reply.outcome, reply.text) == ("ok", "héllo 🌍 " * 50)
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (120, 20, 30)


def test_calls_come_whole_with_text_beside_them(wire: str) -> None:
    reply = asked(wire, Says("I write.", (call("Write", path="a.py", content="x = 'ü'\n"), call("Read", path="b"))))
    assert (reply.outcome, reply.text) == ("ok", "I write.")
    assert [(one.name, one.arguments) for one in reply.calls] == [
        ("Write", {"path": "a.py", "content": "x = 'ü'\n"}),
        ("Read", {"path": "b"}),
    ]


@pytest.mark.parametrize(
    "content",
    ["x = 1\ny = 2\n", "if x:\n\treturn 1\n", "a\r\nb\r\n", "a\\nb"],
    ids=["line breaks", "tabs", "Windows line breaks", "an escape beside them"],
)
def test_arguments_with_raw_line_breaks_and_tabs_in_their_texts_are_read(content: str, wire: str) -> None:
    raw = '{"path": "a.py", "content": "' + content + '"}'
    reply = asked(wire, Says(calls=(Call("Write", raw),)))
    assert (reply.outcome, reply.detail) == ("ok", "")
    assert reply.calls[0].arguments == {"path": "a.py", "content": content.replace("\\n", "\n")}
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


def test_a_tab_in_an_event_itself_is_read() -> None:
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "a\tb"}, "finish_reason": "stop"}]}\n\n'
    assert asked("openai", always(Raw([event, sse("[DONE]")]))).text == "a\tb"


def test_arguments_that_are_cut_off_in_a_text_are_of_no_use_all_the_same(wire: str) -> None:
    reply = asked(wire, Says(calls=(Call("Write", '{"content": "x\ny'),)))
    assert (reply.outcome, reply.calls) == ("malformed", ())


def test_a_call_without_arguments_has_none(wire: str) -> None:
    assert asked(wire, Says(calls=(Call("List", ""),))).calls[0].arguments == {}


@on_two_wires
def test_progress_is_told_while_a_reply_arrives(wire: str) -> None:
    told: list[int] = []
    asked(wire, Says("abcdefgh", piece=3), request=Request(ASK.messages, on_text=told.append))
    assert told == [3, 6, 8]


def test_an_error_of_the_one_who_watches_is_not_taken_for_the_servers(wire: str) -> None:
    def gone(characters: int) -> None:
        raise BrokenPipeError("the terminal is gone")

    with LlmServer(Says("abc")) as server, pytest.raises(BrokenPipeError, match="the terminal is gone"):
        model_of(server, wire)[0].ask(Request(ASK.messages, on_text=gone))


@on_two_wires
def test_a_long_transcript_is_sent_as_the_provider_wants_it(wire: str) -> None:
    messages = (
        Message("system", "Be brief."),
        Message("user", "hello"),
        Message("assistant", "", (ToolCall("a-1", "Write", {"path": "ü"}), ToolCall("a-2", "Write", {}))),
        Message("tool", "done", call_id="a-1"),
        Message("tool", "", call_id="a-2"),
        Message("user", "go on"),
        Message("assistant", "text \ud800", (ToolCall("a-3", "Write", {"deep": {"x": [1, None]}}),)),
        Message("tool", "half a pair \udfff", call_id="a-3"),
    )
    with LlmServer(Says("ok")) as server:
        assert model_of(server, wire)[0].ask(Request(messages, tools=(WRITE,), most_tokens=77)).outcome == "ok"
        body = server.requests[0].body
    assert body["stream"] is True
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert "parallel_tool_calls" not in body
    assert len(body["tools"]) == 1


def test_messages_of_one_side_in_a_row_are_one_turn_for_anthropic() -> None:
    calls = (ToolCall("a-1", "Write", {"path": "a"}), ToolCall("a-2", "Write", {}))
    messages = (
        Message("user", "one"),
        Message("user", "two"),
        Message("assistant", "", calls),
        Message("tool", "done", call_id="a-1"),
        Message("tool", "done", call_id="a-2"),
        Message("user", "three"),
        Message("user", ""),
    )
    with LlmServer(Says("ok")) as server:
        assert model_of(server, "anthropic")[0].ask(Request(messages)).outcome == "ok"
        turns = server.requests[0].body["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["text"] for block in turns[0]["content"]] == ["one", "two"]
    assert [block["type"] for block in turns[1]["content"]] == ["tool_use", "tool_use"]
    assert [block["type"] for block in turns[2]["content"]] == ["tool_result", "tool_result", "text", "text"]


@on_two_wires
@pytest.mark.parametrize("text", ["", " \n"], ids=["nothing", "blanks"])
def test_calls_without_a_word_beside_them_can_be_sent(text: str, wire: str) -> None:
    said = Message("assistant", text, (ToolCall("a-1", "Write", {"path": "a"}),))
    with LlmServer(Says("ok")) as server:
        request = Request((*ASK.messages, Message("user", "and"), said, Message("tool", "", call_id="a-1")))
        assert model_of(server, wire)[0].ask(request).outcome == "ok"
        sent = next(row for row in server.requests[0].body["messages"] if row["role"] == "assistant")
    if wire == "anthropic":
        assert [block["type"] for block in sent["content"]] == ["tool_use"]
    else:
        assert not (sent["content"] or "").strip()
        assert sent["tool_calls"][0]["function"] == {"name": "Write", "arguments": '{"path": "a"}'}


def test_the_stable_start_of_a_request_is_marked_for_the_cache() -> None:
    messages = (*ASK.messages, Message("assistant", "yes"), Message("user", "and?"))
    with LlmServer(Says("ok")) as server:
        model_of(server, "anthropic")[0].ask(Request(messages))
        body = server.requests[0].body
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    marked = ["cache_control" in message["content"][-1] for message in body["messages"]]
    assert marked == [True, False, True]


def test_what_later_questions_share_is_marked_for_the_cache_block_by_block() -> None:
    texts = ("the plan", "an interface", "another", "the file at hand")
    turn = (Message("assistant", "I look", (ToolCall("a-1", "Read", {}),)), Message("tool", "said", call_id="a-1"))
    messages = (ASK.messages[0], *(Message("user", text) for text in texts), *turn, Message("user", "this once"))
    with LlmServer(always(Says("ok"))) as server:
        model = model_of(server, "anthropic")[0]
        model.ask(Request(messages, lasting=(1, 3, 6)))
        model.ask(Request(messages, lasting=(1, 2, 3, 4, 6)))  # four marks are allowed, the system's among them
        marked = [
            [block.get("text", block.get("content")) for message in asked.body["messages"] for block in message["content"]
             if "cache_control" in block] for asked in server.requests
        ]  # fmt: skip
    assert marked == [["the plan", "another", "said"], ["the plan", "an interface", "another"]]


def test_a_reply_without_usage_is_estimated(wire: str) -> None:
    reply = asked(wire, Says("some words", tokens_in=None))
    assert reply.tokens_in > 3
    assert reply.tokens_out > 3


PRICES = {f"{vendor_of(wire).name}:tiny": {"in": 3, "cached": 0.3, "out": 15} for wire in WIRES}


def priced(server: LlmServer, wire: str) -> Model:
    url = server.anthropic_url if wire == "anthropic" else server.base_url
    return open_server_model(f"{vendor_of(wire).name}:tiny", vendor_of(wire), access_to(url, wire, prices=PRICES))


@on_two_wires
def test_what_a_call_costs_is_told_by_the_price_table(wire: str) -> None:
    with LlmServer(Says("hi", tokens_in=1_000_000, cached=400_000, tokens_out=100_000)) as server:
        assert priced(server, wire).ask(ASK).usd == pytest.approx(0.6 * 3 + 0.4 * 0.3 + 0.1 * 15)


def test_what_was_put_into_the_cache_costs_a_quarter_more() -> None:
    usage = {"input_tokens": 100_000, "cache_creation_input_tokens": 900_000, "output_tokens": 1}
    events = list(anthropic_events(Says("hi", tokens_out=0)))
    events[0] = sse({"type": "message_start", "message": {"usage": usage}}, "message_start")
    with LlmServer(Raw(events)) as server:
        reply = priced(server, "anthropic").ask(ASK)
    assert (reply.tokens_in, reply.tokens_cached) == (1_000_000, 0)
    assert reply.usd == pytest.approx(0.1 * 3 + 0.9 * 3 * 1.25)
    details = {"cached_tokens": 0, "cache_write_tokens": 900_000}
    told = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "prompt_tokens_details": details}
    good = list(openai_chunks(Says("hi", tokens_in=None)))
    with LlmServer(Raw([*good[:-1], sse({"choices": [], "usage": told}), good[-1]])) as server:
        assert priced(server, "openai").ask(ASK).usd == reply.usd


def test_what_the_provider_says_a_call_cost_goes_before_the_table() -> None:
    with LlmServer(always(Says("hi", usd=0.25))) as server:
        access = access_to(server.base_url, "openrouter")
        model = open_server_model("openrouter:openai/gpt-5", PROVIDERS["openrouter"], access)
        assert model.ask(ASK).usd == 0.25
        assert server.requests[0].body["usage"] == {"include": True}
        unlisted = open_server_model("openrouter:some/new-one", PROVIDERS["openrouter"], access)
        assert (unlisted.priced, unlisted.reports_cost, unlisted.ask(ASK).usd) == (False, True, 0.25)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 0.01),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 0.01),
        ({"cost": 0.01, "is_byok": True, "cost_details": "many"}, 0.01),
    ],
    ids=["own key", "no own key", "nothing said", "nonsense"],
)
def test_a_call_with_a_key_of_ones_own_costs_what_that_key_pays_too(usage: dict[str, Any], usd: float) -> None:
    good = list(openai_chunks(Says("hi", tokens_in=None)))
    with LlmServer(Raw([*good[:-1], sse({"choices": [], "usage": usage}), good[-1]])) as server:
        model = open_server_model("openrouter:a/b", PROVIDERS["openrouter"], access_to(server.base_url, "openrouter"))
        assert model.ask(ASK).usd == pytest.approx(usd)


def test_calls_without_an_id_of_their_own_get_one(wire: str) -> None:
    before = (Message("assistant", "", (ToolCall("call_0", "Write", {}),)), Message("tool", "x", call_id="call_0"))
    calls = (
        Call("Write", "{}", "call_0"),
        Call("Write", "{}", ""),
        Call("Write", "{}", "same"),
        Call("Write", "{}", "same"),
    )
    reply = asked(wire, Says(calls=calls), request=Request((*ASK.messages, *before)))
    names = [one.id for one in reply.calls]
    assert len({*names, "call_0"}) == 5
    assert all(names)
    assert names[2] == "same"


def test_calls_that_share_a_place_are_told_apart_by_their_ids() -> None:
    def head(identifier: str, path: str) -> dict[str, Any]:
        return {"index": 0, "id": identifier, "function": {"name": "Write", "arguments": json.dumps({"path": path})}}

    chunks = [openai_chunk({"tool_calls": [head("x", "a"), head("y", "b")]}), openai_chunk({}, "stop"), sse("[DONE]")]
    reply = asked("openai", Raw(chunks))
    assert [one.arguments["path"] for one in reply.calls] == ["a", "b"]


# What goes wrong in a stream

TEXT = "This is half of a reply"


def chunks(wire: str, says: Says) -> bytes:
    return b"".join({"openai": openai_chunks, "anthropic": anthropic_events, "responses": responses_events}[wire](says))


def recut(change: Callable[[bytes], Sequence[bytes]], says: Says | None = None) -> Callable[[str], Answer]:
    """The bytes of a good reply, sent in another way."""
    return lambda wire: Raw(change(chunks(wire, says or Says("ein Gruß 🌍", piece=99))))


GOOD = {
    "a byte order mark first": recut(lambda data: [b"\xef\xbb\xbf" + data]),
    "every byte by itself": recut(lambda data: [data[at : at + 1] for at in range(len(data))]),
    "all at once": recut(lambda data: [data]),
    "lines that end as on Windows": recut(lambda data: [data.replace(b"\n", b"\r\n")]),
    "lines that end as on an old Mac": recut(lambda data: [data.replace(b"\n", b"\r")]),
    "Windows line ends cut in two": recut(lambda data: [bytes([byte]) for byte in data.replace(b"\n", b"\r\n")]),
    "comments between the events": recut(lambda data: [b": working\n\n" + data.replace(b"\n\n", b"\n\n: still\n\n")]),
    "nothing after the end mark": recut(lambda data: [data.rstrip(b"\n") + b"\n\n"]),
    "more after the end mark": recut(lambda data: [data, b"data: {broken\n\n"]),
    "no space after the colon": recut(lambda data: [data.replace(b"data: ", b"data:")]),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_stream_is_read_however_it_is_cut(name: str, wire: str) -> None:
    reply = asked(wire, GOOD[name](wire))
    assert (reply.outcome, reply.text) == ("ok", "ein Gruß 🌍"), reply.detail


def start(wire: str) -> bytes:
    """A stream that has said TEXT and is not over."""
    return chunks(wire, Says(TEXT, then=[b": more\n\n"]))


def then(*pieces: bytes, after: str = "close") -> Callable[[str], Answer]:
    return lambda wire: Raw([start(wire), *pieces], after=after)


def says(text: str = TEXT, **how: Any) -> Callable[[str], Answer]:
    return lambda wire: Says(text, **how)


def two(wire: str) -> Answer:
    if wire == "openai":
        choice = {"index": 1, "delta": {"content": "other"}, "finish_reason": None}
        return Raw([start(wire), sse({"choices": [choice]})])
    if wire == "responses":
        item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}
        return Raw([start(wire), *[sse(item, "response.output_item.added")] * 2])
    return Raw([start(wire), sse({"type": "message_start", "message": {}}, "message_start")])


def mid_error(message: str, kind: str) -> Callable[[str], Answer]:
    return then(sse({"type": "error", "error": {"type": kind, "message": message}}, "error"))


STREAMS: Mapping[str, tuple[Callable[[str], Answer], str, bool]] = {
    "a clean close without the end mark": (says(ends=False), "transient", True),
    "a close in the middle": (then(), "transient", True),
    "a close in the middle of an event": (then(b'data: {"cho'), "transient", True),
    "a reset": (then(after="reset"), "transient", True),
    "a broken piece": (then(b'data: {"choices": [}\n\n'), "malformed", True),
    "a piece that is no object": (then(b"data: 7\n\n"), "malformed", True),
    "a piece with the same key twice": (then(b'data: {"a": 1, "a": 2}\n\n'), "malformed", True),
    "bytes that are not UTF-8": (then(b"data: \xff\xfe\n\n"), "malformed", True),
    "a page in the middle": (then(b"<html>502</html>\n\n"), "malformed", True),
    "an error after text": (mid_error("Overloaded", "overloaded_error"), "unavailable", True),
    "an error that the request is too long": (mid_error("prompt is too long: 9 tokens", "invalid"), "overflow", True),
    "an error about the rate": (mid_error("slow down", "rate_limit_error"), "rate_limited", True),
    "two replies at once": (two, "malformed", True),
    "cut off at the limit": (says(finish="length"), "truncated", True),
    "a filter": (says(finish="content_filter"), "refused", True),
    "an end that nobody knows": (says(finish="because"), "malformed", True),
    "an end without a reason": (says(finish=None), "malformed", True),
    "calls that do not come": (says(finish="tool_calls"), "malformed", True),
    "no text at all": (says(""), "empty", False),
    "blanks alone": (says(" \n\t "), "empty", False),
    "a reply over 4 MiB": (lambda wire: says("x" * (4 * 2**20 + 1), piece=2**20)(wire), "malformed", False),
    "arguments over 4 MiB": (
        lambda wire: says(calls=(Call("Write", json.dumps({"content": "x" * 5 * 2**20})),), piece=2**20)(wire),
        "malformed",
        True,
    ),
    "half of the arguments": (says(calls=(Call("Write", '{"path": "a'),)), "malformed", True),
    "arguments and a word after them": (says(calls=(Call("Write", '{"path": "a"} ok'),)), "malformed", True),
    "arguments that are a list": (says(calls=(Call("Write", "[1]"),)), "malformed", True),
    "arguments with a key twice": (says(calls=(Call("Write", '{"a": 1, "a": 2}'),)), "malformed", True),
    "arguments with NaN": (says(calls=(Call("Write", '{"a": NaN}'),)), "malformed", True),
    "a tool call without a name": (says(calls=(Call("", "{}"),)), "malformed", True),
    "a name that is a line": (says(calls=(Call("a\nb", "{}"),)), "malformed", True),
    "501 calls": (says(calls=(Call("Write", "{}"),) * 501), "malformed", True),
    "an empty body": (lambda wire: Raw([]), "empty", False),
    "a page of a website": (lambda wire: Raw([b"<!DOCTYPE html><p>hi"], kind="text/html"), "malformed", False),
    "a page called a stream": (lambda wire: Raw([b"<!DOCTYPE html><p>hi</p>"]), "malformed", False),
    "plain JSON": (lambda wire: Raw([b'{"choices": []}'], kind="application/json"), "malformed", False),
    "end marks and nothing else": (
        lambda wire: Raw([sse("[DONE]") if wire == "openai" else sse({"type": "message_stop"}, "message_stop")]),
        "malformed",
        False,
    ),
}


NOT_IN_RESPONSES = (
    "an end that nobody knows",
    "an end without a reason",
    "calls that do not come",
    "end marks and nothing else",
)
"""There the last event has the whole end in it."""


@pytest.mark.parametrize(
    ("name", "wire"),
    [(name, wire) for name in STREAMS for wire in WIRES if wire != "responses" or name not in NOT_IN_RESPONSES],
)
def test_what_a_stream_does_wrong_has_its_outcome(name: str, wire: str) -> None:
    fault, outcome, keeps_text = STREAMS[name]
    with LlmServer(always(fault(wire))) as server:
        reply = model_of(server, wire)[0].ask(ASK)
        host = server.host
    assert reply.outcome == outcome, reply.detail
    assert reply.calls == ()
    assert (TEXT in reply.text) is keeps_text
    assert "\n" not in reply.detail
    assert host in reply.detail or outcome == "truncated", reply.detail


@pytest.mark.parametrize(
    ("piece", "outcome"),
    [
        pytest.param({"choices": [{"index": 0, "delta": {"refusal": "I will not."}}]}, "refused", id="a refusal"),
        pytest.param({"choices": [{"index": 0, "delta": {"content": ["a"]}}]}, "malformed", id="text of another type"),
        pytest.param({"choices": [{"index": 0, "delta": 3}]}, "malformed", id="a delta of another type"),
        pytest.param({"choices": "no"}, "malformed", id="choices of another type"),
        pytest.param({"choices": [{"delta": {}}, {"delta": {}}]}, "malformed", id="two choices in one piece"),
        pytest.param({"choices": [{"delta": {"tool_calls": [{}]}}]}, "malformed", id="a call that is nothing"),
        pytest.param({"choices": [{"delta": {"tool_calls": 1}}]}, "malformed", id="calls of another type"),
        pytest.param({"choices": [{"finish_reason": 7}]}, "malformed", id="a reason of another type"),
        pytest.param({"error": {"code": 502, "message": "upstream"}}, "unavailable", id="an error in a piece"),
        pytest.param({"error": {"code": "insufficient_quota", "message": "pay"}}, "fatal", id="no credit in a piece"),
        pytest.param({"choices": []}, "ok", id="no choices"),
        pytest.param({"choices": None, "usage": None}, "ok", id="nothing for choices"),
        pytest.param({"choices": [{"index": 0, "delta": None}]}, "ok", id="nothing for a delta"),
        pytest.param(
            {"choices": [{"delta": {"content": None}}], "usage": {"prompt_tokens": -1}}, "ok", id="nonsense for usage"
        ),
    ],
)
def test_an_odd_piece_of_a_chat_completion_has_its_outcome(piece: dict[str, Any], outcome: str) -> None:
    good = list(openai_chunks(Says("fine", tokens_in=None)))
    reply = asked("openai", always(Raw([good[0], sse(piece), *good[1:]])))
    assert reply.outcome == outcome, reply.detail


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        pytest.param([{"type": "content_block_delta", "index": 9, "delta": {}}], "malformed", id="a piece of no part"),
        pytest.param([{"type": "content_block_start", "index": None}], "malformed", id="a part without a place"),
        pytest.param([{"type": "content_block_start", "index": 9, "content_block": {"type": "text"}}], "malformed",
                     id="a part without an end"),
        pytest.param([{"type": "message_delta", "delta": {"stop_reason": 1}}], "malformed", id="a reason of another type"),
        pytest.param([{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}], "malformed", id="a pause"),
        pytest.param([{"type": "something_new", "index": 9}], "ok", id="a kind that is new"),
        pytest.param([{"type": "content_block_start", "index": 5, "content_block": {"type": "thinking"}},
                      {"type": "content_block_delta", "index": 5, "delta": {"type": "thinking_delta", "thinking": "hm"}},
                      {"type": "content_block_stop", "index": 5}], "ok", id="thoughts"),
    ],
)  # fmt: skip
def test_an_odd_event_of_a_message_has_its_outcome(events: list[dict[str, Any]], outcome: str) -> None:
    good = list(anthropic_events(Says("fine")))
    odd = [sse(event, event["type"]) for event in events]
    ending = good[-1:] if outcome == "malformed" and "stop_reason" in str(events) else good[-2:]
    reply = asked("anthropic", Raw([*good[:-2], *odd, *ending]))
    assert reply.outcome == outcome, reply.detail
    assert outcome != "ok" or reply.text == "fine"


def test_a_part_that_comes_whole_is_taken_whole() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"path": "a"}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    reply = asked("anthropic", Raw([sse(event, str(event["type"])) for event in events]))
    assert (reply.outcome, reply.text, reply.calls) == ("ok", "hi", (ToolCall("t1", "Write", {"path": "a"}),))


def test_a_server_that_falls_silent_is_not_waited_for(wire: str) -> None:
    with LlmServer(always(Raw([start(wire)], after="hang"))) as server:
        model, _ = model_of(server, wire, timeouts=Timeouts(silence=0.2))
        reply = model.ask(ASK)
        assert server.hangs.is_set()
        server.lets_go.set()
    assert (reply.outcome, reply.text) == ("transient", TEXT)
    assert "fell silent" in reply.detail
    assert "asked 4 times" in reply.detail


def test_a_server_that_never_begins_is_not_waited_for(wire: str) -> None:
    over = threading.Event()

    def nothing(connection: socket.socket) -> None:
        over.wait(HANGS)

    with serving(nothing) as silent:
        reply = model_of(f"{silent.base}/v1", wire, timeouts=Timeouts(first=0.2))[0].ask(ASK)
        over.set()
    assert reply.outcome == "transient"
    assert "fell silent" in reply.detail


def test_a_reply_that_takes_for_ever_is_given_up(wire: str) -> None:
    reply = asked(wire, always(Raw([start(wire), *[b": wait\n\n"] * 50])), timeouts=Timeouts(whole=0.0))
    assert reply.outcome == "transient"
    assert "took longer than 0 seconds" in reply.detail


def nested(levels: int) -> str:
    """The arguments of a call, with so many objects in one another."""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


@pytest.mark.parametrize("levels", [65, 600, 5_000, 200_000])
def test_arguments_that_are_nested_too_deeply_are_of_no_use(levels: int, wire: str) -> None:
    with LlmServer(always(Says(calls=(Call("Write", nested(levels)),), tokens_in=9, piece=10**6))) as server:
        reply = model_of(server, wire)[0].ask(ASK)
    assert (reply.outcome, reply.calls, reply.tokens_in) == ("malformed", (), 9)
    assert "nested too deeply" in reply.detail


def test_arguments_may_be_nested_as_deep_as_the_limit(wire: str) -> None:
    reply = asked(wire, Says(calls=(Call("Write", nested(64)),), piece=10**6))
    assert (reply.outcome, json.dumps(dict(reply.calls[0].arguments)).count("{")) == ("ok", 64)


@pytest.mark.parametrize("levels", [65, 600, 200_000])
def test_a_part_that_comes_whole_and_is_nested_too_deeply_is_of_no_use(levels: int) -> None:
    block = f'{{"type": "tool_use", "id": "t1", "name": "Write", "input": {nested(levels)}}}'
    start = f'{{"type": "content_block_start", "index": 0, "content_block": {block}}}'
    events = (
        sse({"type": "message_start", "message": {}}, "message_start"),
        sse(start, "content_block_start"),
        sse({"type": "content_block_stop", "index": 0}, "content_block_stop"),
        sse({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, "message_delta"),
        sse({"type": "message_stop"}, "message_stop"),
    )
    reply = asked("anthropic", always(Raw(events)))
    assert (reply.outcome, reply.calls) == ("malformed", ())
    assert "nested too deeply" in reply.detail


# What goes wrong with a status

OVERFLOWS = [
    (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"),
    (400, "the request exceeds the available context size, try increasing it"),
    (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, "input length and `max_tokens` exceed context limit: Your input exceeds the context window"),
    (413, "Request exceeds the maximum size"),
    (422, "Please reduce the length of the messages or completion."),
    (500, "the request exceeds the available context size"),
]


@pytest.mark.parametrize(("status", "words"), OVERFLOWS)
def test_a_request_that_is_too_long_is_an_overflow(status: int, words: str, wire: str) -> None:
    with LlmServer(always(Status(status, error_body(words)))) as server:
        reply = model_of(server, wire)[0].ask(ASK)
        assert server.asked == 1
    assert (reply.outcome, reply.wait) == ("overflow", None)
    assert "too long for tiny" in reply.detail


@pytest.mark.parametrize("status", [408, 409, 425, 500, 501, 507])
def test_a_server_in_trouble_is_asked_four_times(status: int, wire: str) -> None:
    with LlmServer(always(Status(status, "<html>bad gateway</html>", kind="text/html"))) as server:
        model, sleep = model_of(server, wire)
        reply = model.ask(ASK)
        assert server.asked == 4
        assert f"{server.host} answered {status}" in reply.detail
    assert reply.outcome == "transient"
    assert sleep.waits == [1.0, 2.0, 4.0]


FATAL = {
    "a wrong key": (401, error_body(f"Incorrect API key provided: {KEY}"), "look at the key in {variable}"),
    "a key without the right": (403, error_body("no"), "look at the key in {variable}"),
    "a model that is not there": (404, error_body("no such model"), "is 'tiny' a model there? see: pipeline models"),
    "no credit": (402, error_body("pay"), "the account has no credit left"),
    "a quota that is used up": (429, error_body("You exceeded", "insufficient_quota"), "no credit left"),
    "a balance that is too low": (400, error_body("Your credit balance is too low"), "no credit left"),
    "a request that it does not understand": (400, error_body("what?"), "see: pipeline models"),
    "a request that it will not work on": (422, '{"detail": "nope"}', "nope; see: pipeline models"),
    "a redirect": (307, "", "set base_url to the place itself"),
}


@pytest.mark.parametrize("name", FATAL)
def test_what_another_try_would_not_mend_is_not_tried_again(name: str, wire: str) -> None:
    status, body, told = FATAL[name]
    with LlmServer(
        Status(status, body, {"Location": "http://127.0.0.1:9/elsewhere"} if status == 307 else {})
    ) as server:
        model, sleep = model_of(server, wire)
        reply = model.ask(ASK)
        assert server.asked == 1
        assert f"{server.host} answered {status}" in reply.detail
    assert reply.outcome == "fatal"
    assert told.format(variable=vendor_of(wire).key_variable) in reply.detail
    assert KEY not in reply.detail
    assert sleep.waits == []


def test_words_of_a_server_are_cut_and_hold_no_part_of_the_key_and_drive_no_terminal(wire: str) -> None:
    for before in (270, 285, 299):
        reply = asked(wire, Status(400, error_body("x" * before + KEY + "\x1b[2J\n\n" + "y" * 9000)))
        assert len(reply.detail) < 450
        assert KEY[:9] not in reply.detail
        assert reply.detail.isprintable()


LATER = "a date in two hours"
"""Stands for one that is made when the test runs."""
RETRY_AFTER: Mapping[str, tuple[Mapping[str, str], float | None, int]] = {
    "a fraction": ({"Retry-After": "0.2"}, 0.2, 2),
    "two minutes": ({"Retry-After": "120"}, 120.0, 1),
    "an hour": ({"Retry-After": "3600"}, 3600.0, 1),
    "a date": ({"Retry-After": LATER}, 7200.0, 1),
    "a date that is over": ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 2),
    "garbage": ({"Retry-After": "soon"}, None, 2),
    "less than nothing": ({"Retry-After": "-5"}, None, 2),
    "not a number": ({"Retry-After": "nan"}, None, 2),
    "for ever": ({"Retry-After": "inf"}, None, 2),
    "a date that is none": ({"Retry-After": "Mon, 99 Foo 99999 99:99:99"}, None, 2),
    "milliseconds": ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25, 2),
    "nothing": ({}, None, 2),
}


@pytest.mark.parametrize("name", RETRY_AFTER)
def test_a_busy_server_is_left_alone_as_long_as_it_says(name: str, wire: str) -> None:
    headers, told, tries = RETRY_AFTER[name]
    in_two_hours = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    headers = {key: in_two_hours if value == LATER else value for key, value in headers.items()}
    busy = Status(429, error_body("slow down", "rate_limit_exceeded"), headers)
    with LlmServer(busy, Says("at last")) as server:
        model, sleep = model_of(server, wire)
        reply = model.ask(ASK)
        assert server.asked == tries
    if tries == 1:
        assert reply.outcome == "rate_limited"
        assert reply.wait is not None
        assert told is not None
        assert abs(reply.wait - told) < 60
        assert sleep.waits == []
    else:
        assert (reply.outcome, reply.text) == ("ok", "at last")
        assert sleep.waits == [1.0] if told is None else sleep.waits[0] >= told


@pytest.mark.parametrize(
    "told", ["59", *(pytest.param(told, marks=pytest.mark.slow) for told in ("0", "0.2", "7", ""))]
)
def test_a_server_that_is_busy_for_ever_is_given_up_after_five_minutes(told: str, wire: str) -> None:
    busy = Status(429, error_body("slow down"), {"Retry-After": told} if told else {})
    with LlmServer(always(busy)) as server:
        model, sleep = model_of(server, wire)
        reply = model.ask(ASK)
        assert server.asked < 50
    assert reply.outcome == "rate_limited"
    assert 200 < sum(sleep.waits) <= 300


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (503, ""),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in ((504, ""), (500, "overloaded_error"))),
        (529, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("told", ["7", pytest.param("", marks=pytest.mark.slow)])
def test_a_server_that_is_down_is_waited_for_like_one_that_is_busy(
    status: int, kind: str, told: str, wire: str
) -> None:
    down = Status(status, error_body("Overloaded", kind=kind), {"Retry-After": told} if told else {})
    with LlmServer(*[down] * 7, Says("well again")) as server:
        model, sleep = model_of(server, wire)
        assert model.ask(ASK).text == "well again"
        assert min(sleep.waits) >= (7 if told else 1)
    with LlmServer(always(down)) as server:
        model, sleep = model_of(server, wire)
        assert model.ask(ASK).outcome == "unavailable"
        assert server.asked < 50
    assert 200 < sum(sleep.waits) <= 300


@pytest.mark.parametrize("status", [503, 529])
def test_a_server_that_is_down_for_long_is_not_waited_for(status: int, wire: str) -> None:
    with LlmServer(Status(status, error_body("maintenance"), {"Retry-After": "600"})) as server:
        model, sleep = model_of(server, wire)
        reply = model.ask(ASK)
    assert (reply.outcome, reply.wait, sleep.waits) == ("unavailable", 600.0, [])


@pytest.mark.slow
def test_a_lost_connection_is_waited_for_once_the_server_answered_this_task(wire: str) -> None:
    told: list[str] = []
    known = Request(ASK.messages, answered_before=True, on_wait=lambda seconds, why: told.append(why))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    for address in (gone, "http://nowhere.invalid/v1"):
        model, sleep = model_of(address, wire)
        assert model.ask(known).outcome == "transient"
        assert 200 < sum(sleep.waits) <= 300
        assert len(told) == len(sleep.waits)
        assert address.split("/")[2] in told.pop()
        told.clear()


def test_replies_that_break_off_are_paid_for_and_so_tried_four_times_only(wire: str) -> None:
    with LlmServer(always(Says("half of it", ends=False))) as server:
        model, sleep = model_of(server, wire)
        assert model.ask(Request(ASK.messages, answered_before=True)).outcome == "transient"
        assert (server.asked, len(sleep.waits)) == (4, 3)


def test_an_empty_reply_is_asked_for_twice_more(wire: str) -> None:
    with LlmServer(always(Says(""))) as server:
        assert model_of(server, wire)[0].ask(ASK).outcome == "empty"
        assert server.asked == 3


@pytest.mark.parametrize("finish", ["length", "content_filter", "because"])
def test_a_reply_that_is_no_content_is_not_asked_for_again(finish: str, wire: str) -> None:
    with LlmServer(always(Says("half", finish=finish))) as server:
        model_of(server, wire)[0].ask(ASK)
        assert server.asked == 1


@on_two_wires
def test_what_failed_tries_cost_is_counted(wire: str) -> None:
    failed = Says("half", ends=False, tokens_in=100, tokens_out=10)
    reply = asked(wire, failed, failed, Says("whole", tokens_in=100, tokens_out=10))
    assert (reply.outcome, reply.text) == ("ok", "whole")
    assert (reply.tokens_in, reply.tokens_out) == (300, 30)


# What a server does not know


def test_a_server_that_knows_no_schema_is_asked_once_more_without_and_it_is_remembered() -> None:
    request = Request(ASK.messages, schema={"type": "object"})
    refusal = Status(400, error_body("response_format is not supported"))
    with LlmServer(refusal, Says("{}"), Says("{}")) as server:
        model, _ = model_of(server, "openai")
        assert model.ask(request).text == "{}"
        assert model_of(server, "openai")[0].ask(request).text == "{}"
        assert ["response_format" in one.body for one in server.requests] == [True, False, False]


def test_a_request_that_is_refused_either_way_teaches_nothing() -> None:
    request = Request(ASK.messages, schema={"type": "object"})
    refusal = Status(400, error_body("what?"))
    with LlmServer(refusal, refusal, Says("{}")) as server:
        model, _ = model_of(server, "openai")
        assert model.ask(request).outcome == "fatal"
        assert model.ask(request).outcome == "ok"
        assert ["response_format" in one.body for one in server.requests] == [True, False, True]


def test_the_schema_reaches_the_server() -> None:
    with LlmServer(Says("{}")) as server:
        model_of(server, "openai")[0].ask(Request(ASK.messages, schema={"type": "object"}))
        assert server.requests[0].body["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(("provider", "first", "second"), [
    pytest.param("openai", "max_completion_tokens", "max_tokens", id="openai"),
    pytest.param("compatible", "max_tokens", "max_completion_tokens", id="another"),
])  # fmt: skip
def test_a_server_that_knows_the_limit_by_its_other_name_is_told_that(provider: str, first: str, second: str) -> None:
    refusal = Status(400, error_body(f"Unsupported parameter: '{first}'. Use '{second}' instead."))
    with LlmServer(refusal, Says("a"), Says("b")) as server:
        model, _ = model_of(server, provider)
        assert [model.ask(ASK).text, model.ask(ASK).text] == ["a", "b"]
        assert [(first in one.body, second in one.body) for one in server.requests] == [
            (True, False),
            (False, True),
            (False, True),
        ]


# Connections


def test_where_nothing_listens_the_message_names_the_host(wire: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    model, sleep = model_of(f"http://127.0.0.1:{port}/v1", wire)
    reply = model.ask(ASK)
    assert reply.outcome == "transient"
    assert f"nothing listens at 127.0.0.1:{port} (connection refused)" in reply.detail
    assert len(sleep.waits) == 3
    assert model.check().reachable is False


def test_a_name_that_is_not_found_is_named(wire: str) -> None:
    model, _ = model_of("http://nowhere.invalid/v1", wire)
    reply = model.ask(ASK)
    assert reply.outcome == "transient"
    assert "nowhere.invalid" in reply.detail


def test_a_certificate_that_nobody_vouches_for_is_fatal(wire: str, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    names = (
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    )
    make = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True, timeout=HANGS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with serving(sends(b"never"), context=context) as server:
        reply = model_of(f"https://127.0.0.1:{server.port}/v1", wire)[0].ask(ASK)
    assert reply.outcome == "fatal"
    assert f"127.0.0.1:{server.port} cannot be trusted: its TLS certificate is refused" in reply.detail
    assert server.questions == [], "something was asked before the certificate was checked"


def test_a_server_without_tls_where_tls_is_expected_is_fatal(wire: str) -> None:
    with LlmServer(Says("hi")) as server:
        reply = model_of(f"https://{server.host}/v1", wire)[0].ask(ASK)
        assert reply.outcome == "fatal"
        assert f"{server.host} does not speak TLS" in reply.detail


def test_a_proxy_that_refuses_is_named(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    reply = model_of("http://model.invalid/v1", wire)[0].ask(ASK)
    assert reply.outcome == "transient"
    assert "model.invalid" in reply.detail
    assert "HTTPS_PROXY" in reply.detail


# Keys


def test_no_key_shows_in_what_a_traceback_prints(wire: str) -> None:
    access = Access(key=KEY, environment={"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, unsent=(KEY,))
    model = open_model(f"{vendor_of(wire).name}:tiny", access)
    inside = [access, model, *vars(model).values(), *vars(model._adapter).values()]  # type: ignore[attr-defined]
    assert KEY not in repr([value for value in inside if value != model.secrets])


def test_the_key_goes_to_the_server_and_nowhere_else(wire: str) -> None:
    with LlmServer(Says(f"your key is {KEY}", (call("Write", path=KEY, deep=[{KEY: [KEY]}]),))) as server:
        reply = model_of(server, wire)[0].ask(ASK)
        assert KEY in " ".join(server.requests[0].headers.values())
    assert KEY not in repr(reply)
    assert reply.text == "your key is [redacted]"
    assert reply.calls[0].arguments == {"path": "[redacted]", "deep": [{"[redacted]": ["[redacted]"]}]}


def test_a_redirect_takes_the_key_nowhere(wire: str) -> None:
    with LlmServer(always(Says("stolen"))) as thief:
        away = Status(307, "", {"Location": thief.base_url + "/chat/completions"})
        assert asked(wire, away).outcome == "fatal"
        assert thief.asked == 0


def test_another_key_of_the_environment_is_not_sent(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/another-key")
    with LlmServer(Says("hi")) as server:
        assert model_of(server, wire)[0].ask(ASK).outcome == "ok"
        assert "another-key" not in repr(server.requests[0].headers)


@on_two_wires
def test_a_missing_key_is_told_by_the_name_of_its_variable_and_nothing_is_asked(wire: str) -> None:
    with LlmServer() as server:
        model, _ = model_of(server, wire, key="")
        told = f"{wire} has no API key: set {wire.upper()}_API_KEY, or {wire}_api_key in the settings file"
        assert (model.ask(ASK).outcome, model.ask(ASK).detail) == ("fatal", told)
        assert model.check() == (False, told)
        assert (server.asked, server.listings) == (0, [])


@on_two_wires
def test_a_missing_package_is_told_with_what_to_type(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, wire, None)
    model, _ = model_of("http://127.0.0.1:9/v1", wire)
    told = f"the {wire} package is not installed: pip install 'paper-pipeline[{wire}]'"
    assert (model.ask(ASK).outcome, model.ask(ASK).detail) == ("fatal", told)
    assert model.check() == (False, told)


def test_a_server_that_wants_no_key_gets_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LlmServer(Says("hi")) as server:
        assert open_model("vllm:tiny", Access(base_url=server.base_url)).ask(ASK).text == "hi"
        assert KEY not in repr(server.requests[0].headers)


def test_a_vendors_key_goes_to_another_address_only_where_the_user_says_so(wire: str) -> None:
    with LlmServer(Says("hi"), Says("hi")) as server:
        unsent = access_to(server.base_url, wire)
        for access in (unsent, replace(unsent, send_key=True)):
            assert open_model(f"{vendor_of(wire).name}:tiny", access).ask(ASK).text == "hi"
        assert [KEY in repr(request.headers) for request in server.requests] == [not vendor_of(wire).key_variable, True]


def test_a_server_of_ones_own_gets_the_setting_and_a_vendor_does_not(wire: str) -> None:
    access = Access(key="key-of-my-server", environment={})
    assert "has no API key" in open_model(f"{vendor_of(wire).name}:tiny", access).ask(ASK).detail
    with LlmServer(Says("hi")) as server:
        own = Access(server.base_url, "key-of-my-server", {"OPENAI_API_KEY": KEY})
        assert open_model("compatible:tiny", own).ask(ASK).text == "hi"
        assert "key-of-my-server" in repr(server.requests[0].headers)
        assert KEY not in repr(server.requests[0].headers)


@on_two_wires
@pytest.mark.parametrize("key", ["sk-ключ-0123456789", "sk-half\nand-half-0123"], ids=["not ASCII", "two lines"])
def test_a_key_that_cannot_be_sent_is_told_without_being_shown(wire: str, key: str) -> None:
    with LlmServer() as server:
        model, _ = model_of(server, wire, key=key)
        told = f"the key for {wire} holds a character that no key has; copy it again into {wire.upper()}_API_KEY"
        assert model.ask(ASK) == Reply("fatal", detail=f"{told} or {wire}_api_key")
        assert model.check() == (False, f"{told} or {wire}_api_key")
        assert (server.asked, server.listings) == (0, [])


@pytest.mark.parametrize("provider", ["openrouter", "compatible", "vllm"])
def test_what_is_meant_for_openai_alone_goes_to_no_other_server(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = "Authorization: Bearer of-openai-alone\nX-Gateway: of-openai-alone"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", headers)
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(variable, "of-openai-alone")
    with LlmServer(Says("hi")) as server:
        model, _ = model_of(server, provider)
        assert (model.ask(ASK).text, model.check().reachable) == ("hi", True)
        sent = [server.requests[0].headers, server.listings[0]]
    assert [headers["authorization"] for headers in sent] == [f"Bearer {KEY}"] * 2
    assert "of-openai-alone" not in repr(sent)


# What the environment says


ENVIRONMENTS = {
    "a SOCKS proxy": ({"ALL_PROXY": "socks5://me:password@127.0.0.1:9"}, "pip install socksio"),
    "a proxy of no known kind": (
        {"HTTPS_PROXY": "foo://me:password@bar"},
        "look at ALL_PROXY, HTTPS_PROXY, HTTP_PROXY",
    ),
    "a proxy that is no address": ({"HTTP_PROXY": "http://[::1"}, "look at ALL_PROXY, HTTPS_PROXY, HTTP_PROXY"),
    "certificates that are not there": ({"SSL_CERT_FILE": "/nonexistent"}, "look at SSL_CERT_FILE and SSL_CERT_DIR"),
    "certificates that are none": ({"SSL_CERT_FILE": "/dev/null"}, "look at SSL_CERT_FILE and SSL_CERT_DIR"),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_that_makes_no_sense_is_told_by_its_variable(
    name: str, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, told = ENVIRONMENTS[name]
    read_certificates.cache_clear()  # a process reads them once
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setitem(sys.modules, "socksio", None)
    with LlmServer() as server:
        model, sleep = model_of(server, wire)
        reply, found = model.ask(ASK), model.check()
        assert (server.asked, server.listings, sleep.waits) == (0, [], [])
        assert f"{server.host} cannot be asked" in reply.detail
    assert (reply.outcome, found.reachable, found.detail) == ("fatal", False, reply.detail)
    assert told in reply.detail
    assert "password" not in reply.detail


def test_a_header_of_the_environment_that_cannot_be_sent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "münchen")
    with LlmServer() as server:
        model, _ = model_of(server, "openai")
        reply, found = model.ask(ASK), model.check()
        assert server.asked == 0
    assert (reply.outcome, found.reachable, found.detail) == ("fatal", False, reply.detail)
    assert "look at OPENAI_ORG_ID" in reply.detail


# Checks


@pytest.mark.parametrize(("models", "told"), [
    pytest.param(["tiny", "large"], "answers", id="there"),
    pytest.param(["tiny:latest"], "answers", id="there by its longer name"),
    pytest.param(["tinny"], "answers; it does not list 'tiny'; did you mean 'tinny'?", id="not there"),
    pytest.param([], "answers", id="an empty list"),
])  # fmt: skip
def test_a_check_costs_nothing_and_says_who_answers(models: list[str], told: str, wire: str) -> None:
    with LlmServer(models=models) as server:
        assert model_of(server, wire)[0].check() == (True, f"{server.host} {told}")
        assert server.asked == 0


@pytest.mark.parametrize(("status", "reachable"), [(401, False), (403, False), (404, True), (429, True), (500, False)])
def test_a_check_that_is_refused_says_whether_a_question_could_work(status: int, reachable: bool, wire: str) -> None:
    body = error_body(f"no {KEY}").encode()
    with serving(
        lambda connection: connection.sendall(
            f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n\r\n".encode()
            + body
        )
    ) as server:
        found = model_of(f"{server.base}/v1", wire)[0].check()
    assert found.reachable is reachable
    assert KEY not in found.detail


def test_a_website_is_no_model(wire: str) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>"
    with serving(lambda connection: connection.sendall(page)) as server:
        found = model_of(f"{server.base}/v1", wire)[0].check()
    assert found.reachable is False
    assert "look at base_url" in found.detail


# The window


def listing(**row: Any) -> LlmServer:
    """A server that lists one model beside another, with these words about it."""
    return LlmServer(models=({"id": "other", "max_model_len": 5_000}, {"id": "tiny", **row}))


@pytest.mark.parametrize(
    "row",
    [
        {"max_model_len": 40_960},
        {"context_length": 40_960, "top_provider": {"context_length": 8_192}},
        {"context_window": 40_960},
        {"max_context_length": 40_960},
        {"max_input_tokens": 40_960},
        {"meta": {"n_ctx": 40_960, "n_ctx_train": 131_072}},
        {"meta": {"n_ctx_train": 40_960}},
        {"max_model_len": "many", "context_length": 40_960},
    ],
    ids=["vLLM", "OpenRouter", "Groq", "LM Studio", "Anthropic", "llama.cpp", "an older llama.cpp", "a word beside it"],
)
def test_the_window_is_what_the_server_says_in_its_list(row: dict[str, Any], wire: str) -> None:
    with listing(**row) as server:
        model = model_of(server, wire)[0]
        assert model.window == 40_960
        assert isinstance(model, AssumesWindow)
        assert not model.assumes_window()
        assert model.check().reachable
        assert len(server.listings) == 1, "one list answers both"


@pytest.mark.parametrize(
    "value",
    [0, -5, 12, 10**15, True, 32_768.5, "131072", None, [40_960], {"n": 1}],
    ids=["0", "negative", "tiny", "huge", "a truth", "a fraction", "a text", "nothing", "a list", "an object"],
)
def test_a_window_that_makes_no_sense_is_not_believed(value: Any, wire: str) -> None:
    with listing(max_model_len=value, meta=value) as server:
        model = model_of(server, wire)[0]
        with pytest.raises(PhaseError, match=r"the context window is not known.*--context-tokens N"):
            print(model.window)


def test_a_server_of_one_model_says_its_window_under_any_name() -> None:
    with LlmServer(models=({"id": "/models/qwen.gguf", "meta": {"n_ctx_train": 40_960}},)) as server:
        assert model_of(server, "openai")[0].window == 40_960


def test_what_the_user_says_of_the_window_wins_and_nobody_is_asked(wire: str) -> None:
    with listing(max_model_len=40_960) as server:
        url = server.anthropic_url if wire == "anthropic" else server.base_url
        access = access_to(url, wire, context_tokens=9_000)
        assert open_server_model(f"{vendor_of(wire).name}:tiny", vendor_of(wire), access).window == 9_000
        assert server.listings == []


def test_a_list_without_an_end_is_read_no_further(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LARGEST_LISTING", 10_000)
    endless = {"id": "tiny", "max_model_len": 40_960, "more": "x" * 20_000}
    with LlmServer(models=(endless,)) as server, pytest.raises(PhaseError, match="a list of models without an end"):
        print(model_of(server, wire)[0].window)


def test_a_server_that_is_not_there_is_told_where_its_window_is_needed(wire: str) -> None:
    with pytest.raises(PhaseError, match=r"nothing listens at 127\.0\.0\.1:9"):
        print(model_of("http://127.0.0.1:9", wire)[0].window)
