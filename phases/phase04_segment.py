"""Phase 04: segments that together are the whole paper."""

from __future__ import annotations

from phases.readers.segments import segments_of
from pipeline.base.logs import logger
from pipeline.engine.phase import Context, Documents, Phase, build_manifest

INDEX = "document_segments/document_index.json"


def run(inputs: Documents, ctx: Context) -> Documents:
    index, texts = segments_of(inputs["paper.md"].text, inputs["outline.json"])
    logger.info("{} segments", len(texts))
    for row in index["segments"]:
        logger.debug("segment {}: {} ({}), by its heading {!r}", row["id"], row["kind"], row["relevance"], row["title"])
    return {INDEX: {**index, "files": build_manifest(texts)}, **texts}


PHASE = Phase(
    number="04", name="segment", reads=("paper.md", "outline.json"), writes=(INDEX, "document_segments/"), run=run
)
