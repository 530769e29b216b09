"""Report the work of phase 09: progress on the screen, and its documents, read from the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phases.acceptance.attempt_report import deciding_files, read_attempts, summarize_checks
from phases.acceptance.checks.planned_files import file_problems
from phases.acceptance.stop_reasons import ACCEPTED, COMPLETED, EXHAUSTED, INCOMPLETE, STATUS, WARNING, describe_reason
from phases.acceptance.todos import find_refused_changes
from phases.agent.agent_state import Ending
from phases.agent.assignment import Assignment
from phases.evidence.traceability import count_evidence, open_requirements
from phases.workspace.rejected_snapshots import keep_rejected
from phases.workspace.workspace import Workspace
from pipeline.base.files import read_bytes, write_without_sync
from pipeline.base.formats import Markdown, compose_markdown
from pipeline.base.text_escaping import shorten_text

Progress = Callable[[int, int, str], None]
"""Files that are there, files that are planned, and what is being done."""
_TOLD_EVERY = 1000


@dataclass
class ProgressReporter:
    """The events of a run, as its user sees them; and the summary of what is written, kept up to date on the disk."""

    assignment: Assignment
    workspace: Workspace
    progress: Progress
    scaffold: bool
    """Written by rules: the last screen names its stubs, and refusals are not shown."""
    _turn: int = 0
    _characters: int = 0

    def begin_turn(self, turn: int) -> None:
        self._turn = turn

    def end_turn(self, turn: int, what: str, interfaces: Mapping[str, str]) -> None:
        plan, path = self.assignment.plan, self.assignment.places.summary
        self.progress(*count_written(self.workspace, plan), f"turn {turn}: {what}")
        summary = summary_document(interfaces, self.workspace, plan, self.assignment.plan_sha256).text.encode()
        if not os.path.lexists(path) or read_bytes(path) != summary:
            self.assignment.in_place()
            write_without_sync(path, summary)  # the journal holds it; the document is made durable at the end

    def working(self, what: str) -> None:
        self.progress(*count_written(self.workspace, self.assignment.plan), f"turn {self._turn}: {what}")

    def receiving(self, characters: int) -> None:
        if characters // _TOLD_EVERY > self._characters // _TOLD_EVERY:
            self.working(f"{characters:,} characters so far …")
        self._characters = characters

    def say(self, line: str) -> None:
        if not self.scaffold:
            self.assignment.tell(line)

    def rejected(self, number: int, tree_sha256: str) -> None:
        keep_rejected(self.assignment.places, number, tree_sha256)


def count_written(workspace: Workspace, plan: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of planned files that exist, and of all planned files."""
    planned = [row["path"] for row in plan["file_structure"]]
    return sum(workspace.exists(path) for path in planned), len(planned)


def implementation_document(
    ending: Ending, workspace: Workspace, plan: dict[str, Any], traced: Mapping[str, Any], *, scaffold: bool = False
) -> dict[str, Any]:
    """Return implementation.json without the counts of the run. `scaffold`: written by rules."""
    planned = [row["path"] for row in plan["file_structure"]]
    missing = [path for path in planned if not workspace.exists(path)]
    faults = _why_not_done(ending, workspace, plan, requirement_counts(traced), scaffold=scaffold)
    status, doubt = _status_of(ending, faults)
    verification = verification_of(ending, status, faults)
    written = f"{len(planned) - len(missing)} of {len(planned)} files written"
    return {
        "version": 1,
        "status": status,
        "reason": "; ".join([written, *(faults or [doubt or "the checks pass"])]),
        "stop_reason": ending.stop_reason,
        "turns": ending.turns,
        "scaffold": scaffold,
        "planned": planned,
        "missing": missing,
        "verification": verification,
        "files": [
            {"path": f"generate_code/{row.path}", "bytes": row.bytes, "sha256": row.sha256}
            for row in workspace.digests()
            if row.sha256
        ],
    }


def verification_of(ending: Ending, status: str, faults: Sequence[str]) -> dict[str, Any]:
    """Return the verification for documents: only completed work is verified."""
    if status == COMPLETED or not ending.verification["verified"]:
        return ending.verification
    return {**ending.verification, "verified": False, "why": "; ".join(faults)}


