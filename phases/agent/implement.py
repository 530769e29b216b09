"""From an approved plan to the documents of phase 09: runs the loop, then reads what is on the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phases.agent.acceptance import file_problems, judge, tree_digest
from phases.agent.journal import Journal, belongs_to
from phases.agent.loop import Ending, Run, work
from phases.agent.model import Model
from phases.agent.prompt import first_messages
from phases.agent.sandbox import kind_of_sandbox
from phases.agent.tools import Tools
from phases.agent.trace import trace
from phases.agent.workspace import Workspace
from pipeline.files import make_folder, set_aside, sha256
from pipeline.formats import Markdown, compose_markdown


@dataclass(frozen=True)
class Assignment:
    """What phase 09 is asked to do, and where."""

    plan: dict[str, Any]
    plan_sha256: str
    workspace: str
    journal: str
    sandbox_setting: str
    version: int = 1
    """Of the phase: another version does not go on with the journal of this one."""
    deadline: float | None = None
    in_place: Callable[[], None] = lambda: None
    """Raises when the task folder is no longer where it was."""


def implement(assignment: Assignment, model: Model, progress: Callable[[int, int, str], None]) -> dict[str, Any]:
    """The documents of phase 09, by short name: implementation, summary, traceability."""
    plan, sandbox = assignment.plan, kind_of_sandbox(assignment.sandbox_setting)
    header = {"plan_sha256": assignment.plan_sha256, "model": model.name, "version": assignment.version}
    assignment.in_place()
    if not belongs_to(assignment.journal, header):
        kept = set_aside(assignment.workspace)
        set_aside(assignment.journal)
        progress(0, len(plan["file_structure"]), f"begins anew; the earlier code is kept in {kept}")
    assignment.in_place()
    make_folder(assignment.workspace)
    workspace = Workspace(assignment.workspace)
    journal = Journal(assignment.journal, header, assignment.in_place)
    run = Run(
        model, Tools(workspace, sandbox), workspace, journal, plan, sandbox, first_messages(plan), assignment.deadline
    )
    run.on_turn = lambda: progress(*_files_done(workspace, plan))
    ending = _checked_again(work(run), workspace, plan, sandbox)
    traced = trace(workspace, plan)
    return {
        "implementation": _implementation(ending, run, traced),
        "summary": _summary(workspace, plan, traced, assignment.plan_sha256),
        "traceability": traced,
    }


def requirement_counts(traced: dict[str, Any]) -> dict[str, Any]:
    """The `requirements` of report.json."""
    rows = traced["requirements"]
    open_rows = [
        {"id": row["id"], "text": row["text"], "status": row["status"]}
        for row in rows
        if row["status"] != "implemented"
    ]
    return {
        "total": len(rows),
        "implemented": len(rows) - len(open_rows),
        "stubbed": sum(row["status"] == "stubbed" for row in rows),
        "missing": open_rows,
    }


def _files_done(workspace: Workspace, plan: dict[str, Any]) -> tuple[int, int, str]:
    planned = [row["path"] for row in plan["file_structure"]]
    there = [path for path in planned if workspace.exists(path)]
    return len(there), len(planned), there[-1] if there else ""


def _checked_again(ending: Ending, workspace: Workspace, plan: dict[str, Any], sandbox: str) -> Ending:
    """A verdict is about one tree in one sandbox. If either is another by now (a hand edit, say), it is taken anew."""
    taken = ending.verification
    if taken["tree_sha256"] in (None, tree_digest(workspace)) and taken["sandbox"] == sandbox:
        return ending
    verdict = judge(workspace, plan, sandbox)
    reason = "accepted" if verdict["block"] is None else "accept_continue_exhausted"
    return Ending(reason, ending.turns, verdict["verification"], verdict["block"] or "")


def _implementation(ending: Ending, run: Run, traced: dict[str, Any]) -> dict[str, Any]:
    planned = [row["path"] for row in run.plan["file_structure"]]
    missing = [path for path in planned if not run.workspace.exists(path)]
    status, reason = _verdict(ending, run, requirement_counts(traced), planned, missing)
    return {
        "version": 1,
        "status": status,
        "reason": reason,
        "stop_reason": ending.stop_reason,
        "turns": ending.turns,
        "planned": planned,
        "missing": missing,
        "verification": ending.verification,
        "usage": run.usage,
        "files": [
            {"path": f"generate_code/{path}", "bytes": len(data), "sha256": sha256(data)}
            for path, data in run.workspace.files()
        ],
    }


def _verdict(
    ending: Ending, run: Run, counts: dict[str, Any], planned: list[str], missing: list[str]
) -> tuple[str, str]:
    """Status and reason. Completed means: accepted, verified, every file there, and no requirement open."""
    written = f"{len(planned) - len(missing)} of {len(planned)} files written"
    faults = []
    if problems := file_problems(run.workspace, run.plan):
        faults.append("; ".join(problems[:3]))
    if counts["missing"]:
        gone = len(counts["missing"]) - counts["stubbed"]
        faults.append(
            f"{counts['stubbed']} of {counts['total']} requirements are only stubs"
            + (f", {gone} are missing" if gone else "")
        )
    if ending.stop_reason != "accepted":
        faults.append(f"not accepted ({ending.stop_reason}): {' '.join(ending.detail.split())[:200]}")
    if ending.verification["verified"] is not True:
        faults.append(
            "the plan's checks did not pass" if ending.verification["commands"] else "the plan's checks were not run"
        )
    return (
        ("incomplete", "; ".join([written, *faults]))
        if faults
        else ("completed", f"{written}; every requirement implemented, checks passed")
    )


def _summary(workspace: Workspace, plan: dict[str, Any], traced: dict[str, Any], plan_sha256: str) -> Markdown:
    """implement_code_summary.md: per file its purpose, and what of the paper it meets."""
    by_place: dict[str, list[str]] = {}
    for row in traced["requirements"]:
        for place in row["places"]:
            path, _, symbol = place.partition(":")
            by_place.setdefault(path, []).append(f"- `{symbol}`: {row['id']}, {row['status']}")
    lines = ["# What is written", ""]
    for row in plan["file_structure"]:
        state = "" if workspace.exists(row["path"]) else " (not written)"
        lines += [f"## {row['path']}{state}", "", row["purpose"], "", *by_place.get(row["path"], []), ""]
    files = sum(workspace.exists(row["path"]) for row in plan["file_structure"])
    return compose_markdown({"written": files, "plan_sha256": plan_sha256}, "\n".join(lines))
