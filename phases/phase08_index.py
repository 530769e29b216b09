"""Phase 08: what the fetched repositories hold. With none fetched, it has nothing to index, and gives up with that reason."""

from __future__ import annotations

from pipeline.errors import PhaseError
from pipeline.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    refused = inputs["code_base.json"]["refused"]
    named = f"{len(refused)} linked, none fetched" if refused else "the paper links none"
    raise PhaseError(f"no repository to index ({named})")


PHASE = Phase(
    number="08",
    name="index",
    reads=("code_base.json", "initial_plan.txt"),
    writes=("indexes/index.json", "indexes/"),
    optional=True,
    run=run,
)
