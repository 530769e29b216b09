"""What the adapters are made of: event streams, redaction, prices, providers, waiting."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.llm import prices
from phases.llm.adapters.streams import LARGEST_EVENT, read_events
from phases.llm.error_classification import Server, classify_event, classify_status, length_limit
from phases.llm.factory import open_model
from phases.llm.model import DEEPEST, Message, Reply, Request, ToolCall, as_model, is_deep
from phases.llm.prices import UNKNOWN, Usage, tariff_of
from phases.llm.providers import (
    PROVIDERS,
    Access,
    Provider,
    address_of,
    gateways_in,
    key_of,
    keys_in,
    provider_of,
    with_settings,
)
from phases.llm.redaction import redact_reply, redact_text, redact_value
from phases.llm.server_model import LONGEST_PATIENCE, ask_patiently, open_server_model
from pipeline.base.errors import FormatError, Interrupted, PhaseError, UsageError
from pipeline.engine.settings import SECRET, STORED, Settings
from tests.papers import HANGS, ROOT
from tests.work import must_end

ASK = Request((Message("user", "hello"),))

# Event streams

LINE = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=12)


@pytest.mark.slow
@given(
    events=st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
@example(events=[["a"], ["🌍"]], end="\r\n", cuts=list(range(60)))
def test_events_are_the_same_however_the_bytes_are_cut(events: list[list[str]], end: str, cuts: list[int]) -> None:
    data = "".join("".join(f"data: {line}{end}" for line in event) + end for event in events).encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:stop] for start, stop in pairwise(places)]
    assert [event.data for event in read_events(pieces)] == ["\n".join(event) for event in events]


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"data\n\n")
def test_any_bytes_are_events_or_a_format_error(data: bytes) -> None:
    try:
        whole = list(read_events([data]))
    except FormatError:
        return
    assert whole == list(read_events([data[at : at + 1] for at in range(len(data))]))


@pytest.mark.parametrize(
    ("data", "events"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"event: x\ndata: 1\n\n", [("x", "1")], id="a name"),
        pytest.param(b"event: x\n\ndata: 1\n\n", [("", "1")], id="a name without data is forgotten"),
        pytest.param(b"data: 1\ndata: 2\n\n", [("", "1\n2")], id="two lines"),
        pytest.param(b"id: 7\nretry: 9\ndata: 1\n\n", [("", "1")], id="other fields"),
        pytest.param(b"data: 1\n\ndata: 2\n", [("", "1")], id="an event that is cut off"),
        pytest.param(b"data: 1\n\ndata: [DONE]", [("", "1"), ("", "[DONE]")], id="an end mark without a line end"),
        pytest.param(b"data:  two\n\n", [("", " two")], id="one space is taken off"),
        pytest.param(b"\xef\xbb\xbfdata: 1\n\n", [("", "1")], id="a byte order mark"),
        pytest.param(b"data: 1\n\ndata: \xf0\x9f", [("", "1")], id="a letter that is cut off"),
    ],
)
def test_events_are_read_as_the_standard_has_it(data: bytes, events: list[tuple[str, str]]) -> None:
    assert list(read_events([data])) == events


@pytest.mark.parametrize("piece", [b"x" * 65536, b"data: " + b"y" * 65530], ids=["a line", "an event"])
def test_what_never_ends_is_given_up(piece: bytes) -> None:
    if piece.startswith(b"data"):
        piece += b"\n"
    with pytest.raises(FormatError, match="without an end"):
        list(read_events([piece] * (LARGEST_EVENT // 65536 + 2)))


# Redaction

KEY = "canary+key/0123456789=é"
SHAPED = (
    "sk-proj-abcdefghijklmnop0123456789",
    "sk-ant-api03-abcdefghijklmnop-0123456789_AA",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijklmnop",
    "xoxb-123456789012-abcdefghijkl",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk+/=\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,12\n\nMIIE\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg",
    "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",  # in two parts, so that nobody takes them for real ones
    "gsk_" + "Ab12Cd34" * 6,
    "nvapi-" + "Ab12_d34-fGh" * 5,
    "r8_" + "Ab12Cd34" * 4 + "Ab12C",
    "glpat-" + "Ab12-d34_fGh56jK89mN",
    "pypi-" + "AgEIcHlwaS5vcmcCJDU3" * 4,
    "npm_" + "Ab12Cd34Ef56" * 3,
    "sk_live_" + "51Ab12Cd34Ef56Gh78",
    "sk_test_" + "51Ab12Cd34Ef56Gh78",
    "rk_live_" + "51Ab12Cd34Ef56Gh78",
    "dop_v1_" + "0a1b2c3d" * 8,
    "SG." + "Ab12Cd34Ef56Gh78Ij90Kl" + "." + "Ab12_d34-f" * 4 + "xyz",
    "hvs." + "CAESIJ12" * 4,
    "ya29." + "a0AfH6SM" * 4,
    "dapi" + "0a1b2c3d" * 4,
    "shpat_" + "0A1b2c3d" * 4,
    "https://hooks.slack.com/services/" + "T0ABCDEF1/B0ABCDEF1/" + "Ab12Cd34" * 3,
    "postgresql+psycopg2://app:" + "s3cretpass9" + "@db.internal:5432/app",
    "mongodb+srv://app:" + "s3cretpass9" + "@cluster.example.net/app?retryWrites=true",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "ASIA" + "0A1B2C3D" * 2,
    "AIza" + "Ab12_" * 7,
    *(f"gh{letter}_" + "Ab12Cd34" * 4 for letter in "ousr"),
    *(f"sh{letters}_" + "0A1b2c3d" * 4 for letters in ("pca", "ppa", "pss")),
    *(f"{letter}k_test_" + "51Ab12Cd34Ef56Gh78" for letter in "sr"),
    *(f"{name}://app:" + "s3cretpass9" + "@db:1/app" for name in ("mysql", "mariadb", "rediss", "amqp")),
)


@pytest.mark.parametrize("key", SHAPED, ids=lambda key: str(key)[:24])
def test_what_looks_like_a_key_is_taken_out(key: str) -> None:
    assert redact_text(f"before {key}") == "before [redacted]"
    assert redact_text(f'k = "{key}" after').startswith('k = "[redacted]')


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-dialogue-systems-2019-and-later",
        "from sklearn import svm  # sk-learn",
        "sk-a-list-of-words-without-any-digit-in-it",
        "AKIA is a prefix",
        "risk-0123456789-0123456789-0123",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "xoxo-love",
        "hf_model = hf_hub_download(repo_id, hf_tokenizer_of_the_language_model_that_is_large)",
        "npm_config_cache=/tmp npm_package_dependencies_of_the_workspace_2024",
        "def sk_test_train_split_2(): return rk_live_rows, gsk_kernel, r8_unorm, r8_g8_b8_a8_unorm",
        "pypi-server and glpat-your-personal-access-token and nvapi-headers-for-version-2-of-it",
        "https://pypi.org/project/pypi-attestations/0.0.27",
        "eyJhbGciOiJIUzI1NiJ9 is the head of a token, eyJ.eyJ.sig its shape",
        "test_sk_test_0123456789abcdef_of_x = 1",
        "postgresql://user:password@localhost:5432/app and redis://localhost:6379/0 and mysql://root:@127.0.0.1/x",
        "https://hooks.slack.com/services/T/B/x, hvs.token, SG.id.secret, ya29.token, dapitest, do_v1_",
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    assert redact_text(text, ("short", "")) == text


@given(before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_our_key_is_taken_out_of_base64_wherever_it_stands(before: bytes, after: bytes) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        coded = encode(before + KEY.encode() + after).decode()
        cleaned = redact_text(coded, (KEY,))
        assert "[redacted]" in cleaned
        left = max(map(len, cleaned.split("[redacted]")))
        assert left <= len(encode(max(before, after, key=len)).decode()) + 4


@pytest.mark.parametrize("spelling", [KEY, quote(KEY), quote(KEY, safe="")], ids=["plain", "in a path", "in a query"])
def test_our_key_is_taken_out_in_every_spelling(spelling: str) -> None:
    assert redact_text(f"a{spelling}b", ("other-key-1", KEY)) == "a[redacted]b"


def test_a_key_that_begins_with_another_is_taken_out_whole() -> None:
    assert redact_text("abcdefgh12345678", ("abcdefgh", "abcdefgh12345678")) == "[redacted]"


@given(st.text(max_size=300))
def test_redaction_is_done_once_and_for_all(text: str) -> None:
    once = redact_text(text, (KEY,))
    assert redact_text(once, (KEY,)) == once


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("sk-", marks=pytest.mark.slow),
        "-----BEGIN PRIVATE KEY-----",
        pytest.param("AKIA", marks=pytest.mark.slow),
        "-",
        "xoxb-",
        "sk-a" * 5,
        pytest.param("-----BEGIN ", marks=pytest.mark.slow),
        pytest.param("hf_", marks=pytest.mark.slow),
        pytest.param("glpat-", marks=pytest.mark.slow),
        pytest.param("pypi-a.", marks=pytest.mark.slow),
        pytest.param("eyJ", marks=pytest.mark.slow),
        "eyJaaaaaaaa.",
        "sk_live_",
        pytest.param("SG.", marks=pytest.mark.slow),
        pytest.param("hvs.a", marks=pytest.mark.slow),
        pytest.param("redis://a:", marks=pytest.mark.slow),
        pytest.param("postgres://:1", marks=pytest.mark.slow),
        pytest.param("https://hooks.slack.com/services/TAAAAAA/", marks=pytest.mark.slow),
    ],
)
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    text = piece * (2**20 // len(piece))
    with must_end():
        redact_text(text, (KEY,))


def test_a_reply_is_clean_at_any_depth() -> None:
    reply = Reply("ok", KEY, (ToolCall(KEY, KEY, {KEY: [{"a": KEY}, 1, None, [KEY]]}),), detail=f"said {KEY}")
    clean = redact_reply(reply, (KEY,))
    assert KEY not in repr(clean)
    assert clean.calls[0].arguments == {"[redacted]": [{"a": "[redacted]"}, 1, None, ["[redacted]"]]}
    assert re.fullmatch(r"[a-z]+", clean.calls[0].id)


def test_a_reply_that_is_nested_without_end_is_cleaned_without_falling_over() -> None:
    value: Any = KEY
    for _ in range(5_000):
        value = [{"a": value}]
    clean = redact_value(value, (KEY,))
    text = ""
    while not isinstance(clean, str):
        text, clean = "[{", clean[0]["a"]
    assert (text, clean) == ("[{", "[redacted]")


@pytest.mark.slow
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)
                    | st.dictionaries(st.text(max_size=2), inner, max_size=2), max_leaves=30), st.integers(1, 99))  # fmt: skip
def test_a_value_is_deep_from_one_level_over_the_limit_on(value: Any, more: int) -> None:
    def levels(one: Any) -> int:
        children = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if children is None else 1 + max(map(levels, children), default=0)

    for _ in range(more):
        value = [value, {}]
    assert is_deep(value) is (levels(value) > DEEPEST)


# Prices


def test_the_table_that_comes_along_is_whole_and_dated() -> None:
    table = json.loads((Path(prices.__file__).with_name("model_facts.json")).read_text(encoding="utf-8"))
    assert len(table["models"]) > 1_000
    assert len(table["windows"]) > 1_000
    assert all(row["window"] > 0 for row in table["windows"].values())
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", table["date"])
    assert "List prices, check yours" in table["about"]
    for name in table["models"]:
        tariff = tariff_of(name, {})
        assert tariff.known
        assert min(tariff.input, tariff.cached, tariff.output) >= 0
        assert name.partition(":")[0] in PROVIDERS


def test_a_price_is_found_by_name_then_by_the_longest_prefix_and_the_users_own_goes_first() -> None:
    own = {"openai:*": {"in": 1, "out": 1}, "openai:gpt-*": {"in": 2, "out": 2}, "openai:gpt-x": {"in": 3, "out": 3}}
    assert [tariff_of(f"openai:{name}", own).input for name in ("gpt-x", "gpt-y", "z", "gpt-5")] == [3, 2, 1, 2]
    assert tariff_of("openai:gpt-5-2031-01-31", {}) == tariff_of("openai:gpt-5", {})
    assert tariff_of("openai:gpt-5", {}).known
    assert tariff_of("openai:gpt-5-made-up", {}) == UNKNOWN
    assert tariff_of("ollama:anything", {}).usd(Usage(10**6, 0, 10**6)) == 0
    assert tariff_of("a:b", {"models": {"a:b": {"in": 4, "out": 4}}}).input == 4


def test_what_a_call_costs() -> None:
    tariff = tariff_of("a:b", {"a:b": {"in": 2, "cached": 0.5, "out": 10}})
    assert tariff.usd(Usage(1_000_000, 400_000, 100_000)) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1.0)
    assert tariff.usd(Usage(1_000_000, 0, 0, written=1_000_000)) == pytest.approx(2.5)
    dear = tariff_of("a:b", {"a:b": {"in": 2, "out": 10, "written": 4}})
    assert dear.usd(Usage(1_000_000, 0, 0, written=1_000_000)) == pytest.approx(4)
    assert tariff.usd(Usage(5, 10, 0)) == pytest.approx(10 * 0.5 / 1e6)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        pytest.param({"models": 3}, "prices.yaml: 'models' must map", id="models that are none"),
        pytest.param({"a:b": 3}, "prices.yaml: a:b must have prices", id="a number for a row"),
        pytest.param({"a:b": {"in": 1}}, "prices.yaml: a:b has no price 'out'", id="half a row"),
        pytest.param({"a:b": {"in": -1, "out": 1}}, "a:b, in must be a number (0 or more), not -1", id="below 0"),
        pytest.param({"a:b": {"in": True, "out": 1}}, "a:b, in must be a number (0 or more), not True", id="yes"),
        pytest.param(
            {"a:b": {"in": float("nan"), "out": 1}}, "a:b, in must be a number (0 or more), not nan", id="not a number"
        ),
        pytest.param(
            {"a:b": {"in": 1, "out": 1, "window": 1.5}}, "window must be a number (0 or more), not", id="half a token"
        ),
        pytest.param(
            {"a:b": {"in": 1, "ouch": 1}},
            "a:b has 'ouch', and only in, cached, written, out, window, reply",
            id="a key",
        ),
    ],
)
def test_a_price_that_makes_no_sense_is_refused_by_file_and_key(table: Any, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        open_model("ollama:x", Access(prices=table))


# Names, addresses, keys


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_opens_without_a_key_and_without_a_network(name: str) -> None:
    model = open_model(
        f"{name}:org/some-model:free", Access(base_url="" if PROVIDERS[name].base_url else "http://h/v1")
    )
    assert as_model(model) is model
    assert model.name == f"{name}:org/some-model:free"
    assert model.detail.startswith("org/some-model:free at ")
    assert model.secrets == ()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param(
            "gpt-5",
            "there is no model 'gpt-5'; write PROVIDER:NAME, like openai:gpt-5; known: offline, replay:PATH, openai:NAME",
            id="no provider",
        ),
        pytest.param("antropic:x", "did you mean 'anthropic:…'?", id="a mistyped provider"),
        pytest.param("ofline", "did you mean 'offline'?", id="a mistyped offline"),
        pytest.param("", "there is no model ''", id="nothing"),
        pytest.param("openai", "there is no model 'openai'; did you mean 'openai:…'?", id="no colon"),
        pytest.param("openai: ", "needs a name after 'openai:'", id="a blank"),
        pytest.param("openai:a\nb", "needs a name after 'openai:'", id="two lines"),
    ],
)
def test_a_name_that_makes_no_sense_is_refused(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        open_model(name)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000", "ftp://host/v1", "http://", "http://user:secret@host/v1", "http://host:99999/v1",
        "http://[::1/v1", "https://host/v1?key=secret", "http://host/a b", "http://host/v1#x", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="base_url is not the address of a server") as refused:
        open_model("vllm:x", Access(base_url=url))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["openai:gpt-5", "compatible:x"])
def test_every_key_is_a_secret_whoever_it_is_for(name: str) -> None:
    environment = {
        "OPENAI_API_KEY": "from-environment",
        "ANTHROPIC_API_KEY": "of-another",
        "OPENROUTER_API_KEY": "short",
    }
    access = Access("http://h/v1", "from-setting", environment, unsent=("from-setting", "not-even-used"))
    assert set(open_model(name, access).secrets) == {"from-setting", "from-environment", "of-another", "not-even-used"}


NO_KEYS = {**{provider.key_setting: "" for provider in PROVIDERS.values()}, "api_key": "mine"}


@pytest.mark.parametrize(
    ("environment", "setting", "sent"),
    [
        pytest.param({"OPENAI_API_KEY": "variable"}, "setting", "variable", id="the variable first"),
        pytest.param({"OPENAI_API_KEY": ""}, "setting", "setting", id="a variable with nothing in it"),
        pytest.param({}, "setting", "setting", id="the setting"),
        pytest.param({"PATH": "/bin"}, "", "", id="neither, and the key of another server is none"),
    ],
)
def test_the_key_of_a_vendor_is_its_variable_else_its_own_setting(
    environment: dict[str, str], setting: str, sent: str
) -> None:
    settings = {**NO_KEYS, "openai_api_key": setting}
    told = with_settings(environment, settings)
    assert key_of(PROVIDERS["openai"], settings["api_key"], told) == sent
    assert key_of(PROVIDERS["compatible"], settings["api_key"], told) == "mine"
    assert environment.items() <= {**told, **environment}.items()
    assert key_of(PROVIDERS["anthropic"], settings["api_key"], told) == ""


def test_every_setting_that_holds_a_key_is_a_secret_one() -> None:
    settings = Settings()._asdict()
    assert {provider.key_setting for provider in PROVIDERS.values()} == set(SECRET) - {"password"}
    assert not set(SECRET) & set(STORED)
    assert len(keys_in(settings)) == len(SECRET) - 1


def test_the_window_is_the_settings_then_the_tables_and_never_a_guess() -> None:
    assert open_model("openai:gpt-5", Access(context_tokens=1234)).window == 1234
    assert open_model("openai:gpt-5").window == 272_000
    with pytest.raises(PhaseError, match="nothing listens"):
        print(open_model("ollama:x", Access("http://127.0.0.1:9/v1")).window)


def test_a_vendor_is_asked_at_the_gateway_that_is_named_for_it_and_another_one_is_not() -> None:
    gateways = gateways_in(Settings(openai_base_url="https://gate.example/v1")._asdict())
    access = Access(environment={}, gateways=gateways)
    assert open_model("openai:gpt-5", access).detail == "gpt-5 at gate.example"
    assert open_model("anthropic:claude-opus-5-5", access).detail == "claude-opus-5-5 at api.anthropic.com"
    assert open_model("openai:gpt-5", replace(access, base_url="http://mine/v1")).detail == "gpt-5 at mine"
    assert not any(name.endswith("base_url") for name in STORED), "no task says where a key is sent"
    with pytest.raises(UsageError, match="groq_base_url is not the address of a server"):
        open_model("groq:x", Access(gateways={"groq": "gate.example"}))


def test_the_offline_model_costs_no_import_of_a_network() -> None:
    program = (
        "import sys; from phases.agent.offline_model import OfflineModel; OfflineModel();"
        "sys.exit(any(name in sys.modules for name in ('ssl', 'socket', 'openai', 'anthropic', 'httpx2', 'tenacity')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT, timeout=HANGS).returncode == 0


def test_the_address_of_anthropic_is_taken_with_or_without_its_version() -> None:
    assert (
        address_of(PROVIDERS["anthropic"], "http://h/v1/")
        == address_of(PROVIDERS["anthropic"], "http://h")
        == "http://h"
    )
    assert address_of(PROVIDERS["vllm"], "http://h/v1/") == "http://h/v1"


def test_a_price_is_told_where_it_is_known() -> None:
    assert open_model("openai:gpt-5").price(1_000_000, 1_000_000) == pytest.approx(11.25)
    assert (open_model("openai:other").priced, open_model("openai:other").price(9, 9)) == (False, 0.0)
    assert open_model("ollama:x").priced


@pytest.mark.slow
@given(st.text(max_size=20) | st.builds("{}:{}".format, st.sampled_from([*PROVIDERS]), st.text(max_size=5)))
def test_any_name_is_a_provider_or_a_usage_error(name: str) -> None:
    head, colon, rest = name.partition(":")
    if colon and head in PROVIDERS and rest and rest.isprintable() and rest == rest.strip():
        assert provider_of(name).name == head
        return
    with pytest.raises(UsageError, match="model"):
        provider_of(name)


# Recorded replies


def recorded(path: Path, thread: str, **reply: Any) -> str:
    """A recording of one reply."""
    row = {"kind": "reply", "key": {"thread": thread, "turn": 1}, "result": {"outcome": "ok", "calls": [], **reply}}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return f"replay:{path}"


def test_a_recording_that_is_over_is_a_fatal_reply_that_says_what_to_do(tmp_path: Path) -> None:
    name = recorded(tmp_path / "r.jsonl", "implement", text="hi")
    model = open_model(name)
    assert model.ask(Request(ASK.messages, thread="implement")).text == "hi"
    told = f"{name} holds no reply for turn 2 of implement; record a longer one, or replay the thread that is there"
    assert model.ask(Request(ASK.messages, thread="implement", turn=2)) == Reply("fatal", detail=told)


def test_a_task_that_was_planned_by_rules_is_replayed_with_the_rules(tmp_path: Path) -> None:
    reply = open_model(recorded(tmp_path / "r.jsonl", "implement")).ask(Request(ASK.messages, thread="plan"))
    assert reply.outcome == "fatal"
    assert "holds no reply for turn 1 of plan: the task was planned by rules" in reply.detail
    assert "--plan-model offline" in reply.detail
    later = Request(ASK.messages, thread="plan", turn=2)
    assert "--plan-model" not in open_model(recorded(tmp_path / "p.jsonl", "plan")).ask(later).detail


def test_a_recording_with_arguments_that_nobody_can_walk_is_refused(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(DEEPEST):
        deep = {"a": deep}
    name = recorded(tmp_path / "r.jsonl", "plan", calls=[{"id": "x", "name": "Write", "arguments": deep}])
    with pytest.raises(PhaseError, match="line 1: not a recorded reply"):
        open_model(name)


def test_a_recording_with_raw_tabs_in_its_texts_is_read(tmp_path: Path) -> None:
    arguments = {"content": "if x:\n\treturn 1\n"}
    name = recorded(tmp_path / "r.jsonl", "plan", calls=[{"id": "x", "name": "Write", "arguments": arguments}])
    path = tmp_path / "r.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("\\t", "\t"), encoding="utf-8")
    reply = open_model(name).ask(Request(ASK.messages, thread="plan"))
    assert [dict(call.arguments) for call in reply.calls] == [arguments]


# Verdicts

HERE = Server("openai", "host:1", "tiny", "OPENAI_API_KEY", ("a-secret-key",))
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["error", "message", "code", "type", "detail"]), inner, max_size=3))  # fmt: skip


@given(status=st.integers(300, 599), body=JSON | st.text(max_size=50), wait=st.text(max_size=9))
@example(status=500, body={"error": {"error": {"message": "x"}}}, wait="1e99")
def test_any_error_of_a_server_is_one_line_with_its_outcome(status: int, body: Any, wait: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    error = classify_status(HERE, status, {"retry-after": wait}, text)
    assert error.outcome in ("overflow", "rate_limited", "unavailable", "transient", "fatal")
    assert str(error).isprintable()
    assert error.wait is None or 0 <= error.wait < 1e13
    assert classify_event(HERE, body).outcome in ("overflow", "rate_limited", "unavailable", "transient", "fatal")


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        pytest.param("max_tokens: 32768 > 8,192, the maximum number of output tokens", 8192, id="it names its limit"),
        pytest.param("max_tokens is too large", 0, id="it names none, and the port of its address is none"),
        pytest.param("the prompt has 8192 words", 0, id="it refuses something else"),
    ],
)
def test_the_limit_of_a_reply_is_read_from_the_servers_own_words(words: str, limit: int) -> None:
    server = Server("ollama", "localhost:11434", "tiny")
    error = classify_status(server, 400, {}, json.dumps({"error": {"message": words}}))
    assert "11434" in str(error)
    assert length_limit(error, 32_768) == limit


# Providers


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_all_that_is_said_of_a_provider_stands_in_its_row(provider: Provider) -> None:
    address = provider.base_url or "http://localhost:9/v1"
    model = open_server_model(f"{provider.name}:tiny", provider, Access(address, KEY, {}))
    assert model.name == f"{provider.name}:tiny"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert provider.wire.sdk in extras
    assert f"`{provider.name}:" in (ROOT / "docs" / "guide.md").read_text(), "users are told of it"


def test_every_adapter_is_some_providers() -> None:
    adapters = {
        path.stem
        for path in (ROOT / "phases" / "llm" / "adapters").glob("*.py")
        if "def open_adapter(" in path.read_text()
    }
    wires = {provider.wire for provider in PROVIDERS.values()}
    named = {module for wire in wires for module in (wire.adapter, wire.responses) if module}
    assert adapters == {module.rpartition(".")[2] for module in named}


# Waiting


def test_a_signal_during_a_wait_ends_it() -> None:
    asked = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    def ask(request: Request) -> Reply:
        nonlocal asked
        asked += 1
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        return Reply("rate_limited", wait=50.0)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            ask_patiently(ask, ASK)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert asked == 1


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["transient", "rate_limited", "unavailable", "empty", "ok", "fatal", "malformed"]),
                          st.none() | st.floats(0, 100)), min_size=1, max_size=60))  # fmt: skip
def test_no_row_of_replies_is_waited_for_without_end(script: list[tuple[str, float | None]]) -> None:
    waits: list[float] = []
    asked = iter([*script, *[("rate_limited", 0.0)] * 500])
    last = ask_patiently(lambda request: _reply(*next(asked)), ASK, sleep=waits.append, chance=lambda: 0.5)
    assert sum(waits) <= LONGEST_PATIENCE
    assert all(0.1 < wait <= 60 for wait in waits)
    assert last.tokens_in == len(waits) + 1


def _reply(outcome: str, wait: float | None) -> Reply:
    return Reply(outcome, tokens_in=1, wait=wait)
