"""Phase 09: the code, written by an agent from the approved plan. Done is decided by files and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phases.agent.kernel_files import OWN
from pipeline.engine.phase import Context, Documents, Phase, is_placeholder, require

if TYPE_CHECKING:
    from phases.agent.assignment import Assignment
    from phases.agent.reference_context import ReferenceContext

_VERSION = 5
_INDEX = "indexes/index.json"
# The agent is imported late because every command looks at every phase, and few of them write code.


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.agent.implement import implement_plan
    from phases.llm.model import notify_assumed_window, require_model

    digest = ctx.digests["initial_plan.txt"]
    require(
        inputs["plan_review.json"]["plan_sha256"] == digest,
        "the plan was approved as another text; review it again with: pipeline review",
    )
    work = _assignment(inputs["initial_plan.txt"], digest, ctx)._replace(
        library=_reference_context(inputs[_INDEX], ctx.paths.root, ctx.cache_directory)
    )
    model = require_model(ctx)
    notify_assumed_window(model, ctx.tell)
    made = implement_plan(work, model, ctx.progress)
    return {
        "implementation.json": made["implementation"],
        "implement_code_summary.md": made["summary"],
        "traceability.json": made["traceability"],
        "acceptance.json": made["acceptance"],
    }


def _assignment(plan: dict[str, Any], digest: str, ctx: Context) -> Assignment:
    from phases.acceptance.hook_registry import MOST_CONTINUES, HookSetting
    from phases.agent.assignment import Assignment
    from phases.sandbox.commands import kind_of_sandbox
    from phases.workspace.task_paths import task_paths

    return Assignment(
        plan,
        digest,
        task_paths(ctx.paths.root),
        kind_of_sandbox(str(ctx.settings["sandbox"])),
        ctx.limits,
        ctx.contracts.breach,
        lambda data: dict(ctx.contracts.parse("initial_plan.txt", data, writer="an earlier review")),
        lambda data: dict(ctx.contracts.parse("supervisor-config.json", data, writer="you")),
        _VERSION,
        ctx.environment if ctx.settings["install"] == "allowed" else None,
        deadline=ctx.deadline,
        supervisor=str(ctx.limits.get("supervisor") or ""),
        shadow=str(ctx.limits.get("supervisor_shadow") or ""),
        hooks=HookSetting(
            ctx.hooks,
            ctx.config_directory,
            lambda data: dict(ctx.contracts.parse("hooks.yaml", data, writer="you")),
            lambda value: ctx.contracts.breach(ctx.contracts.schema("trusted-workspaces.json"), value),
            ctx.environment,
            ctx.permissions.get("trust_hooks") == "yes",
            int(ctx.limits.get("max_acceptance_continues", MOST_CONTINUES)),
        ),
        tell=ctx.tell,
        in_place=ctx.in_place,
    )


def _reference_context(index: dict[str, Any], root: str, cache_directory: str) -> ReferenceContext | None:
    """The fetched code, where there is any."""
    if is_placeholder(index) or not index["repositories"]:
        return None
    from phases.agent.reference_context import ReferenceContext
    from phases.references.search.answers import answer_query, read_on

    licences = {row["name"]: row["licence"] for row in index["repositories"]}
    relations: dict[str, list[dict[str, Any]]] = {}
    for row in index["relations"]:
        helps = {name: row[name] for name in ("repository", "symbol", "line", "kind", "confidence", "why")}
        helps |= {"file": row["reference"], "licence": licences.get(row["repository"])}
        relations.setdefault(row["file"], []).append(helps)
    return ReferenceContext(
        lambda query, repository, most: answer_query(root, index, query, repository, most, cache_directory),
        lambda *asked: read_on(root, index, *asked),
        relations,
    )


def _report_of(documents: Documents) -> dict[str, Any]:
    from phases.acceptance.attempt_report import summarize_checks
    from phases.agent.reports import requirement_counts

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
        "verified": done["verification"]["verified"] and done["status"] == "completed",
        "checks": summarize_checks(done["verification"]),
        "missing_packages": done["verification"].get("missing_packages", []),
        "sandbox": done["verification"]["sandbox"],
        "reference_files": done.get("reference_files", []),
    }


PHASE = Phase(
    number="09",
    name="implement",
    reads=("initial_plan.txt", "plan_review.json", _INDEX),
    writes=(
        "implementation.json",
        "implement_code_summary.md",
        "traceability.json",
        "acceptance.json",
        "generate_code/",
    ),
    settings=("model", "code_model", "sandbox", "install"),
    owns=(
        *(
            "generate_code",
            "journal.jsonl",
            "journal.jsonl.next",
            "explorations",
            "kernel-report.json",
            "hooks",
            "endings",
        ),
        *(f"kernel/{name}" for name in OWN),
    ),
    report=_report_of,
    run=run,
    version=_VERSION,
)
