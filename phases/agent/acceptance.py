"""Whether the work is done: decided by files and checks, never by what the model says."""

from __future__ import annotations

import ast
import re
from typing import Any

from phases.agent.sandbox import NONE, run_command
from phases.agent.workspace import Workspace, WorkspaceError
from pipeline.files import sha256

MOST_CONTINUES = 3
NOT_VERIFIED: dict[str, Any] = {"verified": None, "tree_sha256": None, "sandbox": NONE, "commands": []}
_TAIL = 1500
_TIMING = re.compile(r"\b[0-9]+\.[0-9]+ ?s(?:econds)?\b")


def judge(workspace: Workspace, plan: dict[str, Any], sandbox: str) -> dict[str, Any]:
    """The verdict on the workspace as it is: `block` is None, or what must be mended, in words for the model."""
    problems = file_problems(workspace, plan)
    verification = {**NOT_VERIFIED, "tree_sha256": tree_digest(workspace), "sandbox": sandbox}
    if not problems and sandbox != NONE:
        verification = _verify(workspace, plan, sandbox)
        problems = [
            f"`{row['command']}` ended with {row['exit_code']}:\n{row['tail']}"
            for row in verification["commands"]
            if row["exit_code"] != 0
        ]
    return {"block": "\n\n".join(problems) or None, "verification": verification}


def file_problems(workspace: Workspace, plan: dict[str, Any]) -> list[str]:
    """What is wrong with the planned files: not there, empty, or not Python."""
    problems = [f"delete what cannot be taken in: {stray}" for stray in workspace.strays()]
    for row in plan["file_structure"]:
        path = row["path"]
        try:
            text = workspace.read(path)
        except WorkspaceError as error:
            problems.append(f"{path} is planned and not there ({error})")
            continue
        if not text.strip():
            problems.append(f"{path} is empty")
        elif path.endswith(".py") and (fault := syntax_fault(text)):
            problems.append(f"{path} does not parse: {fault}")
    return problems


def syntax_fault(text: str) -> str | None:
    """Why a text is not Python, or None."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None


def tree_digest(workspace: Workspace) -> str:
    """One sha256 for all files of the workspace: what a verdict is about."""
    lines = "".join(f"{path} {sha256(data)}\n" for path, data in workspace.files())
    return sha256(lines.encode("utf-8", "surrogateescape"))


def _verify(workspace: Workspace, plan: dict[str, Any], sandbox: str) -> dict[str, Any]:
    rows = []
    for command in plan["validation_approach"]["verify_commands"]:
        finished = run_command(command, workspace.root, sandbox)
        # Timings would make two equal runs differ, in the journal and in what a model is told.
        tail = _TIMING.sub("… s", finished.output[-_TAIL:])
        rows.append({"command": command, "exit_code": finished.exit_code, "tail": tail})
    passed = all(row["exit_code"] == 0 for row in rows) if rows else None
    return {"verified": passed, "tree_sha256": tree_digest(workspace), "sandbox": sandbox, "commands": rows}
