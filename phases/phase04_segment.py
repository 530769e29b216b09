"""Phase 04: segments that together are the whole paper."""

from __future__ import annotations

from phases.readers.segments import segments_of
from pipeline.engine.phase import Context, Documents, Phase, build_manifest

INDEX = "document_segments/document_index.json"


def run(inputs: Documents, ctx: Context) -> Documents:
    index, texts = segments_of(inputs["paper.md"].text, inputs["outline.json"])
    return {INDEX: {**index, "files": build_manifest(texts)}, **texts}


PHASE = Phase(
    number="04", name="segment", reads=("paper.md", "outline.json"), writes=(INDEX, "document_segments/"), run=run
)
