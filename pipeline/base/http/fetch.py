"""Download one file from an untrusted server: follow checked redirects, retry transient failures.

The standard library alone, straight to the server, or through the user's proxy to the address that was checked. No cookie and
no password is ever sent to a server. What the content is worth is for its readers to judge.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import TypeVar
from urllib.parse import quote, urljoin

from pipeline.base.errors import PipelineError
from pipeline.base.files import replace_file, storage_error, sync_directory, temporary_name
from pipeline.base.http.addresses import Forbidden, MalformedAddress, Target, printable_url, target_of
from pipeline.base.http.blacklist import Blacklisted
from pipeline.base.http.connection import BY_HAND, ClientOptions, RequestFailed, addresses_of, open_response, read_body
from pipeline.base.http.proxy import Proxy, ProxyFailed, UnreachedAddress
from pipeline.base.safe_tree import open_regular, write_all

_REFUSALS = {
    206: f"the server sent only a part of it (206); {BY_HAND}",
    401: f"the server wants a login (401); {BY_HAND}",
    403: f"the server refuses it to programs (403); {BY_HAND}",
    404: "it is not there (404); check the address",
    410: "it is no longer there (410); look for it at another address",
    429: f"the server has had too many requests (429); try again later, or {BY_HAND}",
}


@dataclass(frozen=True)
class Fetched:
    """A downloaded file, with its final address and the media type that the server states."""

    url: str
    bytes: int
    sha256: str
    content_type: str


# decision 97: one downloader for papers, lookups and repositories, so that all are asked for by the same checks.
def fetch_url(
    url: str,
    to: str,
    limits: DownloadLimits,
    *,
    resolve: Callable[[str, int], Sequence[str]] = addresses_of,
    private: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    ssl_context: ssl.SSLContext | None = None,
    blacklist: str = "",
    proxy: Proxy | None = None,
) -> Fetched:
    """Download a URL to the file `to`, which is then whole, or else as it was before: DownloadError, or StorageError.

    `private` permits the addresses and ports of an intranet. What is transient is tried again.
    """

    def keep(target: Target, response: HTTPResponse) -> Fetched:
        size, digest = _save_pieces(read_body(response, limits.bytes), to)
        return Fetched(target.url, size, digest, media_type(response))

    ends = time.monotonic() + limits.seconds
    options = ClientOptions(
        ends, limits.seconds_to_connect, resolve, private, ssl_context, proxy=proxy, blacklist=blacklist
    )
    return get_answer(DownloadRequest(url, "download", BY_HAND, _REFUSALS), limits.seconds, options, keep, sleep)


def media_type(response: HTTPResponse) -> str:
    """Return the media type that the server states, if it is one word."""
    word = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return word if re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}", word) else ""


def _save_pieces(pieces: Iterator[bytes], to: str) -> tuple[int, str]:
    """Write what comes to a file that gets its name when it is whole; its size and digest."""
    temporary, digest, size = temporary_name(to), hashlib.sha256(), 0
    try:
        with ExitStack() as open_file:
            with _on_disk(to):
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
                descriptor = open_regular(temporary, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            open_file.callback(os.close, descriptor)
            for piece in pieces:
                with _on_disk(to):
                    write_all(descriptor, piece)
                digest.update(piece)
                size += len(piece)
            if not size:
                raise RequestFailed(f"the server sent 0 bytes; {BY_HAND}")
            with _on_disk(to):
                os.fsync(descriptor)
                replace_file(temporary, to)
                sync_directory(os.path.dirname(to))
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return size, digest.hexdigest()


@contextmanager
def _on_disk(path: str) -> Iterator[None]:
    """Turn errors in here into errors of the disk, not the network."""
    try:
        yield
    except OSError as error:
        raise storage_error("write", path, error) from error


MOST_REDIRECTS = 10
LONGEST_WAIT = 30
_PAUSES = (1.0, 4.0)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
Used = TypeVar("Used")


@dataclass(frozen=True)
class DownloadLimits:
    """Limits of a download, its redirects and repetitions together."""

    bytes: int
    seconds: float
    seconds_to_connect: float


class DownloadError(PipelineError):
    """A download that came to nothing. `transient`: the same may work in a while; `offline`: no network led to a server.

    `status` is what the server answered; 0: nothing, or not with a status alone.
    """

    def __init__(self, message: str, *, transient: bool = False, offline: bool = False, status: int = 0) -> None:
        super().__init__(message)
        self.transient, self.offline, self.status = transient, offline, status


@dataclass(frozen=True)
class DownloadRequest:
    """A download request, with the words for its errors."""

    url: str
    verb: str
    """As in "cannot download"."""
    way_out: str
    """Alternative for the user, as part of a message."""
    refusals: Mapping[int, str]
    """Messages by HTTP status."""
    named: str = ""
    """Name to use in messages instead of the URL."""

    @property
    def later(self) -> str:
        return f"try again later, or {self.way_out}"


def get_answer(
    wish: DownloadRequest,
    seconds: float,
    options: ClientOptions,
    use: Callable[[Target, HTTPResponse], Used],
    sleep: Callable[[float], None],
) -> Used:
    """Return the result of `use` on the first answer of 200. Raises DownloadError, and what `use` raises.

    What is transient is tried twice more, after a pause or what Retry-After says in seconds; where that is over half a
    minute, or over the time that is left, it is not waited.
    """
    pauses = iter(_PAUSES)
    while True:
        way = [wish.url]
        try:
            return _try_once(way, wish, options, use)
        except (RequestFailed, ProxyFailed, Forbidden, OSError, HTTPException, ValueError, zlib.error) as error:
            failed = _describe_proxied(error, way[-1], wish, options)
            failed = failed or _describe_error(error, wish, seconds, options, redirected=len(way) > 1)
            wait = max(next(pauses, math.inf), failed.wait)
            if not failed.transient or wait > LONGEST_WAIT or time.monotonic() + wait >= options.ends:
                message = f"cannot {wish.verb} {_describe_path(way, wish)}: {failed}"
                facts = {"transient": failed.transient, "offline": _is_offline(error)}
                raise DownloadError(message, **facts, status=failed.status) from error
        sleep(wait)


def _is_offline(error: Exception) -> bool:
    unreachable = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
    return isinstance(error, socket.gaierror) or (isinstance(error, OSError) and error.errno in unreachable)


def _try_once(
    way: list[str], wish: DownloadRequest, options: ClientOptions, use: Callable[[Target, HTTPResponse], Used]
) -> Used:
    """Try once. Each address of a redirect is added to `way` before it is checked."""
    target = target_of(way[0], private=options.private)
    while True:
        with open_response(target, options) as response:
            if response.status == 200:
                return use(target, response)
            if response.status not in _REDIRECTS:
                raise _describe_refusal(response, wish)
            way.append(_next_address(response, target, wish))
        if len(way) > MOST_REDIRECTS + 1:
            raise RequestFailed(f"there are more than {MOST_REDIRECTS} redirects, perhaps in a circle; {wish.way_out}")
        following = target_of(way[-1], private=options.private)
        if (target.scheme, following.scheme) == ("https", "http"):
            raise RequestFailed(f"the server redirects from https to http, which others can change; {wish.way_out}")
        target = following


def _next_address(response: HTTPResponse, target: Target, wish: DownloadRequest) -> str:
    location = response.headers.get("Location", "")
    if not location or any(letter < " " or letter == "\x7f" for letter in location):
        raise RequestFailed(f"the server's redirect names no address; {wish.way_out}")
    # The library reads headers as Latin-1; servers send UTF-8. As percent signs the bytes are what they were.
    visible = quote(location, safe=_VISIBLE, encoding="latin-1")
    # What has a scheme is judged as it stands: joined, http:///x would become something else.
    return visible if _SCHEME.match(visible) else urljoin(target.url, visible)


def _describe_refusal(response: HTTPResponse, wish: DownloadRequest) -> RequestFailed:
    status, patience = response.status, response.headers.get("Retry-After", "").strip()
    wait = int(patience) if re.fullmatch("[0-9]{1,8}", patience) else 0
    if 500 <= status < 600:
        reason = f"the server has an internal error ({status}); {wish.later}"
    else:
        reason = wish.refusals.get(status, f"the server answers {status} and not with the file; {wish.way_out}")
    if wait:
        reason += f" (it asks to wait {wait} s)"
    return RequestFailed(reason, transient=status == 429 or 500 <= status < 600, wait=wait, status=status)


def _describe_path(way: list[str], wish: DownloadRequest) -> str:
    """Describe the start of a download and the hop that failed."""
    redirected = f" (redirect {len(way) - 1}, to {printable_url(way[-1])})" if way[1:] else ""
    return printable_url(wish.named or way[0]) + redirected


def _describe_proxied(
    error: Exception, url: str, wish: DownloadRequest, options: ClientOptions
) -> RequestFailed | None:
    """Describe a failure of the proxy, or return None if no proxy is to blame."""
    if isinstance(error, ProxyFailed):
        message = f"{error}, or {wish.way_out}" if error.by_hand else str(error)
        return RequestFailed(message, transient=error.transient)
    if not isinstance(error, OSError) or isinstance(error, UnreachedAddress) or time.monotonic() >= options.ends:
        return None
    proxy = options.way_to(target_of(url, private=options.private))
    if not proxy:
        return None
    if isinstance(error, socket.gaierror):
        reason = f"this machine cannot resolve the name, and the proxy {proxy.name} only gets addresses that were checked here"
        return RequestFailed(f"{reason}; {wish.way_out}")
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"the certificate that comes through the proxy {proxy.name} is not valid ({printable_url(error.verify_message)})"
        return RequestFailed(
            f"{reason}; where it opens what is encrypted, name its certificate: export SSL_CERT_FILE=FILE"
        )
    why = printable_url((error.reason if isinstance(error, ssl.SSLError) else error.strerror) or "it ended early")
    return RequestFailed(f"the connection through the proxy {proxy.name} failed ({why}); {wish.later}", transient=True)


def _describe_error(
    error: Exception, wish: DownloadRequest, seconds: float, options: ClientOptions, *, redirected: bool
) -> RequestFailed:
    """Describe a failure: whose fault it is, and what to do."""
    match error:
        case RequestFailed():
            return error
        case Blacklisted():
            return RequestFailed(str(error))
        case MalformedAddress() if not redirected:
            return RequestFailed(f"{error}; check the address")
        case Forbidden():
            return RequestFailed(f"{error}; {wish.way_out}")
        case TimeoutError() if time.monotonic() >= options.ends:
            return RequestFailed(f"it takes longer than {seconds:g} s; {wish.later}", transient=True)
        case TimeoutError():
            return RequestFailed(f"the server does not answer in time; {wish.later}", transient=True)
        case ssl.SSLCertVerificationError():
            why = printable_url(error.verify_message)
            return RequestFailed(f"the server's certificate is not valid ({why}); check the address")
        case zlib.error():
            return RequestFailed(f"the server's answer is encoded wrongly; {wish.way_out}")
        case ssl.SSLEOFError() | ssl.SSLError(reason="UNEXPECTED_EOF_WHILE_READING") | IncompleteRead():
            return RequestFailed(f"the server's answer ended early; {wish.later}", transient=True)
        case ssl.SSLError():
            why = printable_url(error.reason or "SSL")
            return RequestFailed(f"no secure connection is possible ({why}); {wish.way_out}")
        case socket.gaierror(errno=socket.EAI_AGAIN):
            return RequestFailed("host names cannot be resolved now; check your network", transient=True)
        case socket.gaierror():
            advice = "check the address, and whether this machine is on a network"
            return RequestFailed(f"there is no host of that name; {advice}")
        case OSError():
            reason = error.strerror or "the server closed the connection"
            return RequestFailed(f"the connection failed ({reason}); {wish.later}", transient=True)
    return RequestFailed(f"the server's answer is malformed ({type(error).__name__}); {wish.way_out}")
