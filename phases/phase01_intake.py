"""Phase 01: takes the source in, once, and says what it is by its content."""

from __future__ import annotations

import os

from phases.paper.kinds import ENDINGS, kind_of
from pipeline.errors import PhaseError, StorageError
from pipeline.files import read_bytes, sha256
from pipeline.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    source = str(ctx.settings["source"])
    data = _read(source, ctx.settings["max_source_mb"] * 2**20)
    kind = kind_of(data)
    if kind.name is None:
        raise _broken(f"{source} {kind.reason}")
    path = f"source/paper{ENDINGS[kind.name]}"
    digest = sha256(data)
    row = {"path": path, "bytes": len(data), "sha256": digest}
    document = {
        "version": 1,
        "kind": kind.name,
        "origin": source,
        "sha256": digest,
        "bytes": len(data),
        "files": [row],
    }
    return {"input.json": document, path: data}


def _read(source: str, limit: int) -> bytes:
    if "://" in source:
        raise _broken(f"{source} is an address; download the paper and give the file")
    if os.path.isdir(source):
        raise _broken(f"{source} is a folder; give one file: a PDF, Markdown or plain text")
    try:
        return read_bytes(os.path.realpath(source), limit=limit)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise _broken(f"{source} is not there; check the name") from error
        if "over the limit" in str(error):
            raise _broken(f"{error}; raise it with the setting max_source_mb") from error
        raise _broken(f"{error}; check that you may read it") from error


def _broken(message: str) -> PhaseError:
    return PhaseError(message, report={"input_verdict": "broken"})


PHASE = Phase(
    number="01",
    name="intake",
    reads=(),
    writes=("input.json", "source/"),
    settings=("source", "max_source_mb"),
    run=run,
)
