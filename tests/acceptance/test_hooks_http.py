"""HTTP hooks: a server on this machine is told, and nothing that it does holds up a run or leads it elsewhere."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.hook import FAILED, HTTP, PASS, USER, Hook, HookResult
from phases.acceptance.http_hooks import send_observation
from phases.acceptance.payload import (
    EndingFacts,
    RunFacts,
    ToolFacts,
    ToolResponse,
    stop_input,
    tool_input,
)
from tests.papers import HANGS
from tests.strategies import QUICK
from tests.web import Script, floods, head, redirects, resets, says, sends, serving

RUN = RunFacts("s1", "r1", "/ws", "some-model")
AT = "2026-01-02T03:04:05.678Z"
SHORT = 0.3
"""Seconds for a hook that is meant to run out of time."""


def hook(url: str, seconds: float = HANGS, point: str = "accept_gate", **params: Any) -> Hook:
    return Hook(
        "watch", USER, point, kind=HTTP, seconds=seconds, failure_policy="fail_open", params={"url": url, **params}
    )


def ask(it: Hook, given: dict[str, Any] | None = None, context: ssl.SSLContext | None = None) -> HookResult:
    """Runs the hook; one that does not end in time fails the test instead of holding it up."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(send_observation, it, RUN, given or {}, AT, ssl_context=context)
        return asked.result(timeout=2 * HANGS)


def question_of(
    script: Script | None = None, given: dict[str, Any] | None = None, path: str = "/x", **params: Any
) -> str:
    """What a server was asked by a hook that passed."""
    with serving(script or says()) as server:
        result = ask(hook(server.base + path, **params), given)
    assert (result.status, result.reason) == (PASS, "")
    return server.questions[0]


def told_of(question: str) -> dict[str, Any]:
    value = json.loads(question.partition("\r\n\r\n")[2])
    assert isinstance(value, dict)
    return value


def test_the_server_is_told_which_hook_when_and_where() -> None:
    question = question_of()
    assert question.startswith("POST /x HTTP/1.1\r\n")
    assert "\r\ncontent-type: application/json\r\n" in question
    assert told_of(question) == {
        "hook_id": "watch",
        "point": "accept_gate",
        "scope": "user",
        "kind": "http",
        "mode": "observe",
        "run_id": "r1",
        "session_id": "s1",
        "triggered_at": AT,
    }


def test_with_metadata_it_is_told_what_happened_and_nothing_that_was_said_or_printed() -> None:
    ending = EndingFacts("7", "SECRET", True, "b", "h", last_block=("tests", "SECRET"))
    told = told_of(question_of(given=stop_input(hook(""), RUN, ending), include_metadata=True))
    assert told["metadata"]["workspace"]["changed"] is True
    assert (told["metadata"]["turn_id"], told["metadata"]["stop_hook_active"]) == ("7", False)
    assert "SECRET" not in str(told)


@pytest.mark.parametrize("point", ["after_tool_result", "after_tool_failure"])
def test_of_a_tool_call_the_name_is_told_and_neither_question_nor_answer(point: str) -> None:
    call = ToolFacts("7", "Write", {"content": "SECRET"}, "call-1", ToolResponse("SECRET", failed=True))
    given = tool_input(hook("", point=point), RUN, call) | {
        "result_content_preview": "SECRET",
        "execution_error": "SECRET",
    }
    told = told_of(question_of(given=given, point=point, include_metadata=True))
    assert (told["metadata"]["tool_name"], told["metadata"]["tool_use_id"]) == ("Write", "call-1")
    assert "SECRET" not in str(told)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "post"])
def test_the_method_is_the_one_of_the_configuration(method: str) -> None:
    question = question_of(method=method)
    assert question.startswith(f"{method.upper()} /x HTTP/1.1\r\n")
    assert told_of(question)["hook_id"] == "watch"


def test_headers_of_the_configuration_are_sent() -> None:
    question = question_of(headers={"Authorization": "Bearer abc", "Content-Type": "text/x", "X-Name": "J\u00f6rg\tB "})
    assert "\r\nx-name: J\u00f6rg\tB\r\n" in question
    assert "\r\nauthorization: Bearer abc\r\n" in question
    assert "\r\ncontent-type: text/x\r\n" in question
    assert "application/json" not in question


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/"),
        ("/a%20b/c?x=1&y=%2F", "/a%20b/c?x=1&y=%2F"),
        ("/a b/é?q=ü#frag", "/a%20b/%C3%A9?q=%C3%BC"),
        ("?a=1", "/?a=1"),
        ("/a\r\nX-Evil: 1", "/aX-Evil:%201"),
        ("/a\x00\x7f", "/a%00%7F"),
        ("/a\ud800", "/a%3F"),
    ],
    ids=ascii,
)
def test_a_path_is_sent_as_one_word(path: str, asked: str) -> None:
    assert question_of(path=path).startswith(f"POST {asked} HTTP/1.1\r\nhost: ")


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "204 No Content", "299 Odd"])
def test_a_success_passes(status: str) -> None:
    question_of(says(b"" if status.startswith("204") else b"thanks", status=status))


