"""The HTTP connection under an SDK: no redirects, and limits on silence, on time and on bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from phases.llm.error_classification import ReplyError, Server, classify_connection_error, classify_status
from phases.llm.model import FATAL, MALFORMED, MOST_TOKENS, TRANSIENT
from phases.llm.providers import PROVIDERS

MOST_BYTES = 512 * 1024 * 1024
"""Limit of a whole stream: a reply of 4 MiB may come letter by letter, in events of a hundred bytes each."""
_LARGEST_PAGE = 4 * 1024 * 1024
MOST_ERROR_BYTES = 64 * 1024
"""Few, because a body may be packed, though that is not asked for."""
NO_KEY = "none"
"""Placeholder for a key: the SDK requires one even if the server does not."""
_AT_HOME = frozenset(urlsplit(PROVIDERS[name].base_url).netloc for name in ("openai", "anthropic"))
"""Hosts of the SDKs' own vendors."""
_ANTHROPIC_HEADERS = ("anthropic-version",)
_PLAIN_HEADERS = (
    *("host", "connection", "accept", "accept-encoding", "content-type", "content-length", "user-agent"),
    "x-stainless-raw-response",  # by this one the SDK knows again what it was asked for
)


class Timeouts(NamedTuple):
    """Timeouts for a server, in seconds."""

    connect: float = 10.0
    first: float = 300.0
    """Until it begins to answer: a machine of one's own reads a long prompt for minutes."""
    silence: float = 60.0
    """Between two pieces of an answer."""
    whole: float = 1200.0
    """Until the answer is over."""


QUICK = Timeouts(connect=4.0, first=6.0, silence=6.0, whole=8.0)
"""Timeouts for a trivial request."""


@dataclass(frozen=True)
class Connection:
    server: Server
    base_url: str
    key: str = field(repr=False)
    timeouts: Timeouts
    proxy: str | None = field(default=None, repr=False)
    """Proxy with its password; empty: none; None: by the environment."""


def connection_for(connection: Connection, most_tokens: int) -> Connection:
    """Return the connection for a reply of that length: a longer one may take longer."""
    longer = max(1.0, most_tokens / MOST_TOKENS)
    whole = connection.timeouts.whole * longer
    return replace(connection, timeouts=connection.timeouts._replace(whole=whole))


def http_client(connection: Connection) -> Any:
    """Return the client for an SDK. Close it after one question: so no old connection is reused, and no state is left.

    Raises ReplyError where the environment's own words about proxies and certificates make no sense.
    """
    import httpx2  # late, here and below: it comes with a vendor's package, and takes time

    timeouts, server = connection.timeouts, connection.server

    class Bounded(httpx2.SyncByteStream):
        """A body that ends with an error once it is too long in time or bytes."""

        def __init__(self, stream: httpx2.SyncByteStream, most: int) -> None:
            self._stream, self._left, self._end = stream, most, time.monotonic() + timeouts.whole

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                self._left -= len(piece)
                if self._left < 0:
                    raise ReplyError(MALFORMED, f"{server.host} sent a reply without an end")
                if time.monotonic() > self._end:
                    told = f"{server.host} took longer than {timeouts.whole:.0f} seconds for one reply"
                    raise ReplyError(TRANSIENT, told)
                yield piece

        def close(self) -> None:
            self._stream.close()

    def bind(response: httpx2.Response) -> None:
        # The body is read by the same dictionary that the head was: from here on, silence is judged more strictly.
        response.request.extensions["timeout"]["read"] = timeouts.silence
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = Bounded(response.stream, MOST_BYTES if response.is_success else MOST_ERROR_BYTES)

    # A redirect would carry the key to wherever a server says; the SDKs would follow.
    plain = {"Accept-Encoding": "identity"}
    hooks: dict[str, list[Callable[[Any], None]]] = {"request": [_strip_for(connection)], "response": [bind]}
    common = {"follow_redirects": False, "timeout": sdk_timeout(connection), "headers": plain, "event_hooks": hooks}
    with _translate_environment_errors(server):
        return httpx2.Client(**common, **_choose_way(connection))


