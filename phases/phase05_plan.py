"""Phase 05: the plan. The offline model plans by rules; nothing else invents one."""

from __future__ import annotations

from typing import Any

from pipeline.phase import Context, Documents, Phase

INDEX = "document_segments/document_index.json"


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.paper.planning.plan import (
        plan_by_rules,  # late: every command looks at every phase, and few of them plan
    )

    requests = [row["text"] for row in inputs["plan_requests.json"]["requests"]]
    return {"initial_plan.txt": plan_by_rules(inputs["outline.json"], _requirements(inputs), requests)}


def _requirements(inputs: Documents) -> list[dict[str, Any]]:
    from phases.paper.kinds import REQUIREMENT
    from phases.paper.planning.requirements import requirements_of
    from phases.paper.planning.wishes import wishes_of

    paper = inputs["paper.md"]
    if paper.front["kind"] == REQUIREMENT:
        wishes = wishes_of(paper.text[paper.body_start :])
        if wishes:
            return wishes
    return requirements_of(paper.text, inputs["outline.json"], inputs[INDEX]["segments"])


PHASE = Phase(
    number="05",
    name="plan",
    reads=("paper.md", "outline.json", INDEX, "plan_requests.json"),
    writes=("initial_plan.txt",),
    settings=("model",),
    run=run,
    version=2,
)
