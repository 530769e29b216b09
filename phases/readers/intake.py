"""Loads a source, be it a path, an address or the id of a paper on arXiv, and says where it came from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phases.readers.arxiv import ArxivId, arxiv_id
from phases.readers.kinds import LATEX, PDF
from phases.readers.reading import Unreadable
from phases.readers.sources import Source, source_of, source_on_disk
from pipeline.base.files import read_bytes
from pipeline.base.logs import logger

_SECONDS_TO_CONNECT = 20


@dataclass(frozen=True)
class IntakeLimits:
    """What a source may take, and where downloads may come from."""

    bytes: int
    seconds: int
    arxiv: str
    """The server that papers named by an arXiv id come from."""
    private: bool
    """Whether addresses inside a private network are allowed."""
    environment: Mapping[str, str]
    """The user's own, for what it says of proxies."""
    blacklist: str = ""
    """Addresses that are not asked."""
    anyway: bool = False
    """Whether a text is taken whatever it looks like."""


@dataclass(frozen=True)
class Download:
    """Where a download came from in the end, and which arXiv paper it is, with its version if one was asked for."""

    url: str
    content_type: str
    arxiv: str | None


def load_source(origin: str, limits: IntakeLimits, progress: Callable[[str], None]) -> tuple[Source, Download | None]:
    """The paper that `origin` names: a path, an address or an arXiv id; and where it was downloaded from.

    Raises StorageError, DownloadError, or Unreadable for what is no paper.
    """
    # What lies on the disk comes first: a file may be called like an arXiv id.
    if not os.path.lexists(origin):
        paper = arxiv_id(origin)
        if paper:
            return _from_arxiv(paper, limits, progress)
        if "://" in origin:
            return _download_source(origin, limits, progress)
    return source_on_disk(origin, limits.bytes, anyway=limits.anyway), None


def _from_arxiv(paper: ArxivId, limits: IntakeLimits, progress: Callable[[str], None]) -> tuple[Source, Download]:
    """The LaTeX source where it can be had, for its structure is exact; else the PDF."""
    from pipeline.base.http.fetch import (
        DownloadError,
    )  # imported here: TLS costs 45 ms, and a paper on the disk needs none

    base = limits.arxiv.rstrip("/")
    try:
        source, fetched = _download_source(paper.source_url(base), limits, progress, paper.spelling)
        # arXiv may answer with a page that says why there is no source
        if source.kind in (LATEX, PDF):
            return source, fetched
        logger.debug("arXiv has no source of {}: it sent {}; the PDF is taken", paper.spelling, source.kind)
    except (DownloadError, Unreadable) as error:
        # A busy server must not decide that the PDF is read instead of the source.
        if isinstance(error, DownloadError) and error.transient:
            raise
        logger.debug("arXiv has no source of {} ({}); the PDF is taken", paper.spelling, error)
    return _download_source(paper.pdf_url(base), limits, progress, paper.spelling)


def _download_source(
    url: str, limits: IntakeLimits, progress: Callable[[str], None], paper: str | None = None
) -> tuple[Source, Download]:
    from pipeline.base.http import fetch, proxy  # imported here, as above

    progress(f"downloading {url}")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "download")
        allowed = fetch.DownloadLimits(limits.bytes, limits.seconds, _SECONDS_TO_CONNECT)
        fetched = fetch.fetch_url(
            url,
            path,
            allowed,
            private=limits.private,
            proxy=proxy.find_proxy(limits.environment),
            blacklist=limits.blacklist,
        )
        content = read_bytes(path, limit=limits.bytes)
    return source_of(content, anyway=limits.anyway), Download(fetched.url, fetched.content_type, paper)