def _choose_way(connection: Connection) -> dict[str, Any]:
    """Return the client's options for proxies and certificates."""
    import httpx2

    checked = {"verify": read_certificates()}
    if connection.proxy == "":  # with a transport of ours the library looks at no variable that names a proxy
        return {"transport": httpx2.HTTPTransport(**checked)}
    return {"proxy": connection.proxy, **checked}


@cache
def read_certificates() -> Any:
    """Read the trusted certificates, once a process: that takes longer than many an answer.

    Raises OSError if the environment names an invalid certificate; that is not cached.
    """
    import httpx2

    return httpx2.create_ssl_context()


def _strip_for(connection: Connection) -> Callable[[Any], None]:
    """Return a hook that removes what the SDKs add from their vendor's variables (OPENAI_ORG_ID, …) for other servers."""

    def strip(request: Any) -> None:
        if connection.server.host in _AT_HOME:
            return
        # An Anthropic-compatible gateway reads the key where Anthropic does, whichever way its package sends it.
        kept = (*_PLAIN_HEADERS, *_ANTHROPIC_HEADERS)
        own_key = "x-api-key" in request.headers
        for name in [name for name in request.headers if name not in kept]:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {connection.key or NO_KEY}"
        if own_key:
            request.headers["x-api-key"] = connection.key or NO_KEY

    return strip


def fetch_page(connection: Connection, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
    """Fetch a page next to /v1 within a short time. Raises ReplyError if there is none, or it is too large."""
    import httpx2

    quick, pieces, size = replace(connection, timeouts=QUICK), list[bytes](), 0
    url = connection.base_url.removesuffix("/v1") + path
    try:
        with http_client(quick) as http, http.stream(method, url, json=body) as response:
            for piece in response.iter_bytes():
                size += len(piece)
                if size > _LARGEST_PAGE:
                    raise ReplyError(MALFORMED, f"{connection.server.host} sent a page without an end")
                pieces.append(piece)
            if not response.is_success:
                raise ReplyError(FATAL, f"{connection.server.host} answered {response.status_code}")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise classify_connection_error(connection.server, error) from error
    return b"".join(pieces)


def sdk_timeout(connection: Connection) -> Any:
    """Return the limits as the SDKs' own timeouts: without them they set theirs, which are longer."""
    import httpx2

    return httpx2.Timeout(connection.timeouts.connect, read=connection.timeouts.first)


@contextmanager
def _translate_environment_errors(server: Server) -> Iterator[None]:
    """Translate errors before any request, which the environment causes. Its values may hold a password, and are not shown."""
    import httpx2

    told = f"{server.host} cannot be asked"
    try:
        yield
    except ImportError as error:
        raise ReplyError(
            FATAL,
            f"{told}: a proxy is SOCKS, and the socksio package is not installed: pip install socksio, or name an http:// "
            "proxy in the setting proxy, ALL_PROXY, HTTPS_PROXY and HTTP_PROXY",
        ) from error
    except OSError as error:
        raise ReplyError(
            FATAL,
            f"{told}: the certificates to trust cannot be read ({error.strerror or 'they are none'}); look at SSL_CERT_FILE and "
            "SSL_CERT_DIR",
        ) from error
    except (ValueError, httpx2.InvalidURL) as error:
        raise ReplyError(
            FATAL,
            f"{told}: a proxy has no usable address, like http://proxy.example:3128; look at ALL_PROXY, HTTPS_PROXY, HTTP_PROXY, "
            "NO_PROXY and the setting proxy",
        ) from error


@contextmanager
def translate_errors(sdk: Any, server: Server) -> Iterator[None]:
    """Turn whatever an SDK, or the connection under it, raises in the block into a ReplyError."""
    import httpx2

    try:
        yield
    except sdk.APIStatusError as error:
        response = error.response
        raise classify_status(server, response.status_code, response.headers, response.text) from error
    except (sdk.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise classify_connection_error(server, error) from error
    except UnicodeError as error:  # the SDKs take headers from variables of their own
        raise ReplyError(
            FATAL,
            f"a question to {server.host} cannot be sent: a header is not ASCII; look at OPENAI_ORG_ID, OPENAI_PROJECT_ID and "
            "OPENAI_CUSTOM_HEADERS",
        ) from error
    except sdk.APIError as error:
        raise ReplyError(
            MALFORMED, f"{server.host} sent an answer of another kind ({server.quote(str(error))})"
        ) from error
