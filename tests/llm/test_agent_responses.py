"""The Responses API: what a server does wrong there never becomes content, and what it does right comes whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from phases.llm.model import Message, Model, Reply, Request
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import Timing, open_server_model
from tests.llm_server import Answer, Call, LlmServer, Raw, Says, Status, always, call, error_body, sse
from tests.responses_wire import responses_events

pytest.importorskip("openai", reason="the openai package is not installed")

KEY = "sk-test-0123456789-0123456789"
ASK = Request((Message("system", "Be brief."), Message("user", "go")))


def served(server: LlmServer) -> Model:
    access = Access(server.base_url, "", {"OPENAI_API_KEY": KEY}, 100_000, openai_api="responses")
    return open_server_model("openai:tiny", PROVIDERS["openai"], access, timing=Timing(lambda seconds: None))


def asked(answer: Answer, request: Request = ASK) -> Reply:
    with LlmServer(always(answer)) as server:
        return served(server).ask(request)


def stream(*events: dict[str, Any]) -> Raw:
    return Raw([sse(event, event["type"]) for event in events])


def test_text_calls_and_counts_come_whole() -> None:
    said = Says("Ich schreibe: é🌍", (call("Write", path="a.py"), call("Read", path="b")), tokens_in=90, cached=20)
    reply = asked(said)
    assert (reply.outcome, reply.text) == ("ok", "Ich schreibe: é🌍")
    assert [(one.name, one.arguments) for one in reply.calls] == [("Write", {"path": "a.py"}), ("Read", {"path": "b"})]
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (90, 20, 10)


def test_a_question_is_asked_as_the_api_wants_it() -> None:
    tool = {"name": "Read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}
    with LlmServer(Says('{"a": 1}')) as server:
        served(server).ask(replace(ASK, tools=(tool,), schema={"type": "object"}, most_tokens=777))
        body = server.requests[0].body
    assert body["instructions"] == "Be brief."
    assert body["input"] == [{"role": "user", "content": "go"}]
    assert body["tools"] == [{"type": "function", **tool, "strict": False}]
    assert body["text"]["format"]["schema"] == {"type": "object"}
    assert (body["max_output_tokens"], body["store"], body["stream"]) == (777, False, True)


@pytest.mark.parametrize("cut", [pytest.param(0, marks=pytest.mark.slow), 1, 3, 6, -1])
def test_a_stream_that_is_cut_off_is_no_reply(cut: int) -> None:
    events = list(responses_events(Says("I look.", (call("Read", path="b"),), thinks="hm", piece=900)))
    reply = asked(Raw(events[:cut] or [b": nothing\n\n"]))
    assert (reply.outcome, reply.calls) == ("transient", ())


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Says("half", finish="length"), "truncated"),
        (Says("", finish="content_filter"), "refused"),
        (Says(""), "empty"),
        (Says(calls=(Call("Write", '{"a": '),)), "malformed"),
        (stream({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}), "rate_limited"),
        (stream({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}), "transient"),
        (stream({"type": "response.output_item.added", "output_index": 0, "item": 3}), "malformed"),
        (stream({"type": "response.output_item.done", "output_index": 0, "item": {}}), "malformed"),
        (stream({"type": "response.function_call_arguments.delta", "output_index": 4, "delta": "{"}), "malformed"),
        (stream({"type": "response.completed", "response": {"status": "strange"}}), "malformed"),
        (Status(400, error_body("This model's maximum context length is 8192 tokens.")), "overflow"),
    ],
    ids=["cut off", "filtered", "empty", "broken arguments", "busy", "failed", "no item", "no beginning", "no call",
         "a strange end", "too long"],
)  # fmt: skip
def test_what_goes_wrong_has_its_outcome(answer: Answer, outcome: str) -> None:
    reply = asked(answer)
    assert reply.outcome == outcome, reply.detail
    assert not reply.calls


def test_a_model_that_used_up_its_room_in_thinking_is_known_as_such() -> None:
    reply = asked(Says("", thinks="hm " * 50, finish="length"))
    assert (reply.outcome, reply.room) == ("truncated", ASK.most_tokens)


def test_a_key_in_a_reply_is_blanked_and_the_real_one_is_sent() -> None:
    with LlmServer(Says(f"your key is {KEY}")) as server:
        reply = served(server).ask(ASK)
        assert KEY in json.dumps(dict(server.requests[0].headers))
    assert reply.text == "your key is [redacted]"
