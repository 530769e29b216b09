"""Servers that go on for ever, or burst: the adapters hold their limits with the real waits, on both wire formats."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from phases.llm.adapters.connection import Timeouts
from phases.llm.adapters.reply_builder import LARGEST_REPLY
from phases.llm.model import Message, Model, Request
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import Timing, open_server_model
from pipeline.base.errors import Interrupted
from tests.llm_server import Call, LlmServer, Raw, Says, always, anthropic_events, openai_chunks
from tests.memory import measure_growth
from tests.papers import HANGS, ROOT
from tests.web import floods, head, sends, serving
from tests.work import must_end

pytest.importorskip("openai", reason="the openai package is not installed")
pytest.importorskip("anthropic", reason="the anthropic package is not installed")

KEY = "sk-canary-0123456789-0123456789"
ASK = Request((Message("user", "hello"),))
MOST_GROWTH_MIB = 700


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def model_at(url: str, wire: str, *, timeouts: Timeouts | None = None) -> Model:
    """A model at this address, with its real waits between tries."""
    return _opened(url, wire) if timeouts is None else _opened(url, wire, timeouts, Timing(lambda seconds: None))


def _opened(url: str, wire: str, timeouts: Timeouts | None = None, timing: Timing | None = None) -> Model:
    access = Access(url, environment={f"{wire.upper()}_API_KEY": KEY})
    return open_server_model(f"{wire}:tiny", PROVIDERS[wire], access, timeouts=timeouts, timing=timing)


def url_of(server: LlmServer, wire: str) -> str:
    return server.anthropic_url if wire == "anthropic" else server.base_url


def streamed(wire: str, says: Says) -> list[bytes]:
    return list(openai_chunks(says) if wire == "openai" else anthropic_events(says))


@pytest.mark.slow
def test_hundreds_of_thousands_of_tiny_pieces_are_one_reply(wire: str) -> None:
    text = "abcdefgh" * 25_000
    with LlmServer(Raw([b"".join(streamed(wire, Says(text, piece=1)))])) as server:
        reply = model_at(url_of(server, wire), wire).ask(ASK)
    assert (reply.outcome, reply.text) == ("ok", text)


@pytest.mark.slow
def test_tiny_pieces_without_end_are_given_up_by_time(wire: str) -> None:
    start, piece, *_ = streamed(wire, Says("xx", piece=1))[-5:] if wire == "openai" else streamed(wire, Says("xx"))[2:4]

    def for_ever() -> Iterator[bytes]:
        yield start
        while True:
            yield b": nothing\n\n"

    with LlmServer(always(Raw(for_ever))) as server:
        reply = model_at(url_of(server, wire), wire, timeouts=Timeouts(whole=1.0)).ask(ASK)
    assert reply.outcome == "transient"
    assert "took longer than 1 seconds" in reply.detail
    assert piece


@pytest.mark.slow
def test_an_argument_of_fifty_megabytes_is_given_up_early(wire: str) -> None:
    arguments = json.dumps({"content": "x" * 50 * 2**20})
    growth = measure_growth()
    with LlmServer(Says(calls=(Call("Write", arguments),), piece=2**16)) as server:
        reply = model_at(url_of(server, wire), wire).ask(ASK)
    assert (reply.outcome, reply.calls) == ("malformed", ())
    assert f"more than {LARGEST_REPLY // 2**20} MiB" in reply.detail
    assert growth() < MOST_GROWTH_MIB


@pytest.mark.slow
@pytest.mark.parametrize("status", ["400 Bad", "500 Broken"])
def test_the_body_of_an_error_that_never_ends_is_given_up(status: str, wire: str) -> None:
    growth = measure_growth()
    with serving(floods(head("Content-Type: application/json", status=status), b"x" * 65536)) as server:
        reply = model_at(f"{server.base}/v1", wire, timeouts=Timeouts()).ask(ASK)
    assert reply.outcome == "malformed"
    assert "without an end" in reply.detail
    assert growth() < MOST_GROWTH_MIB


@pytest.mark.slow
@pytest.mark.parametrize("status", ["200 OK", "500 Broken"])
def test_a_packed_body_bursts_nothing(status: str, wire: str) -> None:
    packed = gzip.compress(b"data: " + b"x" * 2**29)
    lines = ("Content-Encoding: gzip", "Content-Type: text/event-stream", f"Content-Length: {len(packed)}")
    growth = measure_growth()
    with serving(sends(head(*lines, status=status) + packed)) as server:
        reply = model_at(f"{server.base}/v1", wire, timeouts=Timeouts()).ask(ASK)
    assert reply.outcome in ("malformed", "transient")
    assert growth() < MOST_GROWTH_MIB


@pytest.mark.slow
def test_a_line_that_never_ends_is_given_up(wire: str) -> None:
    with serving(floods(head("Content-Type: text/event-stream") + b"data: ", b"x" * 65536)) as server:
        reply = model_at(f"{server.base}/v1", wire, timeouts=Timeouts()).ask(ASK)
    assert reply.outcome == "malformed"
    assert "a line without an end" in reply.detail


def test_a_signal_while_a_server_hangs_ends_the_question_at_once(wire: str) -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    half = Raw(streamed(wire, Says("half"))[:4], after="hang")
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with LlmServer(half) as server:

            def send() -> None:
                server.hangs.wait(HANGS)
                os.kill(os.getpid(), signal.SIGUSR1)

            sender = threading.Thread(target=send)
            sender.start()
            with pytest.raises(Interrupted):
                model_at(url_of(server, wire), wire).ask(ASK)
            assert not server.lets_go.is_set()
            sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://nowhere.invalid/v1", id="no such name"),
        pytest.param("http://127.0.0.1:9/v1", id="nothing listens"),
        pytest.param("http://[100::1]:81/v1", id="an address that leads nowhere"),
        pytest.param("http://192.0.2.1:81/v1", id="a network that leads nowhere"),
    ],
)
def test_a_check_without_a_network_names_the_host_within_seconds(url: str, wire: str) -> None:
    with must_end():
        found = model_at(url, wire).check()
        assert found.reachable is False
        assert url.split("/")[2] in found.detail


@pytest.mark.slow
def test_a_server_that_takes_the_connection_and_is_silent_is_no_server(wire: str) -> None:
    over = threading.Event()

    def silence(connection: socket.socket) -> None:
        over.wait(HANGS)

    with serving(silence) as server:
        found = model_at(f"{server.base}/v1", wire).check()
        over.set()
    assert found.reachable is False
    assert "fell silent" in found.detail


PROGRAM = """
import json, os, sys
from phases.llm.model import Message, Request
from phases.llm.providers import Access
from phases.llm.providers import provider_of
from phases.llm.server_model import open_server_model
model = open_server_model(sys.argv[1], provider_of(sys.argv[1]), Access(base_url=sys.argv[2], environment=os.environ))
reply = model.ask(Request((Message("user", "hello"),)))
sys.stdout.write(json.dumps([reply.outcome, reply.text, reply.detail]))
"""


def test_a_folder_with_a_settings_file_of_a_stranger_changes_nothing(wire: str, tmp_path: Path) -> None:
    variable = PROVIDERS[wire].key_variable
    assert variable is not None
    with LlmServer(Says("mine")) as mine, LlmServer() as strangers:
        stranger = (
            f"{wire.upper()}_BASE_URL={url_of(strangers, wire)}\n{variable}=stolen-key-0123\nPIPELINE_BASE_URL=x\n"
        )
        for name in (".env", "config.yaml", ".netrc"):
            (tmp_path / name).write_text(stranger)
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"{wire}:tiny", url_of(mine, wire)],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), variable: KEY, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * HANGS,
        )
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout) == ["ok", "mine", ""]
        assert KEY in repr(mine.requests[0].headers)
        assert (strangers.asked, strangers.listings) == (0, [])
        assert KEY not in ended.stdout + ended.stderr
