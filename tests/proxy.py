"""A proxy for tests, as a process: it takes CONNECT, writes down what it was asked for, and behaves as it is told.

Whatever address it is asked for, it leads to a port of this machine. With a certificate it opens TLS, as some companies do.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.forks import fork
from tests.papers import HANGS

NAME, PASSWORD = "me", "s3cret-of-mine"
_SAYS = {
    "403": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
    "407": b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n',
    "502": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    "gibberish": b"220 mail.example ESMTP\r\n",
    "closes": b"",
    "ends": b"HTTP/1.1 200 OK\r\n\r\n",
    "plain": b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
}


@dataclass(frozen=True)
class RunningProxy:
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def with_password(self) -> str:
        return f"http://{NAME}:{PASSWORD}@127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """What it was asked to lead to, in order."""
        return [json.loads(line)["asked"] for line in self.log.read_text().splitlines()]

    @property
    def heads(self) -> str:
        """All that it was sent before it led anywhere."""
        return self.log.read_text()


@contextmanager
def proxying(
    folder: Path, mode: str = "allow", upstream: int = 0, certificate: tuple[str, str] | None = None
) -> Iterator[RunningProxy]:
    """The process, for as long as the block lasts."""
    handle, name = tempfile.mkstemp(".jsonl", "proxy-", folder)
    os.close(handle)
    log = Path(name)
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ready, told = os.pipe()
        process = fork(lambda: _serve(listener, told, mode, upstream, log, context), [listener.fileno(), told])
    os.close(told)
    try:
        os.read(ready, 1)  # clients wait for its answers no longer than half a second
        yield RunningProxy(port, log)
    finally:
        os.close(ready)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _serve(
    listener: socket.socket, told: int, mode: str, upstream: int, log: Path, context: ssl.SSLContext | None
) -> None:
    os.write(told, b".")
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_lead, args=(client, mode, upstream, log, context), daemon=True).start()


def _lead(client: socket.socket, mode: str, upstream: int, log: Path, context: ssl.SSLContext | None) -> None:
    with suppress(OSError), client:
        head = b""
        while b"\r\n\r\n" not in head and (byte := client.recv(1)):
            head += byte
        words = head.decode("latin-1").split(" ")
        if len(words) < 2:
            return
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"asked": words[1], "head": head.decode("latin-1")}) + "\n")
        if mode == "silent":
            time.sleep(HANGS)
        if mode == "drips":
            for letter in b"HTTP/1.1 200 " + b"O" * 1000:
                client.sendall(bytes([letter]))
                time.sleep(0.1)
        said = "allow" if mode == "407" and b"Proxy-Authorization: Basic bWU6czNjcmV0LW9mLW1pbmU=" in head else mode
        if words[0] != "CONNECT" or said in _SAYS:
            client.sendall(_SAYS.get(said, _SAYS["403"]))
            return
        with socket.create_connection(("127.0.0.1", upstream)) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            inner = context.wrap_socket(client, server_side=True) if context else client
            back = threading.Thread(target=_copy, args=(server, inner), daemon=True)
            back.start()
            _copy(inner, server)
            back.join(timeout=HANGS)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
