"""What servers of one's own say of a window, each in its own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from phases.llm.model import Model
from phases.llm.prices import facts_by_name, plain_name, tariff_of
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import open_server_model
from pipeline.base.errors import PhaseError
from tests.llm_server import LlmServer

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
