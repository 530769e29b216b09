"""Phase 01: takes the source in, once, and says what it is by its content."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from phases.paper.arxiv import ArxivId, arxiv_id
from phases.paper.kinds import REQUIREMENT
from phases.paper.reading import BROKEN, Unreadable
from phases.paper.sources import Source, digest_of, source_of, source_on_disk
from pipeline.errors import PhaseError, PipelineError, StorageError
from pipeline.files import sha256
from pipeline.phase import TYPED, Context, Documents, Phase

_FOLDER = "source/"


class _Taken(NamedTuple):
    source: Source
    fetched: dict[str, Any] | None = None


def run(inputs: Documents, ctx: Context) -> Documents:
    origin = str(ctx.settings["source"])
    taken = _take(origin, ctx)
    files = {_FOLDER + name: content for name, content in taken.source.files.items()}
    rows = [{"path": path, "bytes": len(data), "sha256": sha256(data)} for path, data in files.items()]
    document = {
        "version": 1,
        "kind": taken.source.kind,
        "origin": origin,
        "sha256": digest_of(taken.source),
        "bytes": sum(len(content) for content in files.values()),
        "files": rows,
        "fetched": taken.fetched,
        "refused": list(taken.source.refused),
    }
    return {"input.json": document, **files}


def _take(origin: str, ctx: Context) -> _Taken:
    try:
        if origin.startswith(TYPED):
            return _Taken(Source(REQUIREMENT, {"requirement.txt": origin.removeprefix(TYPED).encode()}))
        if not os.path.lexists(origin) and (paper := arxiv_id(origin)):
            return _from_arxiv(paper, ctx)
        if "://" in origin:
            return _download(origin, ctx)
        return _Taken(source_on_disk(origin, ctx.settings["max_source_mb"] * 2**20))
    except StorageError as error:
        raise _broken(_disk_trouble(origin, error)) from error
    except Unreadable as error:
        raise _broken(f"{origin} {error.detail}", error.verdict) from error
    except PipelineError as error:
        raise _broken(str(error)) from error


def _disk_trouble(origin: str, error: StorageError) -> str:
    if isinstance(error.__cause__, FileNotFoundError):
        return f"{origin} is not there; check the name"
    if "over the limit" in str(error):
        return f"{error}; raise it with the setting max_source_mb"
    return f"{error}; check that you may read it"


def _from_arxiv(paper: ArxivId, ctx: Context) -> _Taken:
    """The LaTeX source where it can be had, for its structure is exact; else the PDF."""
    from phases.paper.fetch import DownloadError

    base = str(ctx.settings["arxiv"]).rstrip("/")
    try:
        return _download(paper.source_url(base), ctx, paper.spelling)
    except (DownloadError, Unreadable) as error:
        if isinstance(error, DownloadError) and error.transient:
            raise
        return _download(paper.pdf_url(base), ctx, paper.spelling)


def _download(url: str, ctx: Context, paper: str | None = None) -> _Taken:
    import tempfile

    from phases.paper.fetch import Limits, fetch
    from pipeline.files import read_bytes

    ctx.progress(0, 1, f"downloading {url}")
    limits = Limits(ctx.settings["max_source_mb"] * 2**20, ctx.settings["download_seconds"], seconds_to_connect=20)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "download")
        fetched = fetch(url, path, limits, private=ctx.settings["private_addresses"] == "allowed")
        content = read_bytes(path, limit=limits.bytes)
    row = {"url": fetched.url, "content_type": fetched.content_type, "arxiv": paper}
    return _Taken(source_of(content), row)


def _broken(message: str, verdict: str = BROKEN) -> PhaseError:
    return PhaseError(message, report={"input_verdict": verdict})


PHASE = Phase(
    number="01",
    name="intake",
    reads=(),
    writes=("input.json", _FOLDER),
    settings=("source", "max_source_mb", "arxiv", "private_addresses", "download_seconds"),
    run=run,
)
