"""Send one request to one web server, at a checked address, within limits of time and bytes.

Downloads come through here. The models' SDKs bring a client of their own, which
phases/llm/adapters/connection.py limits.
"""

from __future__ import annotations

import io
import queue
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING, cast

from pipeline.base.http.addresses import Target, permit_addresses, printable_url
from pipeline.base.http.blacklist import refuse_blacklisted
from pipeline.base.http.proxy import Proxy, open_tunnel
from pipeline.base.threads import start_thread

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MOST_TRIED = 8
_LONGEST_SILENCE = 60.0
_PIECE = 65536
BY_HAND = "download it with your browser and give the file"
_QUESTION = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: paper-pipeline\r\nAccept: */*\r\n"
    "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
)


class RequestFailed(Exception):
    """Reason of one failed try; `wait` is the delay in seconds that the server asks for, `status` its answer."""

    def __init__(self, reason: str, *, transient: bool = False, wait: float = 0, status: int = 0) -> None:
        super().__init__(reason)
        self.transient, self.wait, self.status = transient, wait, status


@dataclass(frozen=True)
class ClientOptions:
    """Options of a connection. `ends` is the deadline of the whole request, on the monotonic clock."""

    ends: float
    seconds_to_connect: float
    resolve: Callable[[str, int], Sequence[str]]
    private: bool = False
    ssl_context: ssl.SSLContext | None = None
    blacklist: str = ""
    """Addresses that are not asked, whatever leads there."""
    proxy: Proxy | None = None

    def way_to(self, target: Target) -> Proxy | None:
        """Return the proxy for that host, or None for a direct connection."""
        return self.proxy if self.proxy and self.proxy.is_for(target.host, target.port) else None

    def seconds_left(self, most: float = float("inf")) -> float:
        """Return how long the next step may take. Raises TimeoutError after the deadline."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is up")
        return min(left, most)

    def step_seconds(self) -> float:
        """Return how long one read or write may take. Raises TimeoutError after the deadline."""
        return self.seconds_left(_LONGEST_SILENCE)


def addresses_of(host: str, port: int) -> Sequence[str]:
    """Resolve a host with the system's resolver. Raises OSError, or UnicodeError for an impossible name."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@contextmanager
def open_response(target: Target, options: ClientOptions, request: bytes = b"") -> Iterator[HTTPResponse]:
    """Open the response to a request (a GET without `request`), its body still unread.

    Raises Forbidden, and OSError, http.client.HTTPException or ValueError for trouble.

    The host is resolved once, all its addresses are checked, and the connection goes to one of them by number; the
    name is what the certificate must be for.
    """
    refuse_blacklisted(target, options.blacklist)
    # decision 35: libraries resolve names themselves, and this must go to the very address that was checked.
    with _connect_any(target, options) as connection:
        connection.settimeout(options.step_seconds())
        connection.sendall(request or _QUESTION.format(path=target.path, host=target.authority).encode("ascii"))
        # Of a socket, the response wants makefile() and no more.
        with HTTPResponse(cast("socket.socket", _DeadlineReader(connection, options)), method="GET") as response:
            response.begin()
            yield response


def read_body(response: HTTPResponse, most: int) -> Iterator[bytes]:
    """Return the unpacked body in pieces, at most the permitted size.

    Raises RequestFailed, zlib.error, and what `open_response` raises.
    """
    coding, packing = (
        ",".join(response.headers.get_all(name, ())).strip().lower()
        for name in ("Transfer-Encoding", "Content-Encoding")
    )
    if coding not in ("", "identity", "chunked") or packing not in ("", "identity", "gzip", "x-gzip"):
        way = printable_url(packing or coding)
        raise RequestFailed(f"the server uses an encoding that was not requested ({way}); {BY_HAND}")
    if response.length is not None and response.length > most:
        raise _too_large(most)
    body = _cap_pieces(_read_pieces(response), most)
    return _cap_pieces(_gunzip_pieces(body), most) if "gzip" in packing else body


class _DeadlineReader(io.RawIOBase):
    """A reader with a deadline over all reads: a byte a minute would otherwise go on for ever."""

    def __init__(self, connection: socket.socket, options: ClientOptions) -> None:
        self._connection, self._options = connection, options

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the bytes as a file, as the library asks a socket for it."""
        return io.BufferedReader(self, _PIECE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._connection.settimeout(self._options.step_seconds())
        return self._connection.recv_into(buffer)


def _connect_any(target: Target, options: ClientOptions) -> socket.socket:
    failed: OSError | None = None
    for address in permit_addresses(target.host, _resolve_host(target, options), private=options.private)[:_MOST_TRIED]:
        try:
            return _connect_to(address, target, options)
        except OSError as error:
            failed = failed or error
    raise failed or OSError("no address")


def _connect_to(address: str, target: Target, options: ClientOptions) -> socket.socket:
    with ExitStack() as undo:
        seconds = options.seconds_left(options.seconds_to_connect)
        if proxy := options.way_to(target):
            connection = undo.enter_context(open_tunnel(proxy, address, target.port, time.monotonic() + seconds))
        else:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            connection = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
            connection.settimeout(seconds)
            connection.connect((address, target.port))
        if target.scheme == "https":
            connection.settimeout(options.seconds_left(options.seconds_to_connect))
            context = options.ssl_context or ssl.create_default_context()
            # A stream that is cut off looks like one that has ended, unless a ragged end is an error; some builds of
            # Python tell the library to overlook it.
            context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
            connection = context.wrap_socket(connection, server_hostname=target.host, suppress_ragged_eofs=False)
        undo.pop_all()
    return connection


def _resolve_host(target: Target, options: ClientOptions) -> Sequence[str]:
    """Ask the resolver in a thread: there is no other way to stop waiting for it."""
    answers: queue.SimpleQueue[Sequence[str] | OSError | ValueError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(options.resolve(target.host, target.port))
        except (OSError, ValueError) as error:
            answers.put(error)

    start_thread(ask, "resolver")
    try:
        answer = answers.get(timeout=options.seconds_left())
    except queue.Empty:
        raise TimeoutError("the resolver does not answer") from None
    if isinstance(answer, (OSError, ValueError)):
        raise answer
    return answer


def _read_pieces(response: HTTPResponse) -> Iterator[bytes]:
    # read1() and not read(): a chunk that says its length is -1 would be read to the end of all things.
    while piece := response.read1(_PIECE):
        yield piece
    if response.length:
        raise IncompleteRead(b"", response.length)


def _gunzip_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip, a bounded piece at a time. Only padding may follow the stream's end."""
    decoder = zlib.decompressobj(wbits=31)
    for piece in pieces:
        rest, full = piece, True
        while full and not decoder.eof:
            yield (out := decoder.decompress(rest, _PIECE))
            rest = decoder.unconsumed_tail or decoder.unused_data
            full = bool(rest) or len(out) == _PIECE
        if decoder.eof and rest.strip(b"\0"):
            raise RequestFailed(f"the server sends it in several parts; {BY_HAND}")
    if not decoder.eof:
        raise IncompleteRead(b"")


def _cap_pieces(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    count = 0
    for piece in pieces:
        count += len(piece)
        if count > most:
            raise _too_large(most)
        yield piece


def _too_large(most: int) -> RequestFailed:
    return RequestFailed(f"it is larger than the {most:,} bytes that are permitted; {BY_HAND}")
