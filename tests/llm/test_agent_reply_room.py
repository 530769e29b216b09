"""A reply that was cut off while the model still thought is asked for again with more room, and nobody is told to be shorter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phases.agent.offline_model import OfflineModel
from phases.llm.adapters import openai_chat
from phases.llm.factory import open_model
from phases.llm.model import Message, Reply, Request, Room, room_of
from phases.llm.prices import tariff_of
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import THINKS, Timing, facts_of, open_server_model, room_for
from pipeline.base.errors import PhaseError
from tests.agents import carry_out, says, small_plan, tree
from tests.llm_server import LlmServer, Raw, Says, Status, call, error_body, openai_chunk, sse
from tests.papers import PAPER, Command, paper, read

pytest.importorskip("openai", reason="the openai package is not installed")
pytest.importorskip("anthropic", reason="the anthropic package is not installed")

KEY = "sk-test-0123456789-0123456789"
PLAN = json.dumps(read(PAPER).plan)
WRITES = Says("", (call("Write", file_path="a.py", content="A = 1\n"),))
DONE = Says("done")


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat, "_lacking", {})


def thinking(tokens: int, text: str = "") -> Says:
    """A reply that thinking used up, whole or nearly."""
    return Says(text, thinks="hm " * 200, finish="length", tokens_out=tokens)


def served(
    server: LlmServer, provider: str = "compatible", *, window: int = 200_000, most: int = 0, name: str = "tiny"
) -> Any:
    url = server.anthropic_url if provider == "anthropic" else server.base_url
    variable = PROVIDERS[provider].key_variable
    access = Access(url, "" if variable else KEY, {variable: KEY} if variable else {}, window, most_output=most)
    return open_server_model(f"{provider}:{name}", PROVIDERS[provider], access, timing=Timing(lambda seconds: None))


def rooms(server: LlmServer) -> list[int]:
    """How many tokens each reply might have."""
    return [request.body.get("max_tokens") or request.body["max_completion_tokens"] for request in server.requests]


@pytest.mark.parametrize("provider", ["compatible", "anthropic"])
@pytest.mark.parametrize("text", ["", "I wri"], ids=["no text", "hardly any text"])
def test_a_reply_that_was_cut_off_in_thinking_is_asked_for_again_with_more_room(
    provider: str, text: str, tmp_path: Path
) -> None:
    with LlmServer(thinking(16_384, text), thinking(32_768, text), WRITES, DONE) as server:
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        assert rooms(server) == [16_384, 32_768, 65_536, 16_384]
        bodies = [request.body["messages"] for request in server.requests]
    assert bodies[0] == bodies[1] == bodies[2]
    assert "longer than is allowed" not in json.dumps(bodies)
    assert tree(tmp_path) == {"a.py": b"A = 1\n"}


def test_reasoning_that_only_the_usage_tells_of_counts(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 16_384, "completion_tokens_details": {"reasoning_tokens": 16_300}}
    hidden = Raw([openai_chunk({"content": "I wri"}), openai_chunk({}, "length", usage=usage), sse("[DONE]")])
    with LlmServer(hidden, WRITES, DONE) as server:
        carry_out(tmp_path, served(server), small_plan("a.py"))
        assert rooms(server)[:2] == [16_384, 32_768]


def test_a_text_that_was_cut_off_is_told_of_as_before(tmp_path: Path) -> None:
    long = Says("x = 1\n" * 50, thinks="hm", finish="length", tokens_out=16_384)
    with LlmServer(long, WRITES, DONE) as server:
        carry_out(tmp_path, served(server), small_plan("a.py"))
        assert rooms(server) == [16_384] * 3
        assert "Your last reply was longer than is allowed" in json.dumps(server.requests[1].body)


def test_where_there_is_no_more_room_the_run_ends_with_what_to_type_and_nothing_is_paid_again(tmp_path: Path) -> None:
    with LlmServer(thinking(20_000), thinking(40_000), WRITES, DONE) as server:
        small, plan = served(server, most=20_000), small_plan("a.py")
        for _ in range(2):
            with pytest.raises(PhaseError) as ended:
                carry_out(tmp_path, small, plan)
            assert "the model used up 20,000 tokens in thinking and gave no answer" in str(ended.value)
            assert "pipeline resume" in str(ended.value)
            assert "--max-output-tokens 40000" in str(ended.value)
            assert server.asked == 1
        with pytest.raises(PhaseError, match="used up 40,000 tokens"):
            carry_out(tmp_path, served(server, most=40_000), plan)
        carry_out(tmp_path, served(server, most=80_000), plan)
        assert rooms(server) == [20_000, 40_000, 80_000, 80_000]
    assert tree(tmp_path) == {"a.py": b"A = 1\n"}


def test_a_small_window_is_named_where_it_is_what_leaves_no_room(tmp_path: Path) -> None:
    with LlmServer(thinking(4_096), thinking(8_192), thinking(12_000), thinking(12_000)) as server:
        with pytest.raises(
            PhaseError, match=r"its window is 16,384 tokens: if it is larger, say so with context_tokens"
        ):
            carry_out(tmp_path, served(server, window=16_384), small_plan("a.py"))
        assert rooms(server)[0] == 4_096
        assert all(room < 16_384 for room in rooms(server))


def test_a_server_that_cuts_off_at_a_limit_of_its_own_is_not_asked_for_ever(tmp_path: Path) -> None:
    with LlmServer(thinking(4_000), thinking(4_000)) as server:
        with pytest.raises(PhaseError, match=r"the server cuts it off after 4,000: raise the limit there"):
            carry_out(tmp_path, served(server), small_plan("a.py"))
        assert rooms(server) == [16_384, 32_768]


@pytest.mark.parametrize("provider", ["compatible", "anthropic"])
def test_a_limit_that_the_server_names_is_kept(provider: str, tmp_path: Path) -> None:
    words = "max_tokens: 32768 > 20000, which is the maximum allowed number of output tokens for tiny"
    refusals = [Status(400, error_body(words))] * (
        1 if provider == "anthropic" else 2
    )  # OpenAI's is asked by both names
    with LlmServer(thinking(16_384), *refusals, WRITES, DONE) as server:
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        assert rooms(server)[-2:] == [20_000, 16_384]


def test_after_a_crash_the_reply_that_was_cut_off_is_not_asked_for_again(tmp_path: Path) -> None:
    with LlmServer(thinking(16_384), Status(401, error_body("no")), WRITES, DONE) as server:
        with pytest.raises(PhaseError):
            carry_out(tmp_path, served(server), small_plan("a.py"))
        carry_out(tmp_path, served(server), small_plan("a.py"))
        assert rooms(server) == [16_384, 32_768, 32_768, 16_384]


def test_three_useless_replies_beside_it_do_not_make_it_the_fourth(tmp_path: Path) -> None:
    model = says(
        *[Reply("malformed", detail="odd")] * 3, Reply("truncated", room=16_384, tokens_out=16_384), Reply("ok", "done")
    )
    carry_out(tmp_path, model, small_plan("a.py"))
    assert model.requests[4].most_tokens == 32_768


def test_the_room_is_the_settings_then_the_tables_then_what_any_model_gets() -> None:
    def room(name: str, setting: int = 0) -> Room:
        return room_for(facts_of(name, tariff_of(name, {})), setting)

    assert room("openai:gpt-5", 5_000) == Room(5_000, 5_000)
    assert room("openai:gpt-5-mini-2025-08-07") == Room(THINKS, 128_000)
    assert room("openrouter:anthropic/claude-sonnet-4.5") == Room(THINKS, 64_000)
    assert room("anthropic:claude-opus-4-5-20251101") == Room(THINKS, 64_000)
    assert room("openai:gpt-4.1") == Room(0, 32_768)
    assert room("vllm:somebody/their-own") == Room()
    assert room_of(open_model("anthropic:claude-sonnet-4-5", Access(most_output=7))) == Room(7, 7)
    assert room_of(OfflineModel()) == Room()


def test_a_model_that_is_known_to_think_has_more_room_at_once_and_no_more_than_its_window_leaves(
    tmp_path: Path,
) -> None:
    with LlmServer(WRITES, DONE) as server:
        carry_out(tmp_path / "large", served(server, name="o4-mini"), small_plan("a.py"))
        assert rooms(server) == [32_768, 32_768]
    with LlmServer(WRITES, DONE) as server:
        carry_out(tmp_path / "small", served(server, name="o4-mini", window=32_768), small_plan("a.py"))
        assert all(8_192 <= room < 32_768 for room in rooms(server))


def test_a_reply_may_take_the_longer_the_longer_it_may_be() -> None:
    from phases.llm.adapters.connection import Connection, Timeouts, connection_for
    from phases.llm.error_classification import Server

    line = Connection(Server("vllm", "here", "tiny"), "http://here", "", Timeouts(whole=100.0))
    assert [connection_for(line, tokens).timeouts.whole for tokens in (16, 16_384, 65_536)] == [100.0, 100.0, 400.0]


# The whole command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    paper(tmp_path)
    return Command(tmp_path)


def planning(server: LlmServer, *more: str) -> tuple[str, ...]:
    return ("--model", "vllm:tiny", "--base-url", server.base_url, "--until", "plan", *more)


@pytest.mark.slow
def test_a_planner_that_thinks_too_long_gets_more_room_and_is_never_told_to_be_shorter(command: Command) -> None:
    good = Says(PLAN, thinks="I plan.", piece=900)
    with LlmServer(thinking(16_384), thinking(32_768), good) as server:
        ended = command("run", "--fast", "paper.md", *planning(server), PIPELINE_CONTEXT_TOKENS="200000")
        assert ended.code == 0, ended.err
        assert rooms(server) == [16_384, 32_768, 65_536]
        assert len({json.dumps(request.body["messages"]) for request in server.requests}) == 1
        assert "be shorter" not in json.dumps([request.body for request in server.requests])


def test_the_command_that_a_run_without_room_names_goes_on(command: Command) -> None:
    with LlmServer(thinking(3_000), Says(PLAN, piece=900)) as server:
        arguments = planning(server, "--max-output-tokens", "3000")
        ended = command("run", "--fast", "paper.md", *arguments, PIPELINE_CONTEXT_TOKENS="100000")
        assert ended.code == 1
        assert "resume paper --max-output-tokens 6000" in ended.out
        again = command(
            *("resume", "paper", "--max-output-tokens", "6000", "--base-url", server.base_url, "--until", "plan"),
            PIPELINE_CONTEXT_TOKENS="100000",
        )
        assert again.code == 0, again.err
        assert rooms(server) == [3_000, 6_000]
    assert command.document("paper", "task.json")["settings"]["max_output_tokens"] == 6_000


@pytest.mark.slow
@pytest.mark.parametrize("said_by", ["flag", "variable", "file"])
def test_the_setting_is_said_like_any_other_and_stays_with_the_task(command: Command, said_by: str) -> None:
    flag = ("--max-output-tokens", "9000") if said_by == "flag" else ()
    variable = {"PIPELINE_MAX_OUTPUT_TOKENS": "9000"} if said_by == "variable" else {}
    if said_by == "file":
        command.configure("max_output_tokens: 9000\n")
    with LlmServer(Says(PLAN, piece=900)) as server:
        command("run", "--fast", "paper.md", *planning(server, *flag), **variable)
        assert rooms(server) == [9_000]
    assert command.document("paper", "task.json")["settings"]["max_output_tokens"] == 9_000
    refused = command("run", "--fast", "paper.md", "--max-output-tokens", "many")
    assert (refused.code, "must be a whole number" in refused.err) == (2, True)


def test_a_small_check_of_a_model_is_one_call(command: Command) -> None:
    with LlmServer(thinking(16)) as server:
        command.configure(f"model: compatible:tiny\nbase_url: {server.base_url}\n")
        ended = command("models", "--json")
        assert (ended.code, server.asked) == (0, 1)


def test_a_question_outside_a_conversation_says_what_it_was_cut_off_at() -> None:
    with LlmServer(thinking(400)) as server:
        reply = served(server).ask(Request((Message("user", "go"),), most_tokens=400))
    assert (reply.outcome, reply.room) == ("truncated", 400)
    assert "cut off while it was still thinking" in reply.detail
