"""Phase 02: the paper as Markdown, and the verdict on its text, before anything is paid for."""

from __future__ import annotations

import os
from typing import Any

from phases.paper.kinds import MARKDOWN, PDF
from phases.paper.markdown import paper_document, read_text
from phases.paper.pdf import read_pdf
from phases.paper.reading import OK, Reading, cure
from pipeline.errors import PhaseError
from pipeline.files import read_bytes
from pipeline.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    source = inputs["input.json"]
    path = os.path.join(ctx.paths.root, source["files"][0]["path"])
    reading = _read(source["kind"], path)
    if reading.verdict != OK:
        raise PhaseError(
            f"{source['origin']} {cure(reading, source['origin'])}", report={"input_verdict": reading.verdict}
        )
    return {"paper.md": paper_document(reading, source["sha256"])}


def _read(kind: str, path: str) -> Reading:
    if kind == PDF:
        return read_pdf(path)
    return read_text(read_bytes(path), markdown=kind == MARKDOWN)


def _report(documents: Documents) -> dict[str, Any]:
    return {"input_verdict": documents["paper.md"].front["verdict"]}


PHASE = Phase(number="02", name="acquire", reads=("input.json",), writes=("paper.md",), run=run, report=_report)
