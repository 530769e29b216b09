"""`pipeline models`: it lists, it tries, it tells what is wrong with a setting, and it never shows a key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.engine.settings import SECRET
from tests.llm_server import LlmServer, Says, Status, always, error_body
from tests.papers import PAPER, Command, in_terminal, paper, read

pytest.importorskip("openai", reason="the openai package is not installed")

KEY = "sk-canary-0123456789-0123456789"
LOOKS = (("status", "paper"), ("models", "--json"), ("show", "paper", "plan"), ("doctor",), ("logs", "paper"))


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_without_a_setting_the_offline_model_is_there_and_every_provider_is_listed(command: Command) -> None:
    ended = command("models")
    assert ended.code == 0, ended.err
    assert "offline (the default): ready" in ended.out
    for words in (
        "openai:NAME",
        "OPENAI_API_KEY (not set)",
        "anthropic:NAME",
        "http://localhost:11434/v1",
        "none needed",
    ):
        assert words in ended.out


@pytest.mark.slow
def test_a_configured_model_is_asked_one_small_question(command: Command) -> None:
    with LlmServer(Says("ready", tokens_in=12, tokens_out=2)) as server:
        file = command.configure(f"model: compatible:tiny\nbase_url: {server.base_url}\napi_key: {KEY}\n")
        file.with_name("prices.yaml").write_text("compatible:tiny: {in: 2, out: 7}\n")
        ended = command("models", "--json")
        body, headers = server.requests[0].body, server.requests[0].headers
    row = ended.json()["models"][0]
    assert ended.code == 0, ended.err
    assert (row["name"], row["outcome"], row["tokens_in"], row["tokens_out"]) == ("compatible:tiny", "ok", 12, 2)
    assert row["usd"] == pytest.approx((12 * row["usd_per_million"]["in"] + 2 * row["usd_per_million"]["out"]) / 1e6)
    assert row["seconds"] >= 0
    assert body["max_tokens"] == 16
    assert headers["authorization"] == f"Bearer {KEY}"
    assert len(body["messages"]) == 1


@pytest.mark.slow
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
        command.configure(f"model: compatible:gpt-5\nbase_url: {server.base_url}\napi_key: {KEY}\n")
        ended = command("models")
    assert ended.code == 1
    assert "look at the key in the setting api_key" in ended.out
    assert "cannot be asked (fatal;" in ended.out


def test_a_missing_key_is_told_by_its_variable(command: Command) -> None:
    ended = command("models", "--model", "anthropic:claude-opus-5-5")
    assert ended.code == 1
    assert "anthropic has no API key: set ANTHROPIC_API_KEY, or anthropic_api_key in the settings file" in ended.out


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        pytest.param(f"openai_api_key: {KEY}\n", {}, id="the settings file"),
        pytest.param("", {"PIPELINE_OPENAI_API_KEY": KEY}, id="the settings' variable"),
        pytest.param("", {"OPENAI_API_KEY": KEY}, id="the vendor's own variable"),
    ],
)
def test_the_key_of_a_vendor_can_be_set_in_each_place(file: str, environment: dict[str, str], command: Command) -> None:
    command.configure(file)
    ended = command("models", "--json", **environment)
    assert ended.code == 0, ended.err
    assert [row["name"] for row in ended.json()["providers"] if row["key_set"]] == ["openai"]
    assert KEY not in ended.out + ended.err


def test_the_key_of_ones_own_server_is_no_key_of_a_vendor(command: Command) -> None:
    command.configure(f"model: openai:gpt-5\napi_key: {KEY}\n")
    ended = command("models", "--no-call")
    assert ended.code == 1
    assert "openai has no API key: set OPENAI_API_KEY, or openai_api_key in the settings file" in ended.out


@pytest.mark.parametrize("model", ["anthropic:tiny", "mistral:tiny", "openrouter:tiny"])
def test_the_model_of_a_vendor_is_asked_at_another_address_without_the_vendors_key(
    model: str, command: Command
) -> None:
    vendor = model.partition(":")[0]
    variable = f"{vendor.upper()}_API_KEY"
    with LlmServer(always(Says("ready")), models=("tiny",)) as server:
        served = ("models", "--model", model, "--base-url", server.base_url)
        ended = [
            command(*served),
            command(*served, **{variable: KEY}),
            command(*served, **{variable: KEY, "PIPELINE_API_KEY": "key-of-my-server"}),
            command(*served, "--send-key", **{variable: KEY}),
        ]
        sent = [
            repr({**listing, **asked.headers}) for listing, asked in zip(server.listings, server.requests, strict=True)
        ]
    assert [one.code for one in ended] == [0, 0, 0, 0], ended[0].err
    assert [KEY in one for one in sent] == [False, False, False, True]
    assert ["key-of-my-server" in one for one in sent] == [False, False, True, False]
    assert f"tiny at {server.host}" in ended[0].out


def test_a_run_asks_the_model_of_a_vendor_at_another_address_and_keeps_its_key(command: Command) -> None:
    paper(command.folder)
    with LlmServer(always(Says("no plan")), models=("claude-sonnet-4-5",)) as server:
        served = ("--model", "anthropic:claude-sonnet-4-5", "--base-url", server.base_url, "--until", "plan")
        assert command("run", "--fast", "paper.md", *served, ANTHROPIC_API_KEY=KEY).code == 1
        assert server.asked > 0
        assert KEY not in repr([request.headers for request in server.requests])
        before = server.asked
        assert command("resume", "paper", *served, "--send-key", ANTHROPIC_API_KEY=KEY).code == 1
        assert KEY in repr([request.headers for request in server.requests[before:]])
    assert "send_key" not in (command.task("paper") / "task.json").read_text(), "no task says where a key is sent"


@pytest.mark.parametrize("arguments", [("config", "send_key", "true"), ("models", "--no-call")])
def test_only_the_flag_sends_a_vendors_key_to_another_address(arguments: tuple[str, ...], command: Command) -> None:
    ended = command(*arguments, PIPELINE_SEND_KEY="true")
    assert (ended.code, "flag --send-key" in ended.err) == (2, True), ended.err


def test_a_server_that_wants_the_vendors_key_says_how_to_send_it(command: Command) -> None:
    with LlmServer(always(Status(401, error_body("invalid x-api-key")))) as server:
        served = ("models", "--model", "anthropic:tiny", "--base-url", server.base_url)
        ended = command(*served, ANTHROPIC_API_KEY=KEY)
    assert "look at the key in the setting api_key, or send ANTHROPIC_API_KEY there with --send-key" in ended.out


def test_the_address_of_the_vendor_itself_is_the_vendor(command: Command) -> None:
    ended = command("models", "--no-call", "--model", "anthropic:tiny", "--base-url", "https://api.anthropic.com/v1")
    assert "anthropic has no API key: set ANTHROPIC_API_KEY" in ended.out


def test_an_address_beside_a_server_of_ones_own_goes_to_that_one_alone(command: Command) -> None:
    with LlmServer(Says("ready")) as server:
        command.configure(f"model: compatible:tiny\nplan_model: openai:gpt-5\nbase_url: {server.base_url}\n")
        rows = command("models", "--json").json()["models"]
        assert server.asked == 1
        assert [row["at"] for row in rows] == [f"tiny at {server.host}", "gpt-5 at api.openai.com"]


def test_an_address_that_is_not_used_hurts_nobody(command: Command) -> None:
    command.configure("base_url: http://127.0.0.1:9/v1\n")
    assert command("models").code == 0


def test_one_address_is_not_for_two_providers(command: Command) -> None:
    command.configure("model: ollama:x\ncode_model: vllm:y\nbase_url: http://127.0.0.1:9/v1\n")
    ended = command("models", "--no-call")
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert "the models are from ollama and vllm" in ended.err


def test_one_address_is_not_for_two_vendors(command: Command) -> None:
    command.configure("model: openrouter:a/b\nplan_model: openai:c\nbase_url: http://127.0.0.1:9/v1\n")
    ended = command("models", "--no-call")
    assert (ended.code, "the models are from openai and openrouter" in ended.err) == (2, True)


def test_a_judge_that_is_the_same_model_is_no_second_provider(command: Command) -> None:
    command.configure("model: vllm:x\njudge: same\nbase_url: http://127.0.0.1:9/v1\n")
    assert "127.0.0.1:9" in command("models", "--no-call").out


@pytest.mark.parametrize("flags", [(), ("--no-call",)])
def test_a_model_that_is_named_is_tested_alone_and_is_not_called_the_default(
    flags: tuple[str, ...], command: Command
) -> None:
    command.configure("model: openai:gpt-5\nplan_model: mistral:large\n")
    ended = command("models", "--model", "anthropic:claude-opus-5-5", *flags)
    assert ended.out.startswith("anthropic:claude-opus-5-5: cannot be asked"), ended.out
    assert "gpt-5 " not in ended.out
    assert "openai:gpt-5 (the default)" in command("models", "--no-call").out


@pytest.mark.slow
def test_no_key_of_the_settings_is_written_down(command: Command) -> None:
    keys = {name: f"canary-{name}-0123456789" for name in SECRET if name != "password"}
    paper(command.folder)
    command.configure("".join(f"{name}: {key}\n" for name, key in keys.items()))
    shown = [command("run", "--fast", "paper.md", "--json"), *(command(*words) for words in LOOKS)]
    assert shown[0].code == 3, shown[0].err
    written = [path.read_bytes() for path in (command.folder / "tasks").rglob("*") if path.is_file()]
    for key in keys.values():
        assert not [1 for text in written if key.encode() in text]
        assert not [1 for ended in shown if key in ended.out + ended.err]


# Which model counts


def test_a_recording_is_found_from_any_folder(command: Command) -> None:
    paper(command.folder)
    (command.folder / "replies.jsonl").write_text('{"kind": "header"}\n')
    ended = command("run", "--fast", "paper.md", "--code-model", "replay:replies.jsonl", "--stop-at", "plan")
    assert ended.code == 0, ended.err
    kept = command.document("paper", "task.json")["settings"]
    assert kept["code_model"] == f"replay:{command.folder / 'replies.jsonl'}"
    assert (kept["model"], kept["plan_model"]) == ("offline", "")


@pytest.mark.slow
@pytest.mark.parametrize("use", ["--plan-model", "--code-model"])
def test_a_person_is_asked_about_the_plan_where_any_model_that_is_used_costs(use: str, command: Command) -> None:
    paper(command.folder)
    with LlmServer(always(Says(json.dumps(read(PAPER).plan), piece=900))) as server:
        served = (use, "vllm:tiny", "--base-url", server.base_url, "--until", "plan_review")
        screen = in_terminal(command, "run", "--fast", "paper.md", *served, answers=["approve"])
    assert "Nothing is written before you approve it" in screen.text
    assert (screen.code, command.document("paper", "plan_review.json")["by"] == "auto") == (0, False), screen.text


@pytest.mark.slow
def test_a_model_that_no_phase_uses_makes_nobody_be_asked(command: Command) -> None:
    paper(command.folder)
    (command.folder / "replies.jsonl").write_text('{"kind": "header"}\n')
    unused = ("--model", "vllm:tiny", "--plan-model", "offline", "--code-model", "replay:replies.jsonl")
    screen = in_terminal(command, "run", "--fast", "paper.md", *unused, "--until", "plan_review")
    assert (screen.code, command.document("paper", "plan_review.json")["by"]) == (0, "auto"), screen.text


def test_a_key_is_never_shown(command: Command) -> None:
    with LlmServer(always(Says(f"it is {KEY}"))) as server:
        command.configure(f"model: compatible:x\nbase_url: {server.base_url}\napi_key: {KEY}\n")
        for arguments in ([], ["--json"], ["--no-call"]):
            ended = command("models", *arguments, OPENAI_API_KEY=KEY + "9")
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
    assert "prices.yaml: openai:gpt-5, in must be a number (0 or more), not 'cheap'" in ended.err


SILENT = ({"id": "tiny"},)


def test_a_window_that_nobody_says_is_asked_for_and_never_guessed(command: Command) -> None:
    told = "the context window is not known, and the server does not say it"
    with LlmServer(models=SILENT) as server:
        command.configure(f"model: vllm:tiny\nbase_url: {server.base_url}\n")
        shown = command("models", "--no-call").out
        assert told in shown
        assert "--context-tokens N" in shown
        again = command("models", "--no-call", PIPELINE_CONTEXT_TOKENS="70000").out
        assert "reads and writes 70,000 tokens at once" in again
        assert told not in again
    with LlmServer(models=({"id": "tiny", "max_model_len": 40_960},)) as server:
        command.configure(f"model: vllm:tiny\nbase_url: {server.base_url}\n")
        shown = command("models", "--no-call").out
        assert "reads and writes 40,960 tokens at once" in shown
        assert told not in shown


@pytest.mark.slow
def test_a_run_without_a_known_window_asks_the_user_before_it_asks_the_model(command: Command) -> None:
    paper(command.folder)
    plan = Says(json.dumps(read(PAPER).plan), piece=900)
    flags = ("--model", "vllm:tiny", "--review", "auto", "--until", "plan")
    with LlmServer(plan, models=SILENT) as server:
        ended = command("run", "--fast", "paper.md", *flags, "--base-url", server.base_url)
        assert (ended.code, server.asked) == (1, 0)
        assert "the context window is not known" in ended.err
        assert "--context-tokens N" in ended.err
        ended = command("resume", "paper", *flags, "--base-url", server.base_url, "--context-tokens", "50000")
        assert (ended.code, server.asked) == (0, 1), ended.err


def test_a_window_that_is_only_usual_is_told_once(command: Command) -> None:
    paper(command.folder)
    plan = Says(json.dumps(read(PAPER).plan), piece=900)
    with LlmServer(plan, Status(401, error_body("no")), models=({"id": "Qwen/Qwen3-32B"},)) as server:
        flags = ("--model", "vllm:Qwen/Qwen3-32B", "--base-url", server.base_url, "--review", "auto")
        ended = command("run", "--fast", "paper.md", *flags)
        assert ended.err.count("as models of that name usually have") == 1, ended.err


def test_what_a_model_can_is_shown(command: Command) -> None:
    command.configure("model: openai:gpt-5\n")
    row = command("models", "--json", "--no-call").json()["models"][0]
    assert (row["window"], row["reasoning"], row["vision"]) == (272_000, True, True)
    assert (
        "272,000 tokens at once, reasons, sees pictures; $1.25 a million tokens in"
        in command("models", "--no-call").out
    )


def test_a_plan_that_was_cut_off_goes_on_with_the_window_that_it_was_begun_with(command: Command) -> None:
    paper(command.folder)
    plan = Says(json.dumps(read(PAPER).plan), piece=900)
    arguments = ("--model", "vllm:tiny", "--until", "plan")
    with LlmServer(Says("no plan"), Status(401, error_body("no")), plan) as server:
        assert command("run", "--fast", "paper.md", *arguments, "--base-url", server.base_url).code == 1
        server.models = ({"id": "tiny", "max_model_len": 40_960},)  # started anew, with another window
        assert command("resume", "paper", *arguments, "--base-url", server.base_url).code == 0
        assert server.asked == 3
        assert server.requests[1].body["messages"] == server.requests[2].body["messages"]
