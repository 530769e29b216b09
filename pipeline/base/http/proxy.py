"""Connect to checked addresses through the user's proxy, and give git a way through it.

A proxy is asked to CONNECT to a number and never to a name: it would look the name up itself, and the result would be
unchecked. What goes through is still TLS from end to end, where it is https.
"""

from __future__ import annotations

import ipaddress
import re
import selectors
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.base.errors import PipelineError, StorageError
from pipeline.base.threads import start_thread

SETTING = "PIPELINE_PROXY"
"""The variable of the user's setting: the command line puts the setting under this name, wherever it was made."""
DIRECT = "off"
"""The setting that goes straight, whatever the environment says."""
_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_EXCEPTIONS = ("NO_PROXY", "no_proxy")
_LONGEST_ANSWER = 16 * 1024
_PIECE = 65536
_USUAL_PORT = 80


class ProxyFailed(PipelineError):
    """A proxy that led nowhere: which, why, and what to type. `by_hand`: only another way to the file helps."""

    def __init__(self, message: str, *, transient: bool = False, by_hand: bool = False) -> None:
        super().__init__(message)
        self.transient, self.by_hand = transient, by_hand


class UnreachedAddress(OSError):
    """The proxy works, and could not reach this one address; another one of the same host may do."""


class Proxy(NamedTuple):
    host: str
    port: int
    variable: str
    """Source of the setting: the name of a variable, or of the setting."""
    authorization: str = ""
    """The header's value. Never to be shown."""
    except_for: tuple[str, ...] = ()
    """The words of NO_PROXY."""
    fault: str = ""
    """Reason why it cannot be used; empty if it can."""

    @property
    def name(self) -> str:
        """Return host, port and the origin of the setting, without a password."""
        return f"{_with_port(self.host, self.port)} ({self.said_by})" if self.host else f"in {self.said_by}"

    @property
    def said_by(self) -> str:
        return "the setting proxy" if self.is_setting else self.variable

    @property
    def is_setting(self) -> bool:
        return self.variable == SETTING

    def is_for(self, host: str, port: int = 0) -> bool:
        """Return whether that host is reached through the proxy: not this machine itself, and nothing in NO_PROXY."""
        host = host.strip("[]").lower().removesuffix(".")
        if host == "localhost" or host.endswith(".localhost") or _is_loopback(host):
            return False
        return not any(_is_named(word, host, port) for word in self.except_for)

    def how_to_set(self, example: str = "http://proxy.example:3128") -> str:
        """Return the command that sets another proxy."""
        return f"pipeline config proxy {example}" if self.is_setting else f"export {self.variable}={example}"


def find_proxy(environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy of the user's setting, else of HTTPS_PROXY or ALL_PROXY, or None.

    One that cannot be used has a `fault`, which is told when it would be used: most runs need no network.
    """
    variable = next((name for name in (SETTING, *_VARIABLES) if environment.get(name, "").strip()), "")
    address = environment.get(variable, "").strip()
    if not address or address == DIRECT:
        return None
    words = next((environment[name] for name in _EXCEPTIONS if environment.get(name)), "")
    except_for = tuple(word.lower() for word in re.split(r"[,\s]+", words) if word)
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname or "", parts.port or _USUAL_PORT
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    proxy = Proxy(host, port, variable, _authorization(parts.username, parts.password), except_for)
    if parts.scheme.startswith("socks") or parts.scheme == "https":
        kind = "SOCKS" if parts.scheme.startswith("socks") else "https"
        return proxy._replace(fault=f"is one of {kind}, and papers and repositories go through http:// ones alone")
    usable = parts.scheme == "http" and re.fullmatch(r"[A-Za-z0-9_.:-]+", host) and parts.path in ("", "/")
    return proxy if usable else proxy._replace(host="", fault="has no usable address")


def client_proxy(environment: Mapping[str, str], host: str, port: int) -> str | None:
    """Return the proxy for a library that reads the environment itself: None to let it decide, empty for no proxy."""
    setting = environment.get(SETTING, "").strip()
    if not setting:
        return None
    proxy = find_proxy(environment)
    if not proxy or not proxy.is_for(host, port):
        return ""
    return setting if "://" in setting else f"http://{setting}"


def open_tunnel(proxy: Proxy, address: str, port: int, ends: float) -> socket.socket:
    """Open a connection through the proxy to a numeric address before `ends`, on the monotonic clock.

    Raises ProxyFailed, or UnreachedAddress where only this address cannot be had.
    """
    if proxy.fault:
        raise ProxyFailed(f"the proxy {proxy.name} {proxy.fault}; set another: {proxy.how_to_set()}")
    try:
        connection = socket.create_connection((proxy.host, proxy.port), timeout=_seconds_until(ends))
    except TimeoutError as error:
        raise _silent(proxy) from error
    except OSError as error:
        message = f"the proxy {proxy.name} cannot be reached ({error.strerror or error})"
        raise ProxyFailed(f"{message}; start it, or set another: {proxy.how_to_set()}", transient=True) from error
    try:
        where = _with_port(address, port)
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}", "User-Agent: paper-pipeline"]
        lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        head = _read_head(connection, ends)
    except TimeoutError as error:
        connection.close()
        raise _silent(proxy) from error
    except OSError as error:
        connection.close()
        raise ProxyFailed(
            f"the proxy {proxy.name} broke the connection off; try again later", transient=True
        ) from error
    if why := _why_refused(proxy, head, where):
        connection.close()
        raise why
    return connection


@contextmanager
def lend_to_git(proxy: Proxy, host: str, port: int, addresses: Sequence[str]) -> Iterator[str]:
    """Yield the address of a local proxy that leads to these addresses through the user's, and nowhere else.

    git hands a proxy the name of a host, and a password would stand in its command line; so neither leaves this process.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def serve() -> None:
            with suppress(OSError):  # the listener is closed
                while not over.is_set():
                    client, _ = listener.accept()
                    try:
                        start_thread(partial(lead, client), "git's way out")
                    except StorageError:  # git reports that the connection was closed
                        client.close()

        def lead(client: socket.socket) -> None:
            with suppress(OSError, ProxyFailed), client:
                ends = time.monotonic() + 30
                asked = _read_head(client, ends).split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                if asked[:2] != ["CONNECT", _with_port(host, port)]:
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                    return
                with _first_of(addresses, lambda address: open_tunnel(proxy, address, port, ends)) as server:
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    _pump(client, server, over)

        start_thread(serve, "git's way out")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)  # accept() of another thread ends by this alone


