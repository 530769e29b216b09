"""Phase 09: the code, written by an agent from the approved plan. Done is decided by files and checks."""

from __future__ import annotations

from typing import Any

from phases.agent.kernel_files import OWN
from pipeline.engine.phase import Context, Documents, Phase, require

_VERSION = 5
_INDEX = "indexes/index.json"
_DOCUMENTS = {
    "implementation.json": "implementation",
    "implement_code_summary.md": "summary",
    "traceability.json": "traceability",
    "acceptance.json": "acceptance",
}


def run(inputs: Documents, ctx: Context) -> Documents:
    # late: every command looks at every phase, and few of them write code (decision 38)
    from phases.agent.agent_command import AgentCommand
    from phases.agent.assignment import assignment_of
    from phases.agent.implement import implement_plan
    from phases.llm.model import notify_assumed_window, require_model
    from phases.sandbox.commands import kind_of_sandbox
    from phases.workspace.data_sets import provide_data

    plan, digest = inputs["initial_plan.txt"], ctx.digests["initial_plan.txt"]
    require(
        inputs["plan_review.json"]["plan_sha256"] == digest,
        "the plan was approved as another text; review it again with: pipeline review",
    )
    model = require_model(ctx)
    notify_assumed_window(model, ctx.tell)
    sandbox = kind_of_sandbox(str(ctx.settings["sandbox"]))
    data = provide_data(plan, ctx).setting  # fetches what is not there yet
    work = assignment_of(plan, digest, inputs[_INDEX], ctx, _VERSION, sandbox=sandbox, data=data)
    if isinstance(model, AgentCommand):
        ctx.tell(f"the code is written by an agent of yours, which {model.detail}: nothing of it is in the sandbox")
        model = model.in_workspace(work.places.workspace)
    ctx.progress(0, 1, "prepares Python for the commands …")
    made = implement_plan(work, model, ctx.progress)
    return {name: made[short] for name, short in _DOCUMENTS.items()}


def _report(documents: Documents) -> dict[str, Any]:
    from phases.agent.reports import report_of  # late, as above

    return report_of(documents)


PHASE = Phase(
    number="09",
    name="implement",
    reads=("initial_plan.txt", "plan_review.json", _INDEX),
    writes=(*_DOCUMENTS, "generate_code/"),
    # limits are not among them: a higher limit goes on with the same work (decision 42)
    settings=("model", "code_model", "sandbox", "install", "programs"),
    owns=(
        *(
            "generate_code",
            "journal.jsonl",
            "journal.jsonl.next",
            "explorations",
            "pictures",
            "evidence",
            "jobs",
            "python",
            "kernel-report.json",
            "hooks",
            "endings",
        ),
        *(f"kernel/{name}" for name in OWN),
    ),
    report=_report,
    run=run,
    version=_VERSION,
)
