"""Downloads one file from a place that nobody vouches for.

The standard library alone, straight to the server: proxies from the environment are ignored, because a proxy resolves
names itself, and no address could be checked. No cookie and no password is ever sent. What the content is worth is for
its readers to judge.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from urllib.parse import quote, urljoin

from pipeline.errors import PipelineError
from pipeline.files import failure, replace_file, sync_folder, temporary_name, write_all
from pipeline.web.addresses import Forbidden, Target, shown, target_of
from pipeline.web.connection import BY_HAND, Failed, Line, addresses_of, asked, content

MOST_REDIRECTS = 10
LONGEST_WAIT = 30
_PAUSES = (1.0, 4.0)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_LATER = f"try again later, or {BY_HAND}"
_STATUS = {
    206: f"the server sent only a part of it (206); {BY_HAND}",
    401: f"the server wants a login (401); {BY_HAND}",
    403: f"the server does not give it to programs (403); {BY_HAND}",
    404: "it is not there (404); check the address",
    410: "it is not there any more (410); look for it at another address",
    429: f"the server has had too many requests (429); {_LATER}",
}


@dataclass(frozen=True)
class Limits:
    """How much a download may take, its redirects and repetitions together."""

    bytes: int
    seconds: float
    seconds_to_connect: float


@dataclass(frozen=True)
class Fetched:
    """What was downloaded: from which address after all redirects, and of which media type by the server's own word."""

    url: str
    bytes: int
    sha256: str
    content_type: str


class DownloadError(PipelineError):
    """A download that came to nothing. `transient`: the same may work in a while."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


def fetch(
    url: str,
    to: str,
    limits: Limits,
    *,
    resolve: Callable[[str, int], Sequence[str]] = addresses_of,
    private: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    ssl_context: ssl.SSLContext | None = None,
) -> Fetched:
    """Downloads a URL to the file `to`, which is then whole, or else as it was before: DownloadError, or StorageError.

    `private` permits the addresses and ports of an intranet. What is transient is tried twice more, after a pause or
    what Retry-After says in seconds; where that is over half a minute, or over the time that is left, it is not waited.
    """
    line = Line(time.monotonic() + limits.seconds, limits.seconds_to_connect, resolve, private, ssl_context)
    pauses = iter(_PAUSES)
    while True:
        way = [url]
        try:
            return _once(way, to, limits, line)
        except (Failed, Forbidden, OSError, HTTPException, ValueError, zlib.error) as error:
            failed = _told(error, limits, line)
            wait = max(next(pauses, math.inf), failed.wait)
            if not failed.transient or wait > LONGEST_WAIT or time.monotonic() + wait >= line.ends:
                raise DownloadError(f"cannot download {_road(way)}: {failed}", transient=failed.transient) from error
        sleep(wait)


def _once(way: list[str], to: str, limits: Limits, line: Line) -> Fetched:
    """One try. Each address that a redirect leads to is added to `way` before it is looked at."""
    target = target_of(way[0], private=line.private)
    while True:
        with asked(target, line) as response:
            if response.status == 200:
                size, digest = _kept(content(response, limits.bytes), to)
                return Fetched(target.url, size, digest, _media_type(response))
            if response.status not in _REDIRECTS:
                raise _refused(response)
            way.append(_onward(response, target))
        if len(way) > MOST_REDIRECTS + 1:
            raise Failed(f"there are more than {MOST_REDIRECTS} redirects, perhaps in a circle; {BY_HAND}")
        following = target_of(way[-1], private=line.private)
        if (target.scheme, following.scheme) == ("https", "http"):
            raise Failed(f"the server redirects from https to http, which anybody can change; {BY_HAND}")
        target = following


def _onward(response: HTTPResponse, target: Target) -> str:
    location = response.headers.get("Location", "")
    if not location or any(letter < " " or letter == "\x7f" for letter in location):
        raise Failed(f"the server redirects to no address; {BY_HAND}")
    # The library reads headers as Latin-1; servers send UTF-8. As percent signs the bytes are what they were.
    visible = quote(location, safe=_VISIBLE, encoding="latin-1")
    # What has a scheme is judged as it stands: joined, http:///x would become something else.
    return visible if _SCHEME.match(visible) else urljoin(target.url, visible)


def _refused(response: HTTPResponse) -> Failed:
    status, patience = response.status, response.headers.get("Retry-After", "").strip()
    wait = int(patience) if re.fullmatch("[0-9]{1,8}", patience) else 0
    if 500 <= status < 600:
        reason = f"the server has trouble of its own ({status}); {_LATER}"
    else:
        reason = _STATUS.get(status, f"the server answers {status} and not with the file; {BY_HAND}")
    if wait:
        reason += f" (it asks for {wait} s of patience)"
    return Failed(reason, transient=status == 429 or 500 <= status < 600, wait=wait)


def _media_type(response: HTTPResponse) -> str:
    """The server's word for what it sends, if it is a word at all."""
    word = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return word if re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}", word) else ""


