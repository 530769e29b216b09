"""Downloads one file from a place that nobody vouches for.

The standard library alone, straight to the server: proxies from the environment are ignored, because a proxy resolves
names itself, and no address could be checked. No cookie and no password is ever sent. What the content is worth is for
its readers to judge.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPResponse

from pipeline.base.files import replace_file, storage_error, sync_directory, temporary_name, write_all
from pipeline.base.http.addresses import Target
from pipeline.base.http.answers import DownloadError, DownloadLimits, DownloadRequest, get_answer
from pipeline.base.http.connection import BY_HAND, ClientOptions, RequestFailed, addresses_of, read_body

__all__ = ["DownloadError", "DownloadLimits", "Fetched", "fetch_url"]
_REFUSALS = {
    206: f"the server sent only a part of it (206); {BY_HAND}",
    401: f"the server wants a login (401); {BY_HAND}",
    403: f"the server does not give it to programs (403); {BY_HAND}",
    404: "it is not there (404); check the address",
    410: "it is not there any more (410); look for it at another address",
    429: f"the server has had too many requests (429); try again later, or {BY_HAND}",
}


@dataclass(frozen=True)
class Fetched:
    """What was downloaded: from which address after all redirects, and of which media type by the server's own word."""

    url: str
    bytes: int
    sha256: str
    content_type: str


def fetch_url(
    url: str,
    to: str,
    limits: DownloadLimits,
    *,
    resolve: Callable[[str, int], Sequence[str]] = addresses_of,
    private: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    ssl_context: ssl.SSLContext | None = None,
) -> Fetched:
    """Downloads a URL to the file `to`, which is then whole, or else as it was before: DownloadError, or StorageError.

    `private` permits the addresses and ports of an intranet. What is transient is tried again.
    """

    def keep(target: Target, response: HTTPResponse) -> Fetched:
        size, digest = _save_pieces(read_body(response, limits.bytes), to)
        return Fetched(target.url, size, digest, media_type(response))

    options = ClientOptions(time.monotonic() + limits.seconds, limits.seconds_to_connect, resolve, private, ssl_context)
    return get_answer(DownloadRequest(url, "download", BY_HAND, _REFUSALS), limits.seconds, options, keep, sleep)


def media_type(response: HTTPResponse) -> str:
    """The server's word for what it sends, if it is a word at all."""
    word = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return word if re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}", word) else ""


def _save_pieces(pieces: Iterator[bytes], to: str) -> tuple[int, str]:
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
    """Trouble in here is the disk's, not the network's."""
    try:
        yield
    except OSError as error:
        raise storage_error("write", path, error) from error