def _first_of(addresses: Sequence[str], open_one: Callable[[str], socket.socket]) -> socket.socket:
    for address in addresses[:-1]:
        with suppress(UnreachedAddress):
            return open_one(address)
    return open_one(addresses[-1])


def _pump(one: socket.socket, other: socket.socket, over: threading.Event) -> None:
    """Copy bytes both ways until a side ends or `over` is set."""
    one.settimeout(60)
    other.settimeout(60)
    with selectors.DefaultSelector() as ready:
        ready.register(one, selectors.EVENT_READ, other)
        ready.register(other, selectors.EVENT_READ, one)
        while not over.is_set():
            for key, _ in ready.select(0.5):
                source: socket.socket = key.fileobj  # type: ignore[assignment]
                piece = source.recv(_PIECE)
                if not piece:
                    return
                key.data.sendall(piece)


def _read_head(connection: socket.socket, ends: float) -> bytes:
    """Read the head of a message byte by byte: what follows belongs to the tunnel. Raises OSError."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n") and len(head) < _LONGEST_ANSWER:
        connection.settimeout(_seconds_until(ends))
        byte = connection.recv(1)
        if not byte:
            break
        head += byte
    return bytes(head)


def _why_refused(proxy: Proxy, head: bytes, where: str) -> ProxyFailed | UnreachedAddress | None:
    status_line = re.match(rb"HTTP/1\.[01] ([0-9]{3})\b", head)
    if not status_line or not head.endswith(b"\r\n\r\n"):
        return ProxyFailed(
            f"the proxy {proxy.name} does not answer as a proxy does; check its address: {proxy.how_to_set()}"
        )
    status = int(status_line[1])
    if 200 <= status < 300:
        return None
    if status == 407:
        port = _with_port(proxy.host, proxy.port)
        wants = "does not take this name and password" if proxy.authorization else "wants a name and password"
        return ProxyFailed(f"the proxy {proxy.name} {wants} (407); {proxy.how_to_set(f'http://NAME:PASSWORD@{port}')}")
    if status >= 500:
        return UnreachedAddress(0, f"the proxy {proxy.name} cannot reach {where}: it answers {status}")
    message = f"the proxy {proxy.name} refuses to lead to {where} ({status}), the address that was checked"
    return ProxyFailed(f"{message}; ask its administrator to allow that", by_hand=True)


def _silent(proxy: Proxy) -> ProxyFailed:
    message = f"the proxy {proxy.name} does not answer in time; try again later, or set another: {proxy.how_to_set()}"
    return ProxyFailed(message, transient=True)


def _seconds_until(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is up")
    return left


def _authorization(name: str | None, password: str | None) -> str:
    if name is None:
        return ""
    pair = f"{unquote(name)}:{unquote(password or '')}"
    return "Basic " + b64encode(pair.encode()).decode("ascii")


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_named(word: str, host: str, port: int) -> bool:
    """Return whether a word of NO_PROXY covers a host: all (*), the host, its domain, or a network of its number."""
    if word == "*":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(word.strip("[]"), strict=False)
    name, colon, wanted = word.rpartition(":")
    if colon and wanted.isdecimal():
        if int(wanted) != port:
            return False
        word = name.strip("[]")
    domain = word.removeprefix("*").removeprefix(".")
    return host == domain or host.endswith(f".{domain}")
