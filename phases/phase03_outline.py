"""Phase 03: the structure of the paper."""

from __future__ import annotations

from pipeline.base.logs import logger
from pipeline.engine.phase import Context, Documents, Phase

_COUNTED = ("sections", "references", "equations", "algorithms", "tables", "figures", "links")


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.readers.outline import outline_of  # late: every command looks at every phase (decision 38)

    outline = outline_of(inputs["paper.md"])
    logger.info("outline: {}", ", ".join(f"{len(outline[name])} {name}" for name in _COUNTED))
    if not outline["sections"]:
        logger.debug("no heading was found: the paper is one stretch of text")
    return {"outline.json": outline}


PHASE = Phase(number="03", name="outline", reads=("paper.md",), writes=("outline.json",), run=run, version=3, edition=4)
