"""How planning begins: with the conversation of before where it was about the same, and the plan that is to be changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from phases.llm.conversation import Conversation, Record, keep_window, open_conversation
from phases.llm.journal import read_journal
from phases.llm.ledger import Ledger
from phases.llm.model import Model
from phases.planning.model.material import Paper
from phases.planning.model.plan_validation import PLAN
from phases.planning.model.prompt import ChangeRequest
from phases.planning.model.shown_pages import draw_doubtful
from phases.sandbox.box import Box, with_machine
from phases.sandbox.commands import describe_tools, kind_of_sandbox
from pipeline.base.errors import ContractError
from pipeline.base.files import read_bytes, sha256
from pipeline.engine.phase import Context

_REQUESTS = "plan_requests.json"


def open_planning(paper: Paper, requests: Sequence[str], model: Model, ctx: Context, version: int) -> Conversation:
    """The conversation of before where it was about the same, else a new one."""
    ctx.in_place()
    keep_window(model, ctx.paths.plan_journal)
    header = {
        "thread": "plan",
        "documents": dict(sorted(ctx.digests.items())),
        "version": version,
        "model": model.name,
        "window": model.window,
    }
    present = (
        read_bytes(ctx.paths.plan).decode("utf-8", "replace") if requests and os.path.lexists(ctx.paths.plan) else ""
    )
    box = with_machine(Box("", kind_of_sandbox(str(ctx.limits.get("sandbox")))), ctx.limits)
    pictures = draw_doubtful(paper.doubtful, paper.source_sha256, model, ctx)
    return open_conversation(
        model,
        Record(ctx.paths.plan_journal, Ledger(ctx.paths.ledger, ctx.limits, ctx.in_place), ctx.in_place),
        header,
        begun={"present": present, "tools": describe_tools(box), **({"pictures": pictures} if pictures else {})},
        is_same=lambda rows: present == rows[0].get("begun", {}).get("present") or _is_own_result(present, rows),
        on_set_aside=lambda kept: ctx.progress(0, 1, _describe_new_start(os.path.join(ctx.paths.root, kept), header)),
        shown_again=False,
        on_wait=partial(ctx.progress, 0, 1),
    )


def _describe_new_start(aside: str, header: Mapping[str, Any]) -> str:
    """Return why the conversation in a journal that was set aside is not continued."""
    old = read_journal(aside)[0]
    kept = f"; the earlier conversation is kept in {os.path.basename(aside)}"
    if old["model"] != header["model"]:
        return f"plans with {header['model']}; before it was {old['model']}{kept}"
    if old["version"] != header["version"]:
        return f"plans again: this release plans differently{kept}"
    changed = [name for name, digest in header["documents"].items() if old.get("documents", {}).get(name) != digest]
    if _REQUESTS in changed:
        return f"plans the change that you asked for{kept}"
    return f"plans again: {changed[0] if changed else PLAN} changed{kept}"


def _is_own_result(plan: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a plan is what this very conversation ended in: the run was killed after its plan was written, and before
    that was noted. It must not plan from its own result."""
    return sha256(plan.encode()) in [row["result"].get("plan") for row in rows if row["kind"] == "facts"]


def read_change_request(requests: Sequence[str], present: str, ctx: Context) -> ChangeRequest:
    """What people want, and the plan that is to be changed, as its text was told when the conversation began."""
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
