"""Resolve the redirects of an untrusted repository address, so that git need not follow any."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from http.client import HTTPResponse
from typing import NamedTuple

from pipeline.base.http.addresses import Target, permit_addresses, target_of
from pipeline.base.http.connection import ClientOptions, RequestFailed, addresses_of
from pipeline.base.http.fetch import DownloadError, DownloadLimits, DownloadRequest, get_answer, media_type
from pipeline.base.http.proxy import Proxy

BY_HAND = "clone it by hand, and give the directory"
_QUESTION = "/info/refs?service=git-upload-pack"
_ANSWER = "application/x-git-upload-pack-advertisement"
_REFUSALS = {
    401: f"it is private, or not there (401); check the address, or {BY_HAND}",
    403: f"the server refuses it to programs (403); {BY_HAND}",
    404: "it is not there (404); check the address",
    410: "it is no longer there (410); look for it at another address",
    429: f"the server has had too many requests (429); try again later, or {BY_HAND}",
    451: "the server may not give it (451); look for it at another address",
}


class GitRemote(NamedTuple):
    url: str
    """After all redirects."""
    host: str
    port: int
    addresses: tuple[str, ...]
    """The addresses of the host, each of them checked."""


def resolve_remote(
    url: str,
    limits: DownloadLimits,
    *,
    resolve: Callable[[str, int], Sequence[str]] = addresses_of,
    private: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    ssl_context: ssl.SSLContext | None = None,
    blacklist: str = "",
    proxy: Proxy | None = None,
) -> GitRemote:
    """Ask a repository for its list of branches, by https alone, and read no more than the headers of the answer.

    Raises Forbidden for an address that is never asked, DownloadError for one that does not answer with a repository.
    """
    # decision 101: git is told these addresses, and may follow no redirect and no name itself.
    resolved: dict[tuple[str, int], Sequence[str]] = {}

    def remembered(host: str, port: int) -> Sequence[str]:
        resolved[host, port] = tuple(resolve(host, port))
        return resolved[host, port]

    def land(target: Target, response: HTTPResponse) -> GitRemote:
        if media_type(response) != _ANSWER:
            raise RequestFailed(f"there is no repository of git there; check the address, or {BY_HAND}")
        if not target.url.endswith(_QUESTION):
            raise RequestFailed(f"the server redirects to an address that is not a repository's; {BY_HAND}")
        addresses = permit_addresses(target.host, resolved[target.host, target.port], private=private)
        return GitRemote(target.url.removesuffix(_QUESTION), target.host, target.port, addresses)

    wish = DownloadRequest(_refs_url(url, private=private), "reach", BY_HAND, _REFUSALS, named=url)
    options = ClientOptions(
        time.monotonic() + limits.seconds,
        limits.seconds_to_connect,
        remembered,
        private,
        ssl_context,
        proxy=proxy,
        blacklist=blacklist,
    )
    return get_answer(wish, limits.seconds, options, land, sleep)


def _refs_url(url: str, *, private: bool) -> str:
    target = target_of(url, private=private)
    if target.scheme != "https":
        raise DownloadError("repositories are fetched over https:// only; check the address")
    if "?" in target.path:
        raise DownloadError("the address of a repository has no question mark; check the address")
    return target.url.rstrip("/") + _QUESTION
