"""The adapters against servers that nobody here wrote: llama.cpp with a tiny model, and a mock of both wire formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phases.llm.adapters.connection import Timeouts
from phases.llm.model import Message, Model, Reply, Request
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import Timing, open_server_model
from tests.tiny_model import CONTEXT, llama, write_tiny_model

pytest.importorskip("openai", reason="the openai package is not installed")

ASK = Request((Message("system", "Be brief."), Message("user", "hello")), most_tokens=400)
SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 8}, "number": {"enum": [1, 2]}},
    "required": ["word", "number"],
    "additionalProperties": False,
}
TOOL = {"name": "Write", "description": "Write a word.", "parameters": SCHEMA}


def model_at(url: str, provider: str, name: str, timeouts: Timeouts | None = None) -> Model:
    """A model that waits for nobody."""
    access = Access(url, "key-of-a-test", {PROVIDERS[provider].key_variable or "": "key-of-a-test"})
    timing = Timing(lambda seconds: None, lambda: 1.0)
    return open_server_model(f"{provider}:{name}", PROVIDERS[provider], access, timeouts=timeouts, timing=timing)


# llama.cpp


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("gguf", reason="the gguf package is not installed")
    folder = tmp_path_factory.mktemp("models")
    return write_tiny_model(folder / "talks.gguf"), write_tiny_model(folder / "calls.gguf", calls=True)


@pytest.fixture(scope="module")
def talker(files: tuple[Path, Path]) -> Iterator[Model]:
    with llama(files[0]) as url:
        yield model_at(url, "llamacpp", "tiny")


def test_llama_is_found_by_its_name(talker: Model) -> None:
    found = talker.check()
    assert found.reachable
    assert found.detail.endswith(" answers"), found.detail


def test_llama_streams_text_and_tells_what_it_used(talker: Model) -> None:
    told: list[int] = []
    for _ in range(20):  # it ends where chance has it: now and then at once, and then there is nothing in the reply
        told.clear()
        reply = talker.ask(Request(ASK.messages, most_tokens=400, on_text=told.append))
        if len(reply.text) > 3:
            break
    assert reply.outcome == "ok", reply.detail
    assert told[-1] == len(reply.text)
    assert told == sorted(told)
    assert len(told) > 1
    assert reply.tokens_in > 5
    assert reply.tokens_out > 3
    assert (reply.usd, talker.priced) == (0.0, True)


def test_llama_is_cut_off_at_the_limit(talker: Model) -> None:
    replies = [talker.ask(Request(ASK.messages, most_tokens=2)) for _ in range(12)]
    cut = [reply for reply in replies if reply.outcome == "truncated"]
    assert cut
    assert all(1 <= len(reply.text) <= 2 for reply in cut)


def test_llama_fits_its_reply_to_a_schema(talker: Model) -> None:
    reply = talker.ask(Request(ASK.messages, schema=SCHEMA, most_tokens=200))
    assert reply.outcome == "ok", reply.detail
    value = json.loads(reply.text)
    assert set(value) == {"word", "number"}
    assert value["number"] in (1, 2)


def test_llama_says_that_a_prompt_is_too_long(talker: Model) -> None:
    reply = talker.ask(Request((Message("user", "x" * 2 * CONTEXT),), most_tokens=10))
    assert reply.outcome == "overflow", reply.detail
    assert "too long for tiny" in reply.detail


@pytest.mark.slow
def test_llama_calls_a_tool_and_takes_the_answer(files: tuple[Path, Path]) -> None:
    with llama(files[1]) as url:
        caller = model_at(url, "llamacpp", "tiny")
        reply = _asked_until_it_calls(caller)
        assert reply.outcome == "ok", reply.detail
        for call in reply.calls:
            assert call.name == "Write"
            assert set(call.arguments) == {"word", "number"}
        answers = [Message("tool", "done", call_id=call.id) for call in reply.calls]
        transcript = (*ASK.messages, Message("assistant", reply.text, reply.calls), *answers)
        again = caller.ask(Request(transcript, tools=(TOOL,), most_tokens=50))
        assert again.outcome in ("ok", "truncated", "empty", "overflow"), again.detail


def _asked_until_it_calls(model: Model) -> Reply:
    """Chance decides whether the model ends or calls: half of the time each."""
    for _ in range(60):
        reply = model.ask(Request(ASK.messages, tools=(TOOL,), most_tokens=120))
        if reply.calls:
            return reply
    return reply


def test_llama_that_was_stopped_is_named(files: tuple[Path, Path]) -> None:
    with llama(files[0]) as url:
        model = model_at(url, "llamacpp", "tiny")
        assert model.check().reachable
    host = url.removeprefix("http://").removesuffix("/v1")
    reply = model.ask(ASK)
    assert reply.outcome == "transient"
    assert f"nothing listens at {host}" in reply.detail
    assert model.check() == (False, f"nothing listens at {host} (connection refused); is the server started?")


# llmock


@pytest.fixture(scope="module")
def mock() -> Iterator[Any]:
    testing: Any = pytest.importorskip("llmock.testing", reason="the llmock package is not installed")
    with testing.LLMockServer() as server:
        yield server


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest, mock: Any) -> Iterator[str]:
    if request.param == "anthropic":
        pytest.importorskip("anthropic", reason="the anthropic package is not installed")
    mock.state.scenarios.clear()
    yield str(request.param)
    mock.state.scenarios.clear()


def mocked(mock: Any, provider: str, *behaviors: Any, timeouts: Timeouts | None = None) -> Model:
    """A model at the mock, which does this first."""
    mock.state.scenarios.add(*behaviors)
    return model_at(mock.base_url(provider), provider, "some-model", timeouts)


def scenarios() -> Any:
    """The mock's vocabulary."""
    from llmock import scenarios as vocabulary

    return vocabulary


