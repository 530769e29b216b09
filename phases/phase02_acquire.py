"""Phase 02: the paper as Markdown, and the verdict on its text, before anything is paid for."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from pipeline.base.errors import PhaseError
from pipeline.base.logs import logger
from pipeline.engine.phase import Context, Documents, Phase, require


def run(inputs: Documents, ctx: Context) -> Documents:
    # late: every command looks at every phase (decision 38)
    from phases.readers.kinds import LATEX
    from phases.readers.markdown import paper_document
    from phases.readers.reader_subprocess import read_in_subprocess, run_worker
    from phases.readers.reading import PARTIAL, READABLE, explain_verdict
    from phases.sandbox.parsers import confine_parser
    from pipeline.base.workers import WorkerStart

    source = inputs["input.json"]
    first = source["files"][0]["path"]
    path = os.path.join(ctx.paths.root, "source" if source["kind"] == LATEX else first)
    _refuse_outside(ctx.paths.root, path)
    address = source["fetched"]["url"] if source["fetched"] else ""
    # decision 36: the password is a secret and comes no other way, so it is in no stamp and makes nothing stale
    run = partial(run_worker, start=WorkerStart(ctx.environment, confine_parser))
    reading = read_in_subprocess(source["kind"], path, ctx.secrets.get("password"), address, run=run)
    logger.info("read by {}: {}, {} pages", reading.reader, reading.verdict, len(reading.pages))
    logger.debug("title {!r}, {} authors, {} links", reading.title, len(reading.authors), len(reading.links))
    for row in reading.hidden:
        logger.debug("hidden on page {} ({}): {}", row.page, row.how, row.text)
    logger.debug("{} pieces of print are left out: running heads, page numbers and the like", len(reading.left_out))
    if reading.verdict == PARTIAL:
        logger.warning("the paper could be read in part: {}", reading.detail)
    if reading.verdict not in READABLE:
        raise PhaseError(
            f"{source['origin']} {explain_verdict(reading, source['origin'])}",
            report={"input_verdict": reading.verdict},
        )
    return {"paper.md": paper_document(reading, source["sha256"], source["kind"])}


def _refuse_outside(root: str, path: str) -> None:
    """Refuses a path outside the task: input.json of a task from elsewhere, or a link, may name any file of the user."""
    directory, real = os.path.join(os.path.realpath(root), "source"), os.path.realpath(path)
    require(
        real == directory or real.startswith(directory + os.sep),
        f"input.json names {path}, which is not in the task's own directory source; take the source in again with --redo 01",
    )


def _report(documents: Documents) -> dict[str, Any]:
    return {"input_verdict": documents["paper.md"].front["verdict"]}


PHASE = Phase(
    number="02", name="acquire", reads=("input.json",), writes=("paper.md",), run=run, report=_report, version=2
)
