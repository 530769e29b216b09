"""Models through a proxy of the user's setting: the way there, the exceptions, and words that name it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from phases.llm.adapters.connection import Timeouts, read_certificates
from phases.llm.model import Message, Reply, Request
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import Timing, open_server_model
from tests.llm_server import LlmServer, Says
from tests.proxy import PASSWORD, proxying
from tests.repositories import HOST, Certificates, certificates

ASK = Request((Message("user", "hello"),))


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def certificates_of_each_test() -> Iterator[None]:
    """A process reads them once, as the environment names them then."""
    read_certificates.cache_clear()
    yield
    read_certificates.cache_clear()


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


def ask(url: str, wire: str = "compatible", **environment: str) -> Reply:
    vendor = PROVIDERS[wire]
    key = {vendor.key_variable: "a-key-of-tests-1"} if vendor.key_variable else {}
    access = Access(url, "", {**environment, **key})
    return open_server_model(f"{wire}:tiny", vendor, access, timing=Timing(lambda seconds: None, lambda: 1.0)).ask(ASK)


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["compatible", "anthropic"])
def test_a_model_is_asked_through_the_proxy_of_the_setting(
    wire: str, tmp_path: Path, certified: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certified.ca_file)
    folder = Path(certified.ca_file).parent
    own = (str(folder / "server.pem"), str(folder / "server.key"))
    with LlmServer(Says("hi")) as server:
        port = int(server.host.rpartition(":")[2])
        with proxying(tmp_path, "407", port, own) as proxy:
            suffix = "" if wire == "anthropic" else "/v1"
            reply = ask(f"https://{HOST}{suffix}", wire, PIPELINE_PROXY=proxy.with_password)
            assert (reply.outcome, reply.text) == ("ok", "hi"), reply.detail
            assert set(proxy.asked) == {f"{HOST}:443"}


def test_a_server_of_this_machine_and_what_no_proxy_names_are_asked_straight(tmp_path: Path) -> None:
    with LlmServer(Says("hi"), Says("hi")) as server, proxying(tmp_path, "403") as proxy:
        assert ask(server.base_url, PIPELINE_PROXY=proxy.url).outcome == "ok"
        reply = ask("https://nowhere.invalid/v1", PIPELINE_PROXY=proxy.url, NO_PROXY="nowhere.invalid")
        assert "DNS" in reply.detail
        assert proxy.asked == []


def test_off_goes_straight_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://[::1")
    reply = ask("https://nowhere.invalid/v1", PIPELINE_PROXY="off", HTTPS_PROXY="http://[::1")
    assert "DNS" in reply.detail


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        pytest.param("403", "does not reach", marks=pytest.mark.slow),
        ("407", "does not reach"),
        pytest.param("silent", "fell silent behind", marks=pytest.mark.slow),
    ],
)
def test_a_proxy_that_does_not_lead_to_a_model_is_named(mode: str, words: str, tmp_path: Path) -> None:
    quick = Timeouts(connect=0.5, first=0.5, silence=0.5, whole=1.0)
    with proxying(tmp_path, mode) as proxy:
        access = Access(f"https://{HOST}/v1", "", {"PIPELINE_PROXY": proxy.url})
        timing = Timing(lambda seconds: None, lambda: 1.0)
        reply = open_server_model(
            "compatible:tiny", PROVIDERS["compatible"], access, timeouts=quick, timing=timing
        ).ask(ASK)
        assert f"127.0.0.1:{proxy.port} (the setting proxy)" in reply.detail, reply.detail
        assert words in reply.detail
        assert PASSWORD not in reply.detail


def test_a_proxy_that_is_not_there_is_named_for_a_model() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    reply = ask(f"https://{HOST}/v1", PIPELINE_PROXY=f"http://127.0.0.1:{port}")
    assert f"the proxy 127.0.0.1:{port} (the setting proxy) cannot be reached (connection refused)" in reply.detail
