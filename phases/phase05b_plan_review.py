"""Phase 05b: nothing is written before the plan is approved, and an approval holds for exactly that plan."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.files import make_directory, read_bytes, sha256, write_durable
from pipeline.engine.phase import Context, Documents, Phase

LOCK = "package_lock.json"


def run(inputs: Documents, ctx: Context) -> Documents:
    plan = read_bytes(ctx.paths.plan)
    _keep_version(ctx, plan, inputs["initial_plan.txt"])
    # late: every command looks at every phase, and few review a plan
    from phases.planning.plan_words import pip_packages

    wanted = pip_packages(inputs["initial_plan.txt"])
    lock = _lock_packages(wanted, ctx)
    _tell_missing_programs(inputs["initial_plan.txt"], ctx)
    decision = ctx.review(plan.decode("utf-8"), sha256(plan))  # on these very bytes: another plan needs another one
    versions = _list_versions(ctx)
    return {
        LOCK: _refuse_or_keep(lock, wanted, ctx),
        "plan_review.json": {
            "version": 1,
            "decision": decision.verdict,
            "by": decision.by,
            "at": decision.at,
            "plan_sha256": decision.plan_sha256,
            "rounds": len(versions),
            "files": versions,
        },
    }


def _tell_missing_programs(plan: dict[str, Any], ctx: Context) -> None:
    """Tells, before a model is paid for code, which check commands have no program on this machine."""
    # late: every command looks at every phase, and few review a plan
    from phases.acceptance.checks.missing_programs import describe_missing_programs, missing_programs
    from phases.sandbox.box import Box, with_machine
    from phases.sandbox.commands import kind_of_sandbox

    for line in describe_missing_programs(
        missing_programs(plan, with_machine(Box("", kind_of_sandbox(str(ctx.limits["sandbox"]))), ctx.limits))
    ):
        ctx.tell(line)


def _lock_packages(wanted: list[str], ctx: Context) -> dict[str, Any] | None:
    """Resolve the packages before the verdict if they may be installed; None without permission yet."""
    if ctx.limits["install"] != "allowed" or ctx.limits["python"] or not wanted:
        return None
    from phases.workspace.packages import describe_lock, lock_packages, package_rules

    ctx.in_place()
    lock = lock_packages(wanted, package_rules(ctx))
    for line in describe_lock(lock, str(ctx.limits["gpu"])):
        ctx.tell(line)
    return lock


def _refuse_or_keep(lock: dict[str, Any] | None, wanted: list[str], ctx: Context) -> dict[str, Any]:
    """Return the document. Raises PhaseError for packages that cannot be installed, before a model is paid for code."""
    from phases.workspace.packages import package_rules, read_package_lock, refuse_unsolvable  # late: as above

    if lock is None:
        return read_package_lock(wanted, package_rules(ctx))
    refuse_unsolvable(lock)
    return lock


def _keep_version(ctx: Context, plan: bytes, value: dict[str, Any]) -> None:
    """Keep every reviewed version in plan_versions/, under its digest; plan.md is of the newest."""
    from phases.planning.plan_md import PLAN_MD, plan_md  # late: as above

    ctx.in_place()
    make_directory(ctx.paths.plan_versions)
    path = os.path.join(ctx.paths.plan_versions, f"{sha256(plan)[:16]}.txt")
    if not os.path.exists(path):
        write_durable(path, plan)
    write_durable(os.path.join(ctx.paths.root, PLAN_MD), plan_md(value).encode())


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
    writes=("plan_review.json", LOCK, "plan_versions/"),
    run=run,
)
