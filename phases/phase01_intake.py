"""Phase 01: takes the source in, once, and says what it is by its content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pipeline.base.errors import FileTooLarge, PhaseError, PipelineError, StorageError, UsageError
from pipeline.base.files import sha256
from pipeline.base.logs import log_event
from pipeline.base.safe_tree import NotRegularError
from pipeline.engine.phase import TYPED, Context, Documents, Phase

if TYPE_CHECKING:
    from phases.readers.intake import Download, Source

_DIRECTORY = "source/"


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.readers.intake import digest_of  # late: every command looks at every phase (decision 38)

    origin = str(ctx.settings["source"])
    source, fetched = _take(origin, ctx)
    # decision 5: the source is copied, so that a task resumes elsewhere, and after the download is deleted
    notes = _take_notes(source, str(ctx.settings["notes"]))
    files = {_DIRECTORY + name: content for name, content in source.files.items()}
    files.update({path: content for path, _, content in notes})
    for refusal in source.refused:
        log_event(f"left out: {refusal}", level="DEBUG")
    # log_event, which needs no library: loguru is imported in phase 02, while the reader's worker starts
    log_event(
        f"source: {source.kind}, {len(files)} file{'s' * (len(files) != 1)}, {sum(map(len, files.values())):,} bytes"
    )
    document = {
        "version": 1,
        "kind": source.kind,
        "origin": origin,
        "sha256": digest_of(source),
        "bytes": sum(map(len, files.values())),
        "files": [{"path": path, "bytes": len(data), "sha256": sha256(data)} for path, data in files.items()],
        "fetched": fetched and {"url": fetched.url, "content_type": fetched.content_type, "arxiv": fetched.arxiv},
        "refused": list(source.refused),
    }
    if notes:
        document["notes"] = [
            {"path": path, "origin": origin, "sha256": sha256(content)} for path, origin, content in notes
        ]
    return {"input.json": document, **files}


def _take_notes(source: Source, given: str) -> list[tuple[str, str, bytes]]:
    """Return the texts that belong to the paper: path in the task, origin, and content."""
    from phases.readers.intake import NOTES, read_note  # late, as above

    try:
        found = {**source.notes, **{path: read_note(path) for path in given.split(os.pathsep) if path}}
    except UsageError as error:  # the command has looked already: one that is gone since
        raise PhaseError(str(error)) from error
    taken: dict[str, tuple[str, bytes]] = {}
    for origin, content in found.items():
        stem, ending = os.path.splitext(os.path.basename(origin))
        name, number = f"{stem}{ending}", 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        taken[name] = origin, content
    return [(f"{_DIRECTORY}{NOTES}/{name}", origin, content) for name, (origin, content) in taken.items()]


def _take(origin: str, ctx: Context) -> tuple[Source, Download | None]:
    # late, as above
    from phases.readers.intake import IntakeLimits, Source, load_source
    from phases.readers.kinds import REQUIREMENT
    from phases.readers.reading import BROKEN, OtherText, Unreadable

    # decision 37: what was typed is a source like any other
    if origin.startswith(TYPED):
        return Source(REQUIREMENT, {"requirement.txt": origin.removeprefix(TYPED).encode()}), None
    limits = IntakeLimits(
        bytes=ctx.settings["max_source_mb"] * 2**20,
        seconds=ctx.settings["download_seconds"],
        arxiv=ctx.settings["arxiv"],
        private=ctx.settings["private_addresses"] == "allowed",
        blacklist=str(ctx.limits.get("blacklist", "")),
        environment=ctx.environment,
        anyway=ctx.permissions.get("anyway") == "yes",
    )
    try:
        return load_source(origin, limits, lambda what: ctx.progress(0, 1, what))
    except Unreadable as error:
        flag = "--anyway" if isinstance(error, OtherText) else ""
        detail = f"{error.detail}; if this text is meant, say so: {flag}" if flag else error.detail
        raise PhaseError(f"{origin} {detail}", report={"input_verdict": error.verdict}, flag=flag) from error
    except StorageError as error:
        raise PhaseError(_disk_trouble(origin, error), report={"input_verdict": BROKEN}) from error
    except PipelineError as error:
        raise PhaseError(str(error), report={"input_verdict": BROKEN}) from error


def _disk_trouble(origin: str, error: StorageError) -> str:
    if isinstance(error.__cause__, FileNotFoundError):
        return f"{origin} does not exist; check the name"
    if isinstance(error, FileTooLarge):
        return f"{error}; raise it with the setting max_source_mb"
    if error.__cause__ is None or isinstance(error.__cause__, NotRegularError):
        return f"{error}; give the file of a paper"
    return f"{error}; check that you may read it"


PHASE = Phase(
    number="01",
    name="intake",
    reads=(),
    writes=("input.json", _DIRECTORY),
    settings=("source", "notes", "max_source_mb", "arxiv", "private_addresses", "download_seconds"),
    run=run,
    version=2,
)