@pytest.mark.parametrize("status", [400, 404, 500, 599])
def test_a_refusal_fails_with_the_beginning_of_what_the_server_says(status: int) -> None:
    said = b"no \x1b[31mway\x1b[0m\x00 " + b"x" * 5_000
    with serving(says(said, status=f"{status} No")) as server:
        result = ask(hook(server.base + "/x?key=SECRET"))
    assert result.status == FAILED
    assert (
        result.reason == f"hook user:watch: {server.base}/x answered {status}; that is no success: no way " + "x" * 495
    )


def test_a_redirect_is_not_followed() -> None:
    with serving(says()) as other, serving(redirects(f"{other.base}/elsewhere")) as server:
        result = ask(hook(server.base))
    assert result.status == FAILED
    assert f"{server.base}/ answered 302; a redirect is not followed" in result.reason
    assert other.connections == 0


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(says()) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base)
        question_of()
    assert proxy.connections == 0


def no_names(*arguments: Any, **named: Any) -> list[Any]:
    raise AssertionError("a name was looked up")


def test_localhost_is_this_machine_and_no_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(says()) as server:
        monkeypatch.setattr(socket, "getaddrinfo", no_names)
        result = ask(hook(f"http://LocalHost:{server.port}/x"))
    assert result.status == PASS
    assert f"\r\nhost: localhost:{server.port}\r\n" in server.questions[0]


@contextmanager
def on_six(answer: bytes) -> Iterator[int]:
    """A server at ::1 and at no other address; its port."""
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no address ::1")
    listener.settimeout(HANGS)

    def serve() -> None:
        with listener.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(answer)

    with listener, ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        yield listener.getsockname()[1]
        served.result(timeout=HANGS)


@pytest.mark.parametrize("host", ["localhost", "[::1]"])
def test_a_server_that_listens_at_the_other_loopback_address_is_found(host: str) -> None:
    with on_six(head("Content-Length: 0")) as port:
        assert ask(hook(f"http://{host}:{port}/x")).status == PASS


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::1%25lo]/",
        "http://localhost.example.org/",
        "http://localhost./",
        "http://127.0.0.1.example.org/",
        "http://127.0.0.1\\@example.org/",
        "http://2130706433/",
        "http://127.1/",
    ],
)
def test_a_host_that_is_not_this_machine_is_never_asked(url: str) -> None:
    result = ask(hook(url))
    assert result.status == FAILED
    assert "hook user:watch: its url " in result.reason


@pytest.mark.parametrize(
    "url", ["", "localhost", "ftp://localhost/", "file:///etc/passwd", "http://", "http://localhost:x/", "http://localhost:99999/",
            "http://user:word@localhost/", "http://[::1/"],
)  # fmt: skip
def test_what_is_no_url_is_refused(url: str) -> None:
    result = ask(hook(url))
    assert (result.status, result.reason.startswith("hook user:watch: its url is n")) == (FAILED, True)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"method": "BREW"}, "hook user:watch: its method is none of GET, POST, PUT, PATCH, DELETE"),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "hook user:watch: its header 'X-A' cannot be sent"),
        ({"headers": {"X A": "1"}}, "hook user:watch: its header 'X A' cannot be sent"),
        ({"headers": {"X-A": " "}}, "hook user:watch: its header 'X-A' cannot be sent"),
        ({"headers": {"Content-Length": "0"}}, "hook user:watch: its header 'Content-Length' cannot be sent"),
        (
            {"headers": {"Transfer-Encoding": "chunked"}},
            "hook user:watch: its header 'Transfer-Encoding' cannot be sent",
        ),
    ],
    ids=str,
)
def test_a_question_that_cannot_be_asked_is_not_asked(params: dict[str, Any], reason: str) -> None:
    with serving(says()) as server:
        assert ask(hook(server.base, **params)) == HookResult(FAILED, reason)
    assert server.connections == 0