def acceptance_document(
    ending: Ending, verification: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], most: int
) -> dict[str, Any]:
    """Return acceptance.json: every attempt in the journal. `verification` is that of implementation.json."""
    return {
        "version": 1,
        "stop_reason": ending.stop_reason,
        "verified": verification["verified"],
        "why_not": verification["why"],
        "tree_sha256": verification["tree_sha256"],
        "max_continues": most,
        "attempts": read_attempts(rows),
        "refused_todo_changes": find_refused_changes(rows),
    }


def report_of(documents: Mapping[str, Any]) -> dict[str, Any]:
    """Return phase 09's part of report.json."""
    done = documents["implementation.json"]
    planned, missing, checked = done["planned"], done["missing"], done["verification"]
    return {
        "status": done["status"],
        "reason": done["reason"],
        "files": {"planned": len(planned), "written": len(planned) - len(missing), "missing": missing},
        "requirements": requirement_counts(documents["traceability.json"]),
        "scaffold": done.get("scaffold", False),
        "verified": checked["verified"] and done["status"] == "completed",
        "verified_by": checked.get("verified_by", []),
        "checks": summarize_checks(checked),
        "deciding_files": deciding_files(documents["acceptance.json"]["attempts"]),
        "missing_packages": checked.get("missing_packages", []),
        "missing_programs": checked.get("missing_programs", []),
        "sandbox": checked["sandbox"],
        "questions": done.get("questions", []),
        "reference_files": done.get("reference_files", []),
    }


def requirement_counts(traced: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of the evidence, and the requirements that are stubs or were not located."""
    return {**count_evidence(traced["requirements"]), "open": open_requirements(traced["requirements"])}


def summary_document(
    interfaces: Mapping[str, str], workspace: Workspace, plan: Mapping[str, Any], plan_sha256: str
) -> Markdown:
    """Return implement_code_summary.md: the interface of each written file, in the plan's order."""
    planned = [row["path"] for row in plan["file_structure"]]
    lines = ["# What is written", ""]
    for row in plan["file_structure"]:
        state = "" if workspace.exists(row["path"]) else " (not written)"
        lines += [f"## {row['path']}{state}", "", row["purpose"], ""]
        if row["path"] in interfaces:
            lines += [*(f"    {line}" for line in interfaces[row["path"]].split("\n")), ""]
    written = sum(workspace.exists(path) for path in planned)
    return compose_markdown({"written": written, "plan_sha256": plan_sha256}, "\n".join(lines))


def _why_not_done(
    ending: Ending, workspace: Workspace, plan: dict[str, Any], counts: Mapping[str, Any], *, scaffold: bool
) -> list[str]:
    """Return the faults of the work: not accepted, missing files, open requirements."""
    faults = []
    if problems := file_problems(workspace, plan):
        faults.append("; ".join(problems[:3]))
    if stubs := _describe_open(counts):
        faults.append(stubs)
    # That a scaffold is refused says nothing beyond its stubs, and those are named already.
    if ending.stop_reason != ACCEPTED and not (scaffold and faults and ending.stop_reason == EXHAUSTED):
        faults.append(f"not accepted, {describe_reason(ending.stop_reason)}: {shorten_text(ending.detail, 200)}")
    return faults


def _describe_open(counts: Mapping[str, Any]) -> str:
    """Return how many requirements are stubs; empty if none is."""
    return f"{counts['stubbed']} of {counts['total']} requirements and values are only stubs" if counts["stubbed"] else ""


def _status_of(ending: Ending, faults: list[str]) -> tuple[str, str]:
    """Return the status, and the doubt about work without faults. (acceptance chain, section 10)"""
    if ending.stop_reason != ACCEPTED:
        return STATUS[ending.stop_reason], ""
    if faults:
        return INCOMPLETE, ""
    if not ending.verification["verified"]:
        how = "with doubts" if ending.verification.get("doubts") else "but not verified"
        return WARNING, f"accepted, {how}: {ending.verification['why']}"
    return COMPLETED, ""
