"""A web server for tests: it listens on this machine alone, and answers with exactly the bytes that a test wants."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

Script = Callable[[socket.socket], None]
"""What a server does once it has read a question."""


@dataclass
class Server:
    """A server that runs. Each question gets the next script; the last one answers all further ones."""

    port: int
    scripts: Sequence[Script]
    questions: list[str] = field(default_factory=list)
    connections: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, connection: socket.socket) -> None:
        """Reads one question and plays a script. A client that hangs up is no fault of ours."""
        with suppress(OSError), connection:
            connection.settimeout(20)
            question = b""
            while b"\r\n\r\n" not in question and (piece := connection.recv(65536)):
                question += piece
            self.questions.append(question.decode("latin-1"))
            self.scripts[min(len(self.questions), len(self.scripts)) - 1](connection)

    def trickle(self, start: bytes, piece: bytes = b"x", *, pause: float = 0.05) -> Script:
        """Sends `start`, and then a piece now and then, until the test is over or nobody listens."""

        def script(connection: socket.socket) -> None:
            connection.sendall(start)
            while not self.over.wait(pause):
                connection.sendall(piece)

        return script


@contextmanager
def serving(*scripts: Script, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1], scripts)
        threads = [threading.Thread(target=_listen, args=(listener, server, context))]
        threads[0].start()
        try:
            yield server
        finally:
            server.over.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            threads[0].join(timeout=20)


def _listen(listener: socket.socket, server: Server, context: ssl.SSLContext | None) -> None:
    threads = []
    while not server.over.is_set():
        try:
            connection = listener.accept()[0]
        except OSError:
            break
        server.connections += 1
        threads.append(threading.Thread(target=_greet, args=(connection, server, context)))
        threads[-1].start()
    for thread in threads:
        thread.join(timeout=20)


def _greet(connection: socket.socket, server: Server, context: ssl.SSLContext | None) -> None:
    with closing(connection), suppress(OSError):
        server.answer(context.wrap_socket(connection, server_side=True) if context else connection)


def head(*headers: str, status: str = "200 OK") -> bytes:
    """The lines before a body."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1")


def says(body: bytes = b"", *headers: str, status: str = "200 OK") -> Script:
    """Answers well: this body, and its length."""
    return sends(head(f"Content-Length: {len(body)}", *headers, status=status) + body)


def sends(*pieces: bytes) -> Script:
    """Answers with these bytes and hangs up."""

    def script(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return script


def resets(start: bytes) -> Script:
    """Sends a start, and then breaks the connection."""

    def script(connection: socket.socket) -> None:
        connection.sendall(start)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return script


def redirects(to: str, *, status: int = 302) -> Script:
    """Sends the client elsewhere."""
    return says(b"moved", f"Location: {to}", status=f"{status} Found")


def floods(start: bytes, piece: bytes) -> Script:
    """Sends a start, and a piece again and again, as fast as it is taken, for as long as anybody reads."""

    def script(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece)

    return script