def test_a_server_that_is_not_there_is_a_failed_hook() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = ask(hook(f"http://127.0.0.1:{port}/x?key=SECRET"))
    assert result.status == FAILED
    assert result.reason == f"hook user:watch: http://127.0.0.1:{port}/x cannot be asked: Connection refused"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(sends(b""), id="it hangs up"),
        pytest.param(resets(b""), id="it breaks the connection"),
        pytest.param(sends(b"\x00\xff\r\n\r\n"), id="it says what is no answer"),
        pytest.param(sends(b"HTTP/1.1 OK\r\n\r\n"), id="it says no status"),
        pytest.param(sends(b"HTTP/1.1 200 OK\r\n" + b"x" * 100_000), id="a header is endless"),
        pytest.param(sends(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1_000), id="there are too many headers"),
        pytest.param(sends(head("Transfer-Encoding: chunked") + b"zz\r\n"), id="a chunk has no length"),
    ],
)
def test_a_broken_answer_is_a_failed_hook(script: Script) -> None:
    with serving(script) as server:
        result = ask(hook(server.base))
    assert (result.status, result.timed_out) == (FAILED, False)
    assert f"{server.base}/ cannot be asked: " in result.reason


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", id="before the status"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", id="in a header", marks=pytest.mark.slow),
        pytest.param(head("Content-Length: 60000"), id="in the body", marks=pytest.mark.slow),
        pytest.param(head("Content-Length: 60000", status="500 Broken"), id="in the body of an error"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_up_the_run(start: bytes) -> None:
    def slowly(connection: socket.socket) -> None:
        server.trickle(start)(connection)

    with serving(slowly) as server:
        result = ask(hook(server.base, SHORT))
    assert (result.status, result.timed_out) == (FAILED, True)
    assert result.reason == f"hook user:watch: {server.base}/ gave no whole answer within 0.3 s"


def test_a_server_that_says_wait_for_ever_does_not_hold_up_the_run() -> None:
    with serving(floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n")) as server:
        assert ask(hook(server.base, SHORT)).timed_out


@pytest.mark.slow
def test_a_server_that_answers_nothing_does_not_hold_up_the_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert ask(hook(f"http://127.0.0.1:{listener.getsockname()[1]}/", SHORT)).timed_out


@pytest.mark.slow
def test_a_server_that_reads_nothing_does_not_hold_up_the_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert ask(hook(url, SHORT, include_metadata=True), {"workspace": "x" * 50_000_000}).timed_out


def test_a_flood_is_read_to_its_64_kib_and_no_further() -> None:
    sent, over = 0, threading.Event()

    def flood(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(head())
        try:
            while True:
                sent += connection.send(b"x" * 65536)
        except OSError:
            over.set()

    with serving(flood) as server:
        result = ask(hook(server.base))
        assert over.wait(HANGS)
    assert result.status == PASS
    assert sent < 64 * 1024 * 1024, "what the kernel keeps for both sides, and no more"


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="this machine does not list the descriptors of a process"
)
def test_no_descriptor_is_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    with serving(resets(b""), says(), redirects("/"), sends(b"junk")) as server:
        for port in [server.port] * 4 + [closed]:
            send_observation(hook(f"http://127.0.0.1:{port}/"), RUN, {}, AT)
        send_observation(hook(f"https://127.0.0.1:{server.port}/", SHORT), RUN, {}, AT)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# Secure servers


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("certificate")
    names = ["-subj", "/CN=tests", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "it.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *names, *key],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=HANGS,
    )
    return folder


@pytest.fixture
def secure(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "it.pem", certificate / "key.pem")
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_secure_server_is_asked_where_its_certificate_is_known(
    certificate: Path, secure: ssl.SSLContext, host: str
) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate / "it.pem"))
    with serving(says(), context=secure) as server:
        assert ask(hook(f"https://{host}:{server.port}/x"), context=trusting).status == PASS
    assert told_of(server.questions[0])["hook_id"] == "watch"


def test_a_certificate_nobody_vouches_for_is_refused(secure: ssl.SSLContext) -> None:
    with serving(says(), context=secure) as server:
        result = ask(hook(f"https://localhost:{server.port}/x"))
    assert (result.status, server.questions) == (FAILED, [])
    assert "certificate verify failed" in result.reason.lower().replace("_", " ")


@pytest.mark.slow
def test_a_handshake_that_does_not_end_does_not_hold_up_the_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert ask(hook(f"https://127.0.0.1:{listener.getsockname()[1]}/", SHORT)).timed_out


@pytest.mark.slow
@QUICK
@given(
    st.text(st.characters(exclude_categories=[])), st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2)
)
def test_whatever_the_configuration_says_nothing_but_a_result_comes_back(url: str, headers: dict[str, str]) -> None:
    for start in ("", "http://", "http://127.0.0.1:1/", "https://localhost:1"):
        assert send_observation(hook(start + url, SHORT, headers=headers), RUN, {}, AT).status == FAILED
