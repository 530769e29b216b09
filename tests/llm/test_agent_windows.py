"""What servers of one's own say of a window, each in its own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from phases.llm.error_classification import Server, classify_status, window_told
from phases.llm.model import OVERFLOW, Model
from phases.llm.prices import facts_by_name, plain_name, tariff_of
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import open_server_model
from pipeline.base.errors import PhaseError
from tests.agents import carry_out, small_plan
from tests.llm_server import Answer, LlmServer, Says, Status, call, error_body

pytest.importorskip("openai", reason="the openai package is not installed")


def served(server: LlmServer, provider: str, name: str = "tiny") -> Model:
    return open_server_model(f"{provider}:{name}", PROVIDERS[provider], Access(server.base_url))


OLLAMA: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "it is loaded": ({"/api/ps": {"models": [{"name": "tiny:latest", "context_length": 16_384}]}}, 16_384),
    "its own file sets it": ({"/api/show": {"parameters": 'stop "x"\nnum_ctx    8192\n'}}, 8_192),
    "loaded goes before its file": (
        {
            "/api/ps": {"models": [{"name": "tiny", "context_length": 4_096}]},
            "/api/show": {"parameters": "num_ctx 8192"},
        },
        4_096,
    ),
}


@pytest.mark.parametrize("case", OLLAMA)
def test_ollama_says_what_it_serves(case: str) -> None:
    pages, window = OLLAMA[case]
    with LlmServer(models=({"id": "tiny:latest"},), pages=pages) as server:
        assert served(server, "ollama").window == window


def test_what_a_model_was_trained_with_is_not_what_ollama_serves() -> None:
    pages = {"/api/show": {"model_info": {"llama.context_length": 131_072}, "parameters": 'stop "x"'}}
    with (
        LlmServer(models=({"id": "llama3.1:8b"},), pages=pages) as server,
        pytest.raises(PhaseError, match="not known"),
    ):
        print(served(server, "ollama", "llama3.1:8b").window)


def test_llamacpp_says_what_it_was_started_with() -> None:
    pages = {"/props": {"default_generation_settings": {"n_ctx": 12_288}}}
    with LlmServer(models=({"id": "tiny", "meta": {"n_ctx_train": 131_072}},), pages=pages) as server:
        assert served(server, "llamacpp").window == 12_288


@pytest.mark.parametrize("page", [[], {"default_generation_settings": 3}, "no JSON", None])
def test_words_that_make_no_sense_leave_what_the_list_says(page: Any) -> None:
    pages = {} if page is None else {"/props": page}
    with LlmServer(models=({"id": "tiny", "meta": {"n_ctx": 9_216}},), pages=pages) as server:
        assert served(server, "llamacpp").window == 9_216


def test_a_model_behind_a_gateway_has_its_usual_window_and_no_price() -> None:
    with LlmServer(models=({"id": "deepseek/deepseek-v4-pro"},)) as server:
        model = served(server, "compatible", "deepseek/deepseek-v4-pro")
        assert model.window == facts_by_name("deepseek-v4-pro").window > 100_000
        assert not model.priced


def test_a_window_that_was_recorded_goes_before_the_table_and_what_the_user_says_before_both() -> None:
    for said, window in ((0, 200_000), (50_000, 50_000)):
        model = open_server_model("openai:gpt-5", PROVIDERS["openai"], Access("http://h/v1", context_tokens=said))
        model.take_window(200_000)  # type: ignore[attr-defined] # the protocol AssumesWindow, which Model is not
        assert model.window == window


@pytest.mark.parametrize("name", ["google:gemini-2.5-pro", "deepseek:deepseek-v4-pro", "mistral:mistral-large-latest",
                                  "groq:openai/gpt-oss-120b", "openrouter:qwen/qwen3-8b"])  # fmt: skip
def test_the_vendors_models_have_a_window_and_a_price(name: str) -> None:
    tariff = tariff_of(name, {})
    assert tariff.window >= 100_000
    assert 0 < tariff.input < tariff.output


def test_a_name_is_known_again_however_it_is_served() -> None:
    names = ("Qwen/Qwen3-8B", "openrouter/qwen/qwen3-8b:free", "qwen3-8b-2025-04-28", "qwen3-8b")
    assert {plain_name(name) for name in names} == {"qwen3-8b"}
    assert json.dumps(facts_by_name("nobody-knows-it")._asdict()).count("0") >= 1


TOLD = {
    "OpenAI": (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.",
        8192,
    ),
    "Anthropic": ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
    "Anthropic, with the reply": (
        "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
        200_000,
    ),
    "llama.cpp": ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
    "Google": ("The input token count (1200000) exceeds the maximum number of tokens allowed (1,048,576).", 1_048_576),
    "Mistral": ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
    "nobody": ("Please reduce the length of the messages or completion.", 0),
}


@pytest.mark.parametrize("who", TOLD)
def test_a_window_is_learnt_from_the_words_of_a_refusal(who: str) -> None:
    words, window = TOLD[who]
    error = classify_status(Server("compatible", "h", "m"), 400, {}, error_body(words))
    assert error.outcome == OVERFLOW
    assert window_told(error) == window


@pytest.mark.parametrize("resumed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_refused_length_sets_the_window_and_no_later_request_is_too_long_again(resumed: bool, tmp_path: Path) -> None:
    window, refused = 12_000, list[int]()

    def answer(body: dict[str, Any]) -> Answer:
        said = sum(len(str(message.get("content") or "")) for message in body["messages"])
        told = len([message for message in body["messages"] if message["role"] == "assistant"])
        if said // 4 + 1_000 > window:
            refused.append(said)
            return Status(400, error_body(f"This model's maximum context length is {window} tokens."))
        if resumed and told == 9 and not gone:
            gone.append(True)
            return Status(401, error_body("no"))
        return Says("done") if told > 12 else Says("", (call("Read", file_path="a.py", offset=told + 1),))

    gone: list[bool] = []
    long = "".join(f"LINE_{number} = '{'x' * 120}'\n" for number in range(40))
    first = Says("", (call("Write", file_path="a.py", content=long),))
    script: list[Any] = [first, *[answer] * 60]
    with LlmServer(*script, models=({"id": "tiny", "max_model_len": 90_000},)) as server:
        for _ in range(1 + resumed):
            model = open_server_model("compatible:tiny", PROVIDERS["compatible"], Access(server.base_url))
            with suppress(PhaseError):
                carry_out(tmp_path, model, small_plan("a.py"))
            assert model.window == (window if refused else 90_000)
        assert len(refused) == 1
