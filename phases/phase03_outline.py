"""Phase 03: the structure of the paper."""

from __future__ import annotations

from pipeline.engine.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.readers.outline import outline_of  # late: every command looks at every phase

    return {"outline.json": outline_of(inputs["paper.md"])}


PHASE = Phase(number="03", name="outline", reads=("paper.md",), writes=("outline.json",), run=run, version=3)
