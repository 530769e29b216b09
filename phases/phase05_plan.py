"""Phase 05: the plan. The offline model plans by rules, any other model plans itself; nothing else invents one."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.base.errors import ContractError, Paused
from pipeline.base.files import read_bytes, set_aside, sha256
from pipeline.engine.phase import Context, Documents, Phase

if TYPE_CHECKING:
    from phases.llm.conversation import Conversation
    from phases.llm.model import Model
    from phases.planning.model.material import Paper
    from phases.planning.model.prompt import ChangeRequest

INDEX, PLAN, REQUESTS = "document_segments/document_index.json", "initial_plan.txt", "plan_requests.json"
# What is imported late is imported late because every command looks at every phase, and few of them plan.


def run(inputs: Documents, ctx: Context) -> Documents:
    if (ctx.settings["plan_model"] or ctx.settings["model"]) != "offline":
        return {PLAN: _plan_with_model(inputs, ctx)}
    from phases.planning.rules.plan import plan_by_rules

    plan = plan_by_rules(inputs["outline.json"], _find_requirements(inputs), _requests_of(inputs))
    return {PLAN: {**plan, **_todos_of_before(inputs, ctx)}}


def _requests_of(inputs: Documents) -> list[str]:
    return [row["text"] for row in inputs[REQUESTS]["requests"]]


def _todos_of_before(inputs: Documents, ctx: Context) -> dict[str, Any]:
    """What a person added to the plan that is changed now; no planner writes todos."""
    if not _requests_of(inputs) or not os.path.lexists(ctx.paths.plan):
        return {}
    try:
        return _todos_of(ctx.contracts.parse(PLAN, read_bytes(ctx.paths.plan), writer="an earlier run, or a person"))
    except ContractError:
        return {}  # there is no plan to take them from


def _todos_of(plan: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"todos": plan["todos"]} if plan and "todos" in plan else {}


def _find_requirements(inputs: Documents) -> list[dict[str, Any]]:
    from phases.planning.rules.requirement_text import requirements_of_text
    from phases.planning.rules.requirements import requirements_of
    from phases.readers.kinds import REQUIREMENT

    paper = inputs["paper.md"]
    if paper.front["kind"] == REQUIREMENT:
        wishes = requirements_of_text(paper.text[paper.body_start :])
        if wishes:
            return wishes
    return requirements_of(paper.text, inputs["outline.json"], inputs[INDEX]["segments"], paper.body_start)


def _plan_with_model(inputs: Documents, ctx: Context) -> dict[str, Any]:
    from phases.llm.model import notify_assumed_window, require_model
    from phases.planning.model.planning import PlanningTask, PlanRefused, plan_with_model

    model = require_model(ctx)
    wanted, conversation = _open_conversation(inputs, ctx, model)
    notify_assumed_window(model, ctx.tell)
    task = PlanningTask(_paper_material(inputs), wanted, ctx.progress, ctx.tell, lambda: _check_deadline(ctx))
    try:
        return {**plan_with_model(task, conversation, ctx.contracts), **_todos_of(wanted.present)}
    except PlanRefused as error:
        # Its replies must not be taken again: the next run asks anew.
        ctx.in_place()
        kept = os.path.basename(set_aside(ctx.paths.plan_journal))
        raise PlanRefused(f"{error}; what it said is kept in {kept}") from error


def _open_conversation(inputs: Documents, ctx: Context, model: Model) -> tuple[ChangeRequest, Conversation]:
    """The conversation of before where it was about the same, else a new one; and what people want, as it was told there."""
    from phases.llm.conversation import Conversation, keep_window
    from phases.llm.journal import Journal, can_continue
    from phases.llm.ledger import Ledger

    path, requests = ctx.paths.plan_journal, _requests_of(inputs)
    ctx.in_place()
    keep_window(model, path)
    header = {
        "thread": "plan",
        "inputs": sha256(json.dumps(sorted(ctx.digests.items())).encode()),
        "version": PHASE.version,
        "model": model.name,
        "window": model.window,
    }
    present = (
        read_bytes(ctx.paths.plan).decode("utf-8", "replace") if requests and os.path.lexists(ctx.paths.plan) else ""
    )
    ledger = Ledger(ctx.paths.ledger, ctx.limits, ctx.in_place)
    ctx.in_place()
    if not can_continue(
        path, header, lambda rows: present == rows[0].get("begun", {}).get("present") or _is_result(present, rows, ctx)
    ):
        kept = os.path.basename(set_aside(path))
        ctx.progress(
            0, 1, f"plans anew: what was said before was about other documents, or to another model; it is {kept}"
        )
    journal = Journal(path, header, ledger.next_run("plan"), ctx.in_place, begun={"present": present})
    journal.on_other_question = ctx.tell
    conversation = Conversation(model, journal, ledger, "plan", shown_again=False)
    conversation.on_wait = partial(ctx.progress, 0, 1)
    return _change_request(requests, journal.begun.get("present", ""), ctx), conversation


def _change_request(requests: list[str], present: str, ctx: Context) -> ChangeRequest:
    from phases.planning.model.prompt import ChangeRequest

    if not present:
        return ChangeRequest(tuple(requests))
    try:
        plan = ctx.contracts.parse(PLAN, present.encode("utf-8"), writer="an earlier run, or a person")
    except ContractError as error:
        raise ContractError(
            f"{error}; a change was asked for, and this is the plan to be changed: mend it in {ctx.paths.root}, or remove it to "
            "plan from nothing"
        ) from error
    return ChangeRequest(tuple(requests), present, plan)


def _is_result(plan: str, rows: list[dict[str, Any]], ctx: Context) -> bool:
    """Whether a plan is what this very conversation ended in: the run was killed after its plan was written, and before
    that was noted. It must not plan from its own result."""
    from phases.planning.model.plan_validation import may_end_in

    try:
        written = ctx.contracts.parse(PLAN, plan.encode("utf-8"), writer="phase 05")
    except ContractError:
        return False
    return may_end_in(written, [str(row.get("result", {}).get("text", "")) for row in rows], ctx.contracts)


def _paper_material(inputs: Documents) -> Paper:
    from phases.planning.model.material import Paper, Segment
    from phases.readers.headings import REFERENCES, plain_title

    paper, outline = inputs["paper.md"], inputs["outline.json"]
    segments, left_out = [], []
    for row in inputs[INDEX]["segments"]:
        # The front matter is the reader's note to the machine; it quotes hidden text, which nobody is to be told.
        text = paper.text[max(row["start"], paper.body_start) : row["end"]]
        if row["kind"] == "references" and plain_title(row["title"]) in REFERENCES:
            left_out.append(row["title"])
        elif text.strip():
            place = f"{row['number'] or ''} {row['title']}".strip()[:120] or "before the first section"
            segments.append(Segment(row["id"], f"{place}, page {row['page']}, {row['kind']}", row["relevance"], text))
    return Paper(
        outline["title"] or "",
        outline["abstract"] or "",
        tuple(_outline_line(row) for row in outline["sections"]),
        tuple(segments),
        tuple(_split_pages(paper.text[paper.body_start :])),
        tuple(dict.fromkeys(left_out)),
        tuple(dict.fromkeys(row["url"] for row in outline["links"])),
        len(outline["hidden_text"]),
    )


def _outline_line(row: dict[str, Any]) -> str:
    return f"{'  ' * (row['level'] - 1)}{row['number'] or '-'} {' '.join(row['title'].split())} (page {row['page']})"


def _split_pages(text: str) -> list[tuple[int, str]]:
    from phases.readers.markdown import PAGE_MARK

    marks = list(PAGE_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(int(mark.group(1)), text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)] or [(1, text)]


def _check_deadline(ctx: Context) -> None:
    if ctx.deadline is not None and time.monotonic() > ctx.deadline:
        raise Paused(
            "the time for this phase (phase_seconds) is used up; what the model said is kept; go on with: "
            f"pipeline resume {os.path.basename(ctx.paths.root)}"
        )


PHASE = Phase(
    number="05",
    name="plan",
    reads=("paper.md", "outline.json", INDEX, REQUESTS),
    writes=(PLAN,),
    settings=("model", "plan_model"),
    owns=("plan_journal.jsonl",),
    run=run,
    version=3,
)
