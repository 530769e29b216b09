"""Phase 05b: nothing is written before the plan is approved, and an approval holds for exactly that plan."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.files import make_directory, read_bytes, sha256, write_durable
from pipeline.engine.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    plan = read_bytes(ctx.paths.plan)
    _keep_version(ctx, plan)
    # the verdict is on these very bytes: another plan needs another one
    decision = ctx.review(plan.decode("utf-8"), sha256(plan))
    versions = _list_versions(ctx)
    return {
        "plan_review.json": {
            "version": 1,
            "decision": decision.verdict,
            "by": decision.by,
            "at": decision.at,
            "plan_sha256": decision.plan_sha256,
            "rounds": len(versions),
            "files": versions,
        }
    }


def _keep_version(ctx: Context, plan: bytes) -> None:
    """Every version that was ever up for review stays in plan_versions/, under its digest."""
    ctx.in_place()
    make_directory(ctx.paths.plan_versions)
    path = os.path.join(ctx.paths.plan_versions, f"{sha256(plan)[:16]}.txt")
    if not os.path.exists(path):
        ctx.in_place()
        write_durable(path, plan)


def _list_versions(ctx: Context) -> list[dict[str, Any]]:
    rows = []
    for name in sorted(os.listdir(ctx.paths.plan_versions)):
        if name.endswith(".txt"):
            data = read_bytes(os.path.join(ctx.paths.plan_versions, name))
            rows.append({"path": f"plan_versions/{name}", "bytes": len(data), "sha256": sha256(data)})
    return rows


PHASE = Phase(
    number="05b",
    name="plan_review",
    reads=("initial_plan.txt",),
    writes=("plan_review.json", "plan_versions/"),
    run=run,
)
