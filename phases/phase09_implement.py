"""Phase 09: the code, written by an agent from the approved plan. Done is decided by files and checks."""

from __future__ import annotations

from typing import Any

from phases.agent.implement import Assignment, implement, requirement_counts
from phases.agent.model import opened
from pipeline.phase import Context, Documents, Phase, require


def run(inputs: Documents, ctx: Context) -> Documents:
    digest = ctx.digests["initial_plan.txt"]
    require(
        inputs["plan_review.json"]["plan_sha256"] == digest,
        "the plan was approved as another text; review it again with: pipeline review",
    )
    assignment = Assignment(
        inputs["initial_plan.txt"],
        digest,
        ctx.paths.workspace,
        ctx.paths.journal,
        str(ctx.settings["sandbox"]),
        deadline=ctx.deadline,
        in_place=ctx.in_place,
    )
    made = implement(assignment, opened(ctx), ctx.progress)
    return {
        "implementation.json": made["implementation"],
        "implement_code_summary.md": made["summary"],
        "traceability.json": made["traceability"],
    }


def _report(documents: Documents) -> dict[str, Any]:
    done = documents["implementation.json"]
    return {
        "status": done["status"],
        "reason": done["reason"],
        "files": {
            "planned": len(done["planned"]),
            "written": len(done["planned"]) - len(done["missing"]),
            "missing": done["missing"],
        },
        "requirements": requirement_counts(documents["traceability.json"]),
        "usage": done["usage"],
        "verified": done["verification"]["verified"],
        "sandbox": done["verification"]["sandbox"],
    }


PHASE = Phase(
    number="09",
    name="implement",
    reads=("initial_plan.txt", "plan_review.json", "indexes/index.json"),
    writes=("implementation.json", "implement_code_summary.md", "traceability.json", "generate_code/"),
    settings=("model", "sandbox"),
    owns=("generate_code", "journal.jsonl"),
    report=_report,
    run=run,
)
