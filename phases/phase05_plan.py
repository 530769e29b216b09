"""Phase 05: the plan. The offline model plans by rules, any other model plans itself; nothing else invents one."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.errors import ContractError, PhaseError
from pipeline.base.files import read_bytes
from pipeline.engine.phase import Context, Documents, Phase

INDEX, PLAN, REQUESTS = "document_segments/document_index.json", "initial_plan.txt", "plan_requests.json"
# What is imported late is imported late because every command looks at every phase, and few of them plan.


def run(inputs: Documents, ctx: Context) -> Documents:
    requests = [row["text"] for row in inputs[REQUESTS]["requests"]]
    if not requests and ctx.permissions.get("anyway") != "yes":
        _refuse_other_texts(inputs)
    by_rules = (ctx.settings["plan_model"] or ctx.settings["model"]) == "offline"
    return {PLAN: _plan_by_rules(inputs, requests, ctx) if by_rules else _plan_with_model(inputs, requests, ctx)}


def _refuse_other_texts(inputs: Documents) -> None:
    """Raises PhaseError for a letter, an article on law and the like, before a plan of it is made or paid for."""
    from phases.planning.subject import why_nothing_to_implement
    from phases.readers.kinds import LATEX

    paper = inputs["paper.md"]
    if paper.front["kind"] == LATEX:
        return  # whoever writes LaTeX writes of something technical
    if why := why_nothing_to_implement(paper.text[paper.body_start :], inputs["outline.json"]):
        raise PhaseError(
            f"this does not look like something to implement ({why}); if it is, say so: --anyway", flag="--anyway"
        )


def _plan_by_rules(inputs: Documents, requests: list[str], ctx: Context) -> dict[str, Any]:
    from phases.planning.rules import plan_by_rules, plan_of_text
    from phases.readers.kinds import REQUIREMENT
    from pipeline.base.logs import logger

    paper, outline = inputs["paper.md"], inputs["outline.json"]
    is_wish = paper.front["kind"] == REQUIREMENT
    asked = plan_of_text(paper.text[paper.body_start :], outline, requests) if is_wish else None
    plan = asked or plan_by_rules(paper.text, outline, requests, body_start=paper.body_start)
    files, requirements, values = (len(plan[name]) for name in ("file_structure", "requirements", "values"))
    logger.info("rules planned {} files for {} requirements and {} values", files, requirements, values)
    # a person's todos outlive a change of the plan: no planner writes any (decision 83)
    plan |= {"user_requests": requests, **_todos_of_before(ctx)} if requests else {}
    return {name: plan[name] for name in ctx.contracts.schema(PLAN)["properties"] if name in plan}


def _plan_with_model(inputs: Documents, requests: list[str], ctx: Context) -> dict[str, Any]:
    from phases.llm.estimate import DryRun
    from phases.llm.model import require_model
    from phases.planning.model.material import paper_material
    from phases.planning.model.planning import plan_with_model

    paper = paper_material(inputs["paper.md"], inputs["outline.json"], inputs[INDEX]["segments"])
    try:
        return plan_with_model(paper, requests, require_model(ctx), ctx, version=PHASE.version)
    except DryRun as error:
        from phases.agent.implement import price_code

        by_rules = _plan_by_rules(inputs, requests, ctx)
        code = price_code(by_rules, ctx.open_other("implement"), ctx.paths.ledger)
        raise DryRun(error.task, {**error.prices, **code}) from None


def _todos_of_before(ctx: Context) -> dict[str, Any]:
    """Return the todos that the user added to the earlier plan; no planner writes todos."""
    if not os.path.lexists(ctx.paths.plan):
        return {}
    try:
        plan = ctx.contracts.parse(PLAN, read_bytes(ctx.paths.plan), writer="an earlier run, or a person")
    except ContractError:
        return {}  # there is no plan to take them from
    return {"todos": plan["todos"]} if "todos" in plan else {}


PHASE = Phase(
    number="05",
    name="plan",
    reads=("paper.md", "outline.json", INDEX, REQUESTS),
    writes=(PLAN,),
    settings=("model", "plan_model"),
    owns=("plan_journal.jsonl", "plan_pictures"),
    run=run,
    # not counted up for version 2 of the plan: one that is finished stays as it is, and approved
    version=3,
    edition=7,
)
