"""`pipeline models`: it lists, it tries, it tells what is wrong with a setting, and it never shows a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm_server import LlmServer, Says, Status, always, error_body
from tests.papers import Command

pytest.importorskip("openai", reason="the openai package is not installed")

KEY = "sk-canary-0123456789-0123456789"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_without_a_setting_the_offline_model_is_there_and_every_provider_is_listed(command: Command) -> None:
    ended = command("models")
    assert ended.code == 0, ended.err
    assert "offline (model): there" in ended.out
    for words in (
        "openai:NAME",
        "OPENAI_API_KEY (not set)",
        "anthropic:NAME",
        "http://localhost:11434/v1",
        "none needed",
    ):
        assert words in ended.out


def test_a_configured_model_is_asked_one_small_question(command: Command) -> None:
    with LlmServer(Says("ready", tokens_in=12, tokens_out=2)) as server:
        command.configure(f"model: openai:gpt-5\nbase_url: {server.base_url}\n")
        ended = command("models", "--json", OPENAI_API_KEY=KEY)
        body = server.requests[0].body
    row = ended.json()["models"][0]
    assert ended.code == 0, ended.err
    assert (row["name"], row["outcome"], row["tokens_in"], row["tokens_out"]) == ("openai:gpt-5", "ok", 12, 2)
    assert row["usd"] == pytest.approx((12 * row["usd_per_million"]["in"] + 2 * row["usd_per_million"]["out"]) / 1e6)
    assert row["seconds"] >= 0
    assert body["max_completion_tokens"] == 16
    assert len(body["messages"]) == 1


def test_a_model_that_several_settings_name_is_asked_once(command: Command) -> None:
    with LlmServer(Says("a"), Says("b"), models=("x", "y")) as server:
        command.configure(f"model: vllm:x\nplan_model: vllm:y\ncode_model: vllm:x\nbase_url: {server.base_url}\n")
        rows = command("models", "--json").json()["models"]
        assert server.asked == 2
    assert [(row["name"], row["settings"]) for row in rows] == [
        ("vllm:x", ["model", "code_model"]),
        ("vllm:y", ["plan_model"]),
    ]


def test_no_call_asks_no_model_anything(command: Command) -> None:
    with LlmServer() as server:
        command.configure(f"model: compatible:tiny\nbase_url: {server.base_url}\n")
        ended = command("models", "--no-call")
        assert (ended.code, server.asked, len(server.listings)) == (0, 0, 1)
        assert f"{server.host} answers" in ended.out
        assert "its price is not known" in ended.out


def test_a_model_that_cannot_be_asked_exits_with_1_and_says_why(command: Command) -> None:
    refusal = Status(401, error_body(f"Incorrect API key provided: {KEY}"))
    with LlmServer(always(refusal)) as server:
        command.configure(f"model: openai:gpt-5\nbase_url: {server.base_url}\napi_key: {KEY}\n")
        ended = command("models")
    assert ended.code == 1
    assert "look at the key in OPENAI_API_KEY" in ended.out
    assert "cannot be asked (fatal;" in ended.out


def test_a_missing_key_is_told_by_its_variable(command: Command) -> None:
    ended = command("models", "--model", "anthropic:claude-opus-5-5")
    assert ended.code == 1
    assert "no key for anthropic: set ANTHROPIC_API_KEY, or api_key in the settings file" in ended.out


def test_a_key_is_never_shown(command: Command) -> None:
    with LlmServer(always(Says(f"it is {KEY}"))) as server:
        command.configure(f"model: openai:gpt-5\nbase_url: {server.base_url}\n")
        for arguments in ([], ["--json"], ["--no-call"]):
            ended = command("models", *arguments, OPENAI_API_KEY=KEY)
            assert KEY not in ended.out + ended.err
            assert "OPENAI_API_KEY" in ended.out
    assert '"key_set": true' in command("models", "--json", OPENAI_API_KEY=KEY, PIPELINE_MODEL="offline").out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("opneai:gpt-5", "did you mean 'openai:…'?", id="a provider that is mistyped"),
        pytest.param("openai:", "needs a name after 'openai:'", id="no name"),
        pytest.param("compatible:x", "set base_url", id="no address"),
    ],
)
def test_a_name_that_makes_no_sense_is_usage(name: str, told: str, command: Command) -> None:
    ended = command("models", "--model", name)
    assert (ended.code, len(ended.complaints)) == (2, 1), ended.err
    assert told in ended.err


def test_the_users_own_prices_count(command: Command) -> None:
    file = command.configure("model: openai:gpt-5\n").with_name("prices.yaml")
    file.write_text("openai:gpt-5: {in: 2, cached: 1, out: 7, window: 1000}\n")
    row = command("models", "--json", "--no-call").json()["models"][0]
    assert (row["usd_per_million"], row["window"]) == ({"in": 2.0, "out": 7.0}, 1000)
    file.write_text("openai:gpt-5: {in: cheap, out: 7}\n")
    ended = command("models", "--no-call")
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert "prices.yaml: openai:gpt-5, in is 'cheap', and it must be a number, 0 or more" in ended.err
