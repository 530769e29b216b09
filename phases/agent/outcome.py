"""What phase 09 says of its work, read from the disk: implementation.json and implement_code_summary.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.agent.acceptance.written import file_problems
from phases.agent.loop import ACCEPTED, Ending
from phases.agent.workspace import Workspace
from pipeline.formats import Markdown, compose_markdown


def implementation_document(
    ending: Ending, workspace: Workspace, plan: dict[str, Any], traced: Mapping[str, Any]
) -> dict[str, Any]:
    """implementation.json, but for the counts that only the run knows."""
    planned = [row["path"] for row in plan["file_structure"]]
    missing = [path for path in planned if not workspace.exists(path)]
    faults = _faults(ending, workspace, plan, requirement_counts(traced))
    written = f"{len(planned) - len(missing)} of {len(planned)} files written"
    return {
        "version": 1,
        "status": "incomplete" if faults else "completed",
        "reason": "; ".join([written, *(faults or ["every requirement implemented, checks passed"])]),
        "stop_reason": ending.stop_reason,
        "turns": ending.turns,
        "planned": planned,
        "missing": missing,
        "verification": ending.verification,
        "files": [
            {"path": f"generate_code/{row.path}", "bytes": row.bytes, "sha256": row.sha256}
            for row in workspace.digests()
            if row.sha256
        ],
    }


def requirement_counts(traced: Mapping[str, Any]) -> dict[str, Any]:
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


def summary_document(
    interfaces: Mapping[str, str], workspace: Workspace, plan: Mapping[str, Any], plan_sha256: str
) -> Markdown:
    """implement_code_summary.md: what the model is shown of each file that is written, in the plan's order."""
    planned = [row["path"] for row in plan["file_structure"]]
    lines = ["# What is written", ""]
    for row in plan["file_structure"]:
        state = "" if workspace.exists(row["path"]) else " (not written)"
        lines += [f"## {row['path']}{state}", "", row["purpose"], ""]
        if row["path"] in interfaces:
            lines += [*(f"    {line}" for line in interfaces[row["path"]].split("\n")), ""]
    written = sum(workspace.exists(path) for path in planned)
    return compose_markdown({"written": written, "plan_sha256": plan_sha256}, "\n".join(lines))


def _faults(ending: Ending, workspace: Workspace, plan: dict[str, Any], counts: Mapping[str, Any]) -> list[str]:
    """Why the work is not completed. Completed means: accepted, verified, every file there, and no requirement open."""
    faults = []
    if problems := file_problems(workspace, plan):
        faults.append("; ".join(problems[:3]))
    if counts["missing"]:
        gone = len(counts["missing"]) - counts["stubbed"]
        stubs = [f"{counts['stubbed']} of {counts['total']} requirements are only stubs"] if counts["stubbed"] else []
        faults.append(", ".join([*stubs, *([f"{gone} of {counts['total']} are missing"] if gone else [])]))
    if ending.stop_reason != ACCEPTED:
        faults.append(f"not accepted ({ending.stop_reason}): {' '.join(ending.detail.split())[:200]}")
    if ending.verification["verified"] is not True:
        commands = ending.verification["commands"]
        faults.append("the plan's checks did not pass" if commands else "the plan's checks were not run")
    return faults
