"""Phase 02: the paper as Markdown, and the verdict on its text, before anything is paid for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.base.errors import PhaseError
from pipeline.base.files import make_directory, write_durable
from pipeline.base.logs import logger
from pipeline.engine.phase import Context, Documents, Phase, require

if TYPE_CHECKING:
    from phases.readers.reader_subprocess import RunWorker
    from phases.readers.reading import Reading


def run(inputs: Documents, ctx: Context) -> Documents:
    # late: every command looks at every phase (decision 38)
    from phases.readers.markdown import add_notes, paper_document
    from phases.readers.reading import READABLE, explain_verdict

    source = inputs["input.json"]
    reading = _read(source, ctx)
    _log_reading(reading)
    if reading.verdict not in READABLE:
        raise PhaseError(
            f"{source['origin']} {explain_verdict(reading, source['origin'])}",
            report={"input_verdict": reading.verdict},
        )
    whole = add_notes(reading, [(row["path"], _read_note(row["path"], ctx)) for row in source.get("notes", ())])
    return {"paper.md": paper_document(whole, source["sha256"], source["kind"])}


def _read_note(name: str, ctx: Context) -> Reading:
    """Read a text that belongs to the paper. Raises PhaseError if it cannot be read."""
    from phases.readers.kinds import MARKDOWN, TEXT
    from phases.readers.reading import READABLE, explain_verdict

    path = os.path.join(ctx.paths.root, *name.split("/"))
    _refuse_outside(ctx.paths.root, path)
    reading = _read_file(MARKDOWN if name.lower().endswith((".md", ".markdown")) else TEXT, path, ctx)
    if reading.verdict not in READABLE:
        raise PhaseError(f"{name} {explain_verdict(reading, name)}")
    return reading


def _read(source: Mapping[str, Any], ctx: Context) -> Reading:
    """Read the source; of a scan, if requested, a copy with recognized text."""
    from phases.readers.kinds import LATEX
    from phases.readers.reader_subprocess import copy_name, is_scan, read_copy, read_in_subprocess, run_worker
    from phases.sandbox.parsers import confine_parser
    from pipeline.base.workers import WorkerStart

    path = os.path.join(ctx.paths.root, "source" if source["kind"] == LATEX else source["files"][0]["path"])
    _refuse_outside(ctx.paths.root, path)
    address = source["fetched"]["url"] if source["fetched"] else ""
    run, reader = partial(run_worker, start=WorkerStart(ctx.environment, confine_parser)), ctx.settings["reader"]
    copy = os.path.join(ctx.paths.root, copy_name(source["sha256"]))
    # decision 36: the password is a secret and comes no other way, so it is in no stamp and makes nothing stale
    password = ctx.secrets.get("password")
    reading = read_in_subprocess(source["kind"], path, password, address, reader=reader, run=run)
    if not ctx.settings["ocr"] or not is_scan(source["kind"], reading):
        return reading
    _make_copy(path, copy, reading.verdict, ctx, run)
    return read_copy(copy, reader=reader, run=run)


def _read_file(kind: str, path: str, ctx: Context) -> Reading:
    from phases.readers.reader_subprocess import read_in_subprocess, run_worker
    from phases.sandbox.parsers import confine_parser
    from pipeline.base.workers import WorkerStart

    return read_in_subprocess(kind, path, run=partial(run_worker, start=WorkerStart(ctx.environment, confine_parser)))


def _make_copy(path: str, copy: str, verdict: str, ctx: Context, run: RunWorker) -> None:
    """Makes the copy with a text layer, unless an earlier run, which was ended since, has made it."""
    from phases.readers.reader_subprocess import PROGRAM, recognize_letters

    _refuse_outside(ctx.paths.root, copy, os.path.basename(os.path.dirname(copy)))
    if not os.path.lexists(copy):
        ctx.progress(0, 1, f"{PROGRAM} recognizes the letters of a scan, some seconds a page")
        try:
            content = recognize_letters(path, run=run)
        except PhaseError as error:
            raise PhaseError(str(error), report={"input_verdict": verdict}) from error
        ctx.in_place()
        make_directory(os.path.dirname(copy))
        write_durable(copy, content)
    ctx.tell(f"the paper is a scan: {PROGRAM} recognized its text, which may have wrong letters and figures in it")


def _log_reading(reading: Reading) -> None:
    from phases.readers.reading import PARTIAL

    by = f" in letters recognized by {reading.recognized_by}" if reading.recognized_by else ""
    logger.info("read by {}{}: {}, {} pages", reading.reader, by, reading.verdict, len(reading.pages))
    logger.debug("title {!r}, {} authors, {} links", reading.title, len(reading.authors), len(reading.links))
    for row in reading.hidden:
        logger.debug("hidden on page {} ({}): {}", row.page, row.how, row.text)
    logger.debug("{} pieces of print are left out: running heads, page numbers and the like", len(reading.left_out))
    if reading.verdict == PARTIAL:
        logger.warning("the paper could be read in part: {}", reading.detail)


def _refuse_outside(root: str, path: str, name: str = "source") -> None:
    """Refuses a path outside the task: input.json of a task from elsewhere, or a link, may name any file of the user."""
    directory, real = os.path.join(os.path.realpath(root), name), os.path.realpath(path)
    require(
        real == directory or real.startswith(directory + os.sep),
        f"{path} is not in the task's own directory {name}; take the source in again with --redo 01",
    )


def _report(documents: Documents) -> dict[str, Any]:
    front = documents["paper.md"].front
    recognized = {"recognized_by": front["recognized_by"]} if "recognized_by" in front else {}
    return {"input_verdict": front["verdict"], **recognized}


PHASE = Phase(
    number="02",
    name="acquire",
    reads=("input.json",),
    writes=("paper.md",),
    settings=("ocr", "reader"),
    owns=("recognized",),
    run=run,
    report=_report,
    version=2,
    edition=4,
)