def _kept(pieces: Iterator[bytes], to: str) -> tuple[int, str]:
    """Writes what comes to a file that gets its name when it is whole; its size and digest."""
    temporary, digest, size = temporary_name(to), hashlib.sha256(), 0
    try:
        with ExitStack() as open_file:
            with _on_disk(to):
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(temporary, flags, 0o644)
            open_file.callback(os.close, descriptor)
            for piece in pieces:
                with _on_disk(to):
                    write_all(descriptor, piece)
                digest.update(piece)
                size += len(piece)
            if not size:
                raise Failed(f"the server sent 0 bytes; {BY_HAND}")
            with _on_disk(to):
                os.fsync(descriptor)
                replace_file(temporary, to)
                sync_folder(os.path.dirname(to))
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return size, digest.hexdigest()


@contextmanager
def _on_disk(path: str) -> Iterator[None]:
    """Trouble in here is the disk's, not the network's."""
    try:
        yield
    except OSError as error:
        raise failure("write", path, error) from error


def _road(way: list[str]) -> str:
    """Where a download began, and the hop at which it stopped."""
    return shown(way[0]) + (f" (redirect {len(way) - 1}, to {shown(way[-1])})" if way[1:] else "")


def _told(error: Exception, limits: Limits, line: Line) -> Failed:
    """What went wrong, in words: whose fault, and what to do."""
    match error:
        case Failed():
            return error
        case Forbidden():
            return Failed(f"{error}; {BY_HAND}")
        case TimeoutError() if time.monotonic() >= line.ends:
            return Failed(f"it takes longer than {limits.seconds:g} s; {_LATER}", transient=True)
        case TimeoutError():
            return Failed(f"the server does not answer in time; {_LATER}", transient=True)
        case ssl.SSLCertVerificationError():
            return Failed(f"the server's certificate is not good ({shown(error.verify_message)}); check the address")
        case zlib.error():
            return Failed(f"the server's answer is packed wrongly; {BY_HAND}")
        case ssl.SSLEOFError() | ssl.SSLError(reason="UNEXPECTED_EOF_WHILE_READING") | IncompleteRead():
            return Failed(f"the server's answer ended early; {_LATER}", transient=True)
        case ssl.SSLError():
            return Failed(f"no safe connection is possible ({shown(error.reason or 'SSL')}); {BY_HAND}")
        case socket.gaierror(errno=socket.EAI_AGAIN):
            return Failed("names of hosts cannot be looked up now; check your network", transient=True)
        case socket.gaierror():
            return Failed("there is no host of that name; check the address, and whether this machine is on a network")
        case OSError():
            reason = error.strerror or "the server closed the connection"
            return Failed(f"the connection failed ({reason}); {_LATER}", transient=True)
    return Failed(f"the server's answer is malformed ({type(error).__name__}); {BY_HAND}")