def test_the_mock_is_there_and_says_what_it_is_told_to(mock: Any, provider: str) -> None:
    model = mocked(
        mock, provider, scenarios().Reply(text="Grüße aus der Attrappe, mit genug Worten für mehrere Stücke.")
    )
    reply = model.ask(ASK)
    assert (reply.outcome, reply.text) == ("ok", "Grüße aus der Attrappe, mit genug Worten für mehrere Stücke.")
    assert reply.tokens_in > 0
    assert reply.tokens_out > 0
    assert model.check().reachable


def test_the_mock_calls_tools(mock: Any, provider: str) -> None:
    calls = (scenarios().ToolCall("Write", {"word": "ä", "number": 1}), scenarios().ToolCall("Write", {"word": "b"}))
    reply = mocked(mock, provider, scenarios().Reply(tool_calls=calls)).ask(Request(ASK.messages, tools=(TOOL,)))
    assert reply.outcome == "ok", reply.detail
    assert [call.arguments for call in reply.calls] == [{"word": "ä", "number": 1}, {"word": "b"}]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("disconnect", "transient"),
        ("truncate", "transient"),
        ("malformed", "malformed"),
        pytest.param("stall", "transient", marks=pytest.mark.slow),
    ],
)
def test_a_broken_stream_of_the_mock_is_no_reply(kind: str, outcome: str, mock: Any, provider: str) -> None:
    words = scenarios().Reply(text="many words that come in several pieces", times=None)
    fault = scenarios().StreamFault(kind, after_chunks=3, stall_seconds=2.0, times=None)
    reply = mocked(mock, provider, words, fault, timeouts=Timeouts(silence=0.3)).ask(ASK)
    assert reply.outcome == outcome, reply.detail
    assert reply.calls == ()


def test_half_arguments_of_the_mock_are_no_call(mock: Any, provider: str) -> None:
    fault = scenarios().ToolFault("malformed_arguments")
    reply = mocked(mock, provider, fault).ask(Request(ASK.messages, tools=(TOOL,)))
    assert (reply.outcome, reply.calls) == ("malformed", ()), reply.detail


@pytest.mark.parametrize("status", [429, 500, 503])
def test_the_mock_recovers(status: int, mock: Any, provider: str) -> None:
    vocabulary = scenarios()
    model = mocked(mock, provider, vocabulary.Fail(status, retry_after=0.1), vocabulary.Reply(text="well again"))
    assert (model.ask(ASK).outcome) == "ok"


@pytest.mark.parametrize(("status", "outcome"), [(400, "fatal"), (401, "fatal"), (404, "fatal"), (413, "overflow")])
def test_an_error_of_the_mock_is_final(status: int, outcome: str, mock: Any, provider: str) -> None:
    reply = mocked(mock, provider, scenarios().Fail(status)).ask(ASK)
    assert reply.outcome == outcome
    assert f"answered {status}" in reply.detail
