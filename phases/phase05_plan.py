"""Phase 05: the plan. The offline model plans by rules; nothing else invents one."""

from __future__ import annotations

from phases.paper.plan import plan_by_rules
from phases.paper.requirements import requirements_of
from pipeline.phase import Context, Documents, Phase

INDEX = "document_segments/document_index.json"


def run(inputs: Documents, ctx: Context) -> Documents:
    outline = inputs["outline.json"]
    requirements = requirements_of(inputs["paper.md"].text, outline, inputs[INDEX]["segments"])
    requests = [row["text"] for row in inputs["plan_requests.json"]["requests"]]
    return {"initial_plan.txt": plan_by_rules(outline, requirements, requests)}


PHASE = Phase(
    number="05",
    name="plan",
    reads=("paper.md", "outline.json", INDEX, "plan_requests.json"),
    writes=("initial_plan.txt",),
    settings=("model",),
    run=run,
)
